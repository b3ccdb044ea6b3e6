//! Conversions between the contract's types and ours, and what is checked on the way in.

use super::bindings::exports::gatepass::provider::provider as exported;
use super::bindings::gatepass::provider::{egress as wire, rsa, signer, types};
use crate::credential::{AwsKeys, Basic, ClusterReference, Credential, Material, Origin, X509};
use crate::egress::{Outgoing, Refusal, Segment};
use crate::error::{Error, ErrorKind};
use crate::provider::{
    Annotation, Description, Facts, Failure, RegistryTarget, RestConfig, SourceKind, Verb, Wishes,
};
use crate::request::AccessRequest;
use crate::service_account::SubjectToken;
use crate::signer::{IssuedX509, RsaError, SignerError};
use crate::subject::Subject;
use crate::text::one_line;
use crate::transport::CaBundle;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use zeroize::Zeroizing;

/// The longest text of a plugin that reaches an error or the log, in characters.
const MAX_LINE: usize = 1024;

/// One line of a plugin's own words, harmless in a log and on a terminal.
pub(super) fn line(text: &str) -> String {
    one_line(text, MAX_LINE)
}

fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| line(text)).collect()
}

/// A provider's error, sorted by who must act.
pub(super) fn failure(plugin: &str, verb: &str, error: &types::Error) -> Failure {
    let message = line(&error.message);
    let kind = match error.code {
        types::ErrorCode::NeedsFacts => return Failure::NeedsFacts,
        types::ErrorCode::InvalidConfiguration | types::ErrorCode::Unsupported => {
            ErrorKind::Configuration
        }
        types::ErrorCode::Denied => ErrorKind::Denied,
        types::ErrorCode::NotYet => ErrorKind::NotYet,
        types::ErrorCode::Throttled => ErrorKind::Throttled,
        types::ErrorCode::Unavailable => ErrorKind::Unavailable,
        types::ErrorCode::Internal => {
            return Error::plugin(format!("plugin '{plugin}' failed in {verb}: {message}")).into();
        }
    };
    let wait = error.retry_after.map(Duration::from_millis);
    Error::new(kind, message).wait(wait).into()
}

/// The failure of a verb that has no use for facts any more.
pub(super) fn settled(plugin: &str, verb: &str, failure: Failure) -> Error {
    match failure {
        Failure::Error(error) => error,
        Failure::NeedsFacts => Error::plugin(format!(
            "plugin '{plugin}' asks for facts in {verb}, which is no pure verb"
        )),
    }
}

pub(super) fn refusal(refusal: Refusal) -> wire::ErrorCode {
    match refusal {
        Refusal::NotGranted => wire::ErrorCode::NotGranted,
        Refusal::InvalidRequest => wire::ErrorCode::InvalidRequest,
        Refusal::BudgetExceeded => wire::ErrorCode::BudgetExceeded,
        Refusal::Unreachable => wire::ErrorCode::Unreachable,
        Refusal::TimedOut => wire::ErrorCode::TimedOut,
        Refusal::TooLarge => wire::ErrorCode::TooLarge,
    }
}

pub(super) fn outgoing(request: wire::Request) -> Outgoing {
    let segments = |segments: Vec<wire::Segment>| segments.into_iter().map(segment).collect();
    Outgoing {
        method: request.method,
        url: request.url,
        headers: request
            .headers
            .into_iter()
            .map(|header| (header.name, segments(header.value)))
            .collect(),
        body: segments(request.body),
        timeout: request.timeout.map(Duration::from_millis),
    }
}

fn segment(segment: wire::Segment) -> Segment {
    match segment {
        wire::Segment::Bytes(bytes) => Segment::Bytes(Zeroizing::new(bytes)),
        wire::Segment::SubjectToken => Segment::SubjectToken,
    }
}

pub(super) fn subject(subject: &Subject) -> types::Subject {
    match subject {
        Subject::Ambient => types::Subject::Ambient,
        Subject::ServiceAccount(account) => types::Subject::ServiceAccount(types::ServiceAccount {
            namespace: account.name.namespace().to_owned(),
            name: account.name.name().to_owned(),
            uid: account.uid.clone(),
            annotations: account
                .annotations
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        }),
        Subject::Object(object) => types::Subject::Object(types::ObjectReference {
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            resource: object.resource.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            uid: object.uid.clone(),
        }),
    }
}

pub(super) fn facts(facts: &Facts) -> types::Facts {
    facts.as_ref().map(|facts| {
        facts
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    })
}

pub(super) fn request(access: &AccessRequest) -> types::Request {
    types::Request {
        audiences: access.audiences.clone(),
        scopes: access.scopes.clone(),
        region: access.region.clone(),
        endpoint: access.endpoint.clone(),
        parameters: access
            .parameters
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    }
}

pub(super) fn access_request(request: types::Request) -> AccessRequest {
    AccessRequest {
        audiences: request.audiences,
        scopes: request.scopes,
        region: request.region,
        endpoint: request.endpoint,
        parameters: request.parameters.into_iter().collect(),
    }
}

pub(super) fn cluster(cluster: &ClusterReference) -> exported::ClusterReference {
    exported::ClusterReference {
        name: cluster.name.clone(),
        address: cluster.address.clone(),
        ca_certificate: cluster.ca.as_ref().map(|ca| ca.pem().to_owned()),
    }
}

/// A credential of an earlier verb, as a provider may see it: never the ServiceAccount token.
pub(super) fn lent(credential: &Credential) -> types::Credential {
    types::Credential {
        material: match credential.origin {
            Origin::SubjectToken => types::Material::SubjectToken,
            Origin::Issued => lent_material(&credential.material),
        },
        expires_at: Some(seconds(credential.expires_at)),
        attributes: credential.attributes.clone(),
    }
}

fn lent_material(material: &Material) -> types::Material {
    match material {
        Material::Bearer(token) => types::Material::Bearer(token.expose().to_owned()),
        Material::Aws(keys) => types::Material::Aws(types::AwsKeys {
            access_key_id: keys.access_key_id.clone(),
            secret_access_key: keys.secret_access_key.expose().to_owned(),
            session_token: keys
                .session_token
                .as_ref()
                .map(|token| token.expose().to_owned()),
        }),
        Material::Basic(basic) => types::Material::Basic(types::Basic {
            username: basic.username.expose().to_owned(),
            password: basic.password.expose().to_owned(),
        }),
        Material::X509(x509) => types::Material::X509(types::X509 {
            certificate_chain: x509.certificate_chain.clone(),
            private_key: x509.private_key.expose().to_owned(),
        }),
        Material::Custom(values) => types::Material::Custom(
            values
                .iter()
                .map(|(name, value)| (name.clone(), value.expose().to_owned()))
                .collect(),
        ),
    }
}

/// A provider's answer. `token` is the subject token of the call, which `subject-token` stands for.
pub(super) fn credential(
    plugin: &str,
    answer: types::Credential,
    token: Option<&SubjectToken>,
) -> Result<Credential, Error> {
    let lies =
        |what: &str| Error::plugin(format!("plugin '{plugin}' answered a credential {what}"));
    let attributes = answer
        .attributes
        .iter()
        .map(|(name, value)| (line(name), line(value)))
        .collect();
    let Some(material) = material(answer.material) else {
        let token = token.ok_or_else(|| lies("that is the subject token, and there is none"))?;
        return Ok(Credential {
            material: Material::Bearer(token.token.clone()),
            expires_at: token.expires_at,
            attributes,
            origin: Origin::SubjectToken,
        });
    };
    let expires_at = answer
        .expires_at
        .and_then(time)
        .ok_or_else(|| lies("without a time at which it expires"))?;
    Ok(Credential {
        material,
        expires_at,
        attributes,
        origin: Origin::Issued,
    })
}

/// `None`: the subject token.
fn material(material: types::Material) -> Option<Material> {
    Some(match material {
        types::Material::Bearer(token) => Material::Bearer(token.into()),
        types::Material::Aws(keys) => Material::Aws(AwsKeys {
            access_key_id: keys.access_key_id,
            secret_access_key: keys.secret_access_key.into(),
            session_token: keys.session_token.map(Into::into),
        }),
        types::Material::Basic(basic) => Material::Basic(Basic {
            username: basic.username.into(),
            password: basic.password.into(),
        }),
        types::Material::X509(x509) => Material::X509(X509 {
            certificate_chain: x509.certificate_chain,
            private_key: x509.private_key.into(),
        }),
        types::Material::Custom(values) => Material::Custom(
            values
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect(),
        ),
        types::Material::SubjectToken => return None,
    })
}

pub(super) fn registry_target(target: exported::RegistryTarget) -> RegistryTarget {
    RegistryTarget {
        host: target.host,
        cache_input: target.cache_input,
        access: access_request(target.access),
    }
}

pub(super) fn exported_target(target: &RegistryTarget) -> exported::RegistryTarget {
    exported::RegistryTarget {
        host: target.host.clone(),
        cache_input: target.cache_input.clone(),
        access: request(&target.access),
    }
}

pub(super) fn rest_config(
    plugin: &str,
    answer: exported::ClusterAccess,
    token: Option<&SubjectToken>,
) -> Result<RestConfig, Error> {
    let ca: Option<CaBundle> = match answer.ca_certificate.as_deref().map(str::parse) {
        None => None,
        Some(Ok(ca)) => Some(ca),
        Some(Err(error)) => {
            let what = format!("plugin '{plugin}' answered certificate authorities that are none");
            return Err(Error::plugin(what).because(error));
        }
    };
    let login = types::Credential {
        material: answer.material,
        expires_at: answer.expires_at,
        attributes: Vec::new(),
    };
    Ok(RestConfig {
        server: answer.server,
        ca,
        login: credential(plugin, login, token)?,
    })
}

/// The most facts, and what a cloud has to say of an environment takes far fewer.
const MAX_FACTS: usize = 64;

/// Facts of the environment, which are shown and which every later call sees.
pub(super) fn discovered(
    plugin: &str,
    facts: &[(String, String)],
) -> Result<BTreeMap<String, String>, Error> {
    if facts.len() > MAX_FACTS {
        return Err(Error::plugin(format!(
            "plugin '{plugin}' tells {} facts, more than {MAX_FACTS}",
            facts.len()
        )));
    }
    Ok(facts
        .iter()
        .map(|(name, value)| (line(name), line(value)))
        .collect())
}

pub(super) fn description(description: exported::Description) -> Description {
    Description {
        name: description.name,
        version: line(&description.version),
        summary: line(&description.summary),
        parameters: description.parameters,
        annotations: description
            .annotations
            .into_iter()
            .map(|annotation| Annotation {
                key: line(&annotation.key),
                required: annotation.required,
                summary: line(&annotation.summary),
            })
            .collect(),
        wishes: Wishes {
            hosts: lines(&description.wishes.hosts),
            audiences: lines(&description.wishes.audiences),
            environment: lines(&description.wishes.environment),
            files: lines(&description.wishes.files),
            signer: description.wishes.signer,
        },
        verbs: description.verbs.into_iter().map(verb).collect(),
        sources: description.sources.into_iter().map(source_kind).collect(),
    }
}

fn verb(verb: exported::Verb) -> Verb {
    match verb {
        exported::Verb::Discover => Verb::Discover,
        exported::Verb::Audience => Verb::Audience,
        exported::Verb::Identity => Verb::Identity,
        exported::Verb::Exchange => Verb::Exchange,
        exported::Verb::Registry => Verb::Registry,
        exported::Verb::RegistryCredentials => Verb::RegistryCredentials,
        exported::Verb::Cluster => Verb::Cluster,
        exported::Verb::RestConfig => Verb::RestConfig,
    }
}

pub(super) fn issued_x509(issued: IssuedX509) -> signer::IssuedX509 {
    signer::IssuedX509 {
        x509: types::X509 {
            certificate_chain: issued.x509.certificate_chain,
            private_key: issued.x509.private_key.expose().to_owned(),
        },
        expires_at: seconds(issued.expires_at),
    }
}

pub(super) fn signer_error(error: SignerError) -> signer::Error {
    let (code, message) = match error {
        SignerError::NotGranted(message) => (signer::ErrorCode::NotGranted, message),
        SignerError::Refused(message) => (signer::ErrorCode::Refused, message),
        SignerError::Unavailable(message) => (signer::ErrorCode::Unavailable, message),
    };
    signer::Error { code, message }
}

pub(super) fn rsa_error(error: RsaError) -> rsa::Error {
    let code = match error {
        RsaError::InvalidKey(_) => rsa::ErrorCode::InvalidKey,
        RsaError::TooLarge { .. } => rsa::ErrorCode::TooLarge,
    };
    let message = error.to_string();
    rsa::Error { code, message }
}

fn source_kind(source: exported::SourceKind) -> SourceKind {
    match source {
        exported::SourceKind::Ambient => SourceKind::Ambient,
        exported::SourceKind::SubjectToken => SourceKind::SubjectToken,
        exported::SourceKind::Credential => SourceKind::Credential,
        exported::SourceKind::Signer => SourceKind::Signer,
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// The year 9999: the last that RFC 3339 writes, and far inside what every clock holds.
const MAX_TIMESTAMP: u64 = 253_402_300_799;

pub(super) fn time(seconds: u64) -> Option<SystemTime> {
    let within = (1..=MAX_TIMESTAMP).contains(&seconds);
    within.then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}
