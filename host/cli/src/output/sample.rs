//! Credentials of every kind, whose secrets all hold the word `canary`.

use crate::answer::{Issue, Place};
use gatepass::{AwsKeys, Basic, Material, X509};
use std::time::{Duration, SystemTime};

/// 2026-11-20T18:00:00Z.
pub(crate) fn expiry() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_197_600)
}

pub(crate) fn aws() -> Material {
    Material::Aws(AwsKeys {
        access_key_id: "ASIAEXAMPLE".into(),
        secret_access_key: "canary'secret".into(),
        session_token: Some("canary/session+token==".into()),
    })
}

pub(crate) fn materials() -> Vec<Material> {
    vec![
        aws(),
        Material::Bearer("canary.jwt.sig".into()),
        Material::Basic(Basic {
            username: "AWS".into(),
            password: "canary:password".into(),
        }),
        Material::X509(X509 {
            certificate_chain: "chain".into(),
            private_key: "canary key".into(),
        }),
        Material::Custom(vec![("name".into(), "canary".into())]),
    ]
}

pub(crate) fn places() -> [Place<'static>; 5] {
    [
        Place::Anywhere,
        Place::Registry {
            host: "registry.example:5000",
        },
        Place::Remote {
            url: "https://git.example/team/app",
        },
        Place::Cluster {
            server: "https://api.example:6443/",
            ca: None,
        },
        Place::Workload {
            socket: "unix:///run/agent.sock",
        },
    ]
}

pub(crate) fn issue<'a>(material: &'a Material, place: Place<'a>) -> Issue<'a> {
    Issue {
        provider: "aws",
        identity: "arn:aws:iam::123456789012:role/app",
        is_cached: false,
        material,
        expires_at: expiry(),
        attributes: &[],
        place,
    }
}
