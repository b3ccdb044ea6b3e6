//! Which source of logins the flags of `gatepass oci` choose.

use crate::arguments::{Access, Creds, Request};
use crate::failure::Failure;
use crate::workload_api::{self, Kind};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass::Secret;
use serde_json::Value;
use std::path::PathBuf;

/// Where a pod finds the token of its own account.
const OWN_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The providers behind `--creds`.
const GENERIC: &str = "generic";
const SPIFFE: &str = "spiffe";
const GITHUB: &str = "github";

/// What this process finds around it.
pub(super) struct Surroundings<'a> {
    /// The account of the pod that this runs in.
    own_account: &'a dyn Fn() -> Option<(String, String)>,
    /// Where the SPIFFE Workload API listens.
    socket: Option<String>,
}

impl Surroundings<'_> {
    /// What there really is.
    pub(super) fn of_process() -> Self {
        Self {
            own_account: &own_account,
            socket: endpoint_socket(),
        }
    }
}

/// The variable as it is: what is wrong with it is said by whoever reads it as an address.
fn endpoint_socket() -> Option<String> {
    let value = std::env::var_os(workload_api::VARIABLE)?;
    let value = value.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

/// What the flags choose.
#[derive(Debug)]
pub(super) enum Chosen {
    Docker,
    WorkloadApi(String, Kind),
    CertificateFiles(PathBuf, PathBuf),
    TokenFile(PathBuf),
    Provider(Box<Request>),
}

impl Chosen {
    /// Reads the flags. Each one is used or refused.
    pub(super) fn of(access: &Access, around: &Surroundings<'_>) -> Result<Self, Failure> {
        match (&access.provider, access.creds, &access.sa_token) {
            (None, Some(Creds::ServiceAccountToken), Some(path)) => {
                unused(access, "--sa-token, which is taken as it is", |_| true)?;
                Ok(Self::TokenFile(path.clone()))
            }
            (_, _, Some(_)) => Err(Failure::usage(
                "--sa-token needs --creds=ServiceAccountToken",
            )),
            (Some(provider), _, _) => Ok(Self::Provider(Box::new(access.request(provider)))),
            (None, Some(creds), _) => match of_agent(access, creds, around)? {
                Some(chosen) => Ok(chosen),
                None => provider(access, creds, around.own_account)
                    .map(|request| Self::Provider(Box::new(request))),
            },
            (None, None, _) => {
                unused(access, "neither --provider nor --creds", |_| true)?;
                match (&access.client_certificate, &access.client_key) {
                    (Some(certificate), Some(key)) => {
                        Ok(Self::CertificateFiles(certificate.clone(), key.clone()))
                    }
                    _ => Ok(Self::Docker),
                }
            }
        }
    }
}

/// Refuses the given flags that are of no use.
fn unused(access: &Access, with: &str, which: impl Fn(&str) -> bool) -> Result<(), Failure> {
    let given = access.of_providers();
    match given.into_iter().find(|flag| which(flag)) {
        None => Ok(()),
        Some(flag) => Err(Failure::usage(format!("{flag} has no effect with {with}"))),
    }
}

/// An agent's identity, where one is wanted, there is an agent, and no object is its own identity.
fn of_agent(
    access: &Access,
    creds: Creds,
    around: &Surroundings<'_>,
) -> Result<Option<Chosen>, Failure> {
    let (None, Some(socket)) = (&access.object, &around.socket) else {
        return Ok(None);
    };
    let what = format!("the Workload API of {}", workload_api::VARIABLE);
    let kind = match creds {
        Creds::SpiffeJwt => {
            unused(access, &what, |flag| flag != "--audiences")?;
            Kind::Jwt(access.audiences.clone())
        }
        Creds::SpiffeCertificate => {
            unused(access, &what, |_| true)?;
            Kind::Certificate
        }
        Creds::ServiceAccountToken | Creds::GitHubOidcToken => return Ok(None),
    };
    Ok(Some(Chosen::WorkloadApi(socket.clone(), kind)))
}

/// The request that stands for one of the names of `--creds`.
fn provider(
    access: &Access,
    creds: Creds,
    own: &dyn Fn() -> Option<(String, String)>,
) -> Result<Request, Failure> {
    let of_account = |flag: &str| matches!(flag, "--sa-name" | "--namespace");
    match creds {
        Creds::ServiceAccountToken => on_behalf_of_account(access.request(GENERIC), own),
        Creds::SpiffeJwt => {
            unused(access, "--creds=SpiffeJWT", of_account)?;
            Ok(of_type(access.request(SPIFFE), "SpiffeJWT"))
        }
        Creds::SpiffeCertificate => {
            unused(access, "--creds=SpiffeCertificate", |flag| {
                of_account(flag) || flag == "--audiences"
            })?;
            Ok(of_type(access.request(SPIFFE), "SpiffeCertificate"))
        }
        Creds::GitHubOidcToken => {
            unused(access, "--creds=GitHubOIDCToken", of_account)?;
            Ok(access.request(GITHUB))
        }
    }
}

/// The provider's parameter for what it issues has the values of `--creds`.
fn of_type(mut request: Request, kind: &str) -> Request {
    request.parameter.push(("type".to_owned(), kind.to_owned()));
    request
}

/// Without `--sa-name`, a pod asks on behalf of its own account.
fn on_behalf_of_account(
    request: Request,
    own: &dyn Fn() -> Option<(String, String)>,
) -> Result<Request, Failure> {
    if request.service_account.is_some() || request.namespace.is_some() {
        return Ok(request);
    }
    let (namespace, name) = own().ok_or_else(|| {
        Failure::usage("--creds=ServiceAccountToken does not say whose token: this is no pod")
            .fix("give --sa-name [NAMESPACE/]NAME, or --sa-token FILE")
    })?;
    Ok(Request {
        service_account: Some(format!("{namespace}/{name}")),
        ..request
    })
}

/// The account of the pod that this runs in, from its mounted token.
fn own_account() -> Option<(String, String)> {
    let token = std::fs::read_to_string(OWN_TOKEN).map(Secret::from).ok()?;
    account_of(token.expose().trim())
}

/// Namespace and name in the subject `system:serviceaccount:NAMESPACE:NAME` of a token. Nothing is
/// verified: the API server will say whether we may ask on that account's behalf.
fn account_of(token: &str) -> Option<(String, String)> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let subject = claims.get("sub")?.as_str()?;
    let account = subject.strip_prefix("system:serviceaccount:")?;
    let (namespace, name) = account.split_once(':')?;
    Some((namespace.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command, Oci};
    use clap::Parser as _;

    fn access(flags: &str) -> Result<Access, clap::Error> {
        let line = format!("gatepass oci list r.example/a {flags}");
        let arguments = Arguments::try_parse_from(line.split_whitespace())?;
        match arguments.command {
            Command::Oci(Oci::List(list)) => Ok(list.access),
            _ => panic!("another command"),
        }
    }

    fn chosen(flags: &str) -> String {
        chosen_beside(None, flags)
    }

    fn chosen_beside(socket: Option<&str>, flags: &str) -> String {
        let around = Surroundings {
            own_account: &|| Some(("team-a".to_owned(), "own".to_owned())),
            socket: socket.map(str::to_owned),
        };
        let access = match access(flags) {
            Ok(access) => access,
            Err(error) => return error.to_string(),
        };
        match Chosen::of(&access, &around) {
            Ok(Chosen::WorkloadApi(socket, kind)) => format!("agent {socket} {kind:?}"),
            Ok(Chosen::Docker) => "docker".into(),
            Ok(Chosen::CertificateFiles(certificate, key)) => {
                format!("files {} {}", certificate.display(), key.display())
            }
            Ok(Chosen::TokenFile(path)) => format!("file {}", path.display()),
            Ok(Chosen::Provider(request)) => format!(
                "{} {} {:?} {:?}",
                request.provider(),
                request.service_account.clone().unwrap_or_default(),
                request.audience,
                request.parameter,
            ),
            Err(failure) => failure.report(),
        }
    }

    #[test]
    fn the_flags_choose_one_source() {
        for (flags, expected) in [
            ("", "docker"),
            ("--client-certificate /c --client-key /k", "files /c /k"),
            ("--provider aws --sa-name n/a", "aws n/a [] []"),
            ("--provider generic --audience x", "generic  [\"x\"] []"),
            (
                "--creds=ServiceAccountToken --audiences=a,b --sa-name=my",
                "generic my [\"a\", \"b\"] []",
            ),
            ("--creds=ServiceAccountToken", "generic team-a/own [] []"),
            ("--creds=ServiceAccountToken --sa-token=/t", "file /t"),
            (
                "--creds=SpiffeJWT --audiences=a",
                "spiffe  [\"a\"] [(\"type\", \"SpiffeJWT\")]",
            ),
            (
                "--creds=SpiffeCertificate",
                "spiffe  [] [(\"type\", \"SpiffeCertificate\")]",
            ),
            ("--creds=GitHubOIDCToken", "github  [] []"),
        ] {
            assert_eq!(chosen(flags), expected, "{flags}");
        }
    }

    #[test]
    fn an_agent_on_this_machine_is_asked_unless_an_object_is_its_own_identity() {
        for (flags, expected) in [
            ("", "docker"),
            ("--creds=SpiffeJWT", "agent unix:///a Jwt([])"),
            (
                "--creds=SpiffeJWT --audiences=a,b",
                "agent unix:///a Jwt([\"a\", \"b\"])",
            ),
            ("--creds=SpiffeCertificate", "agent unix:///a Certificate"),
            (
                "--creds=SpiffeCertificate --object configmaps.v1/n/a",
                "spiffe  [] [(\"type\", \"SpiffeCertificate\")]",
            ),
            ("--provider spiffe", "spiffe  [] []"),
            ("--creds=GitHubOIDCToken", "github  [] []"),
        ] {
            assert_eq!(chosen_beside(Some("unix:///a"), flags), expected, "{flags}");
        }
        for (flags, word) in [
            ("--creds=SpiffeJWT --sa-name a", "--sa-name has no effect"),
            ("--creds=SpiffeJWT --region r", "--region has no effect"),
            (
                "--creds=SpiffeCertificate --audiences a",
                "--audiences has no effect",
            ),
        ] {
            let said = chosen_beside(Some("unix:///a"), flags);
            assert!(said.contains(word), "{flags}: {said}");
        }
    }

    #[test]
    fn a_flag_without_effect_is_refused_by_name() {
        for (flags, word) in [
            ("--audiences a", "--audiences has no effect"),
            ("--sa-name a", "--sa-name has no effect"),
            ("--region r", "--region has no effect"),
            ("--sa-token /t", "--creds=ServiceAccountToken"),
            (
                "--provider aws --sa-token /t",
                "--creds=ServiceAccountToken",
            ),
            (
                "--creds=SpiffeJWT --sa-token /t",
                "--creds=ServiceAccountToken",
            ),
            ("--creds=SpiffeJWT --sa-name a", "--sa-name has no effect"),
            (
                "--creds=SpiffeCertificate --audiences a",
                "--audiences has no effect",
            ),
            ("--creds=GitHubOIDCToken -n a", "--namespace has no effect"),
            (
                "--creds=ServiceAccountToken --sa-token /t --region r",
                "--region has no effect",
            ),
            (
                "--creds=ServiceAccountToken --sa-token /t --sa-name a",
                "--sa-name",
            ),
            ("--provider aws --creds SpiffeJWT", "--creds"),
            ("--creds Kerberos", "ServiceAccountToken"),
            ("--client-certificate /c", "--client-key"),
            (
                "--client-certificate /c --client-key /k --provider aws",
                "--provider",
            ),
        ] {
            let said = chosen(flags);
            assert!(said.contains(word), "{flags}: {said}");
        }
    }

    #[test]
    fn outside_of_a_pod_an_account_must_be_named() {
        let access = access("--creds=ServiceAccountToken").unwrap();
        let around = Surroundings {
            own_account: &|| None,
            socket: None,
        };
        let failure = Chosen::of(&access, &around).unwrap_err();
        assert!(failure.report().contains("--sa-name"), "{failure:?}");
    }

    #[test]
    fn the_subject_of_a_pods_token_names_its_account() {
        let token = |claims: &str| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims));
        let account = |claims: &str| account_of(&token(claims));
        assert_eq!(
            account(r#"{"sub":"system:serviceaccount:team-a:app"}"#),
            Some(("team-a".into(), "app".into()))
        );
        for claims in [
            "",
            "{}",
            r#"{"sub":1}"#,
            r#"{"sub":"alice"}"#,
            r#"{"sub":"system:serviceaccount:a"}"#,
        ] {
            assert_eq!(account(claims), None, "{claims}");
        }
        for token in ["", "a", "a.%.c"] {
            assert_eq!(account_of(token), None, "{token}");
        }
    }
}
