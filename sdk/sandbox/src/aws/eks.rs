//! EKS: DescribeCluster, and the clusters it describes.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Aws;
use super::arn::Arn;
use super::authenticator::{Mapping, Mappings};
use super::endpoint::Endpoint;
use super::failure::{Failure, Protocol};
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::clock::rfc3339;
use crate::guarded::Guarded;
use crate::json::put;
use crate::kubernetes::Cluster;

/// An EKS cluster: what AWS says of it, its API server, and the roles that it lets in.
#[derive(Debug)]
pub struct EksCluster {
    arn: Arn,
    kubernetes: Arc<Cluster>,
    mappings: Arc<Mappings>,
    is_creating: Guarded<bool>,
    created_at: i64,
}

impl EksCluster {
    pub(crate) fn new(
        arn: Arn,
        kubernetes: Arc<Cluster>,
        mappings: Arc<Mappings>,
        created_at: i64,
    ) -> Self {
        Self {
            arn,
            kubernetes,
            mappings,
            is_creating: Guarded::default(),
            created_at,
        }
    }

    /// The cluster's ARN.
    #[must_use]
    pub fn arn(&self) -> String {
        self.arn.to_string()
    }

    /// The cluster's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.arn.name()
    }

    /// The API server. Its administrator's kubeconfig needs no AWS.
    #[must_use]
    pub fn kubernetes(&self) -> &Cluster {
        &self.kubernetes
    }

    /// Lets a role in as this Kubernetes user with these groups. `{{SessionName}}` in the user name
    /// stands for the session's name.
    pub fn map_role(&self, role_arn: &str, user: &str, groups: &[&str]) {
        self.mappings.add(Mapping {
            role: role_arn.to_owned(),
            user: user.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        });
    }

    /// Whether AWS says `CREATING`: without endpoint and certificate authority. Off by default.
    pub fn set_creating(&self, creating: bool) {
        self.is_creating.with(|current| *current = creating);
    }

    fn description(&self, authority: &str) -> Value {
        let mut cluster = json!({
            "name": self.name(),
            "arn": self.arn(),
            "createdAt": self.created_at as f64,
            "version": "1.34",
            "roleArn": format!("arn:{}:iam::{}:role/eks-cluster", self.arn.partition, self.arn.account),
            "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"},
            "status": "CREATING",
            "certificateAuthority": {},
            "tags": {"created-at": rfc3339(self.created_at)},
        });
        if !self.is_creating.with(|creating| *creating) {
            put(&mut cluster, &["status"], "ACTIVE".into());
            put(&mut cluster, &["endpoint"], self.kubernetes.url().into());
            put(
                &mut cluster,
                &["certificateAuthority"],
                json!({"data": STANDARD.encode(authority)}),
            );
            put(
                &mut cluster,
                &["identity"],
                json!({"oidc": {"issuer": self.kubernetes.issuer()}}),
            );
        }
        json!({"cluster": cluster})
    }
}

pub(crate) fn answer(aws: &Aws, call: &Call, endpoint: &Endpoint) -> Answer {
    match describe(aws, call, endpoint) {
        Ok(body) => answer::json(StatusCode::OK, &body),
        Err(failure) => failure.answer(Protocol::Rest, call),
    }
}

fn describe(aws: &Aws, call: &Call, endpoint: &Endpoint) -> Result<Value, Failure> {
    let session = aws.caller(call, endpoint)?;
    let segments = call.segments();
    let name = match segments.as_slice() {
        [collection, name] if collection == "clusters" && call.method == Method::GET => name,
        _ => {
            return Err(Failure::new(
                404,
                "UnknownOperationException",
                "The requested operation is not known.",
            ));
        }
    };
    if !is_cluster_name(name) {
        let message = "The cluster name must begin with a letter or digit, hold only letters, digits, hyphens and underscores, and have at most 100 characters.";
        return Err(Failure::new(400, "InvalidParameterException", message));
    }
    let arn = Arn {
        partition: endpoint.partition.name.to_owned(),
        service: "eks".to_owned(),
        region: endpoint.region.clone(),
        account: session.principal.arn.account.clone(),
        resource: format!("cluster/{name}"),
    };
    aws.check_permission(&session, "eks:DescribeCluster", &arn.to_string(), 403)?;
    let cluster = aws.find_cluster(&arn).ok_or_else(|| {
        Failure::new(
            404,
            "ResourceNotFoundException",
            format!("No cluster found for name: {name}."),
        )
    })?;
    Ok(cluster.description(aws.authority_pem()))
}

/// `^[0-9A-Za-z][A-Za-z0-9\-_]*`, at most 100 characters (the service model).
pub(crate) fn is_cluster_name(name: &str) -> bool {
    let first = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    let all = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    first && all && name.len() <= 100
}
