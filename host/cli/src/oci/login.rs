//! As whom: a credential of the host, the token in a file, or what Docker knows.

use super::address::Address;
use super::docker;
use crate::answer::{Answer, Wanted};
use crate::arguments::{Access, Creds, Global, Request};
use crate::failure::Failure;
use crate::session::Session;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass::{Material, Secret, X509};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where a pod finds the token of its own account.
const OWN_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The providers behind `--creds`.
const GENERIC: &str = "generic";
const SPIFFE: &str = "spiffe";
const GITHUB: &str = "github";

/// What a registry is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// Nothing.
    Anonymous,
    /// A user name and a password, at the registry or at its token service.
    Basic { username: String, password: Secret },
    /// A token that the registry takes as it is.
    Bearer(Secret),
    /// A client certificate.
    Certificate(Box<X509>),
}

/// Where logins come from. Asked again, a source answers what is good then.
pub(crate) trait Logins {
    /// The login of this moment.
    async fn login(&self) -> Result<Login, Failure>;
    /// Whether it is worth asking again during a transfer.
    fn renews(&self) -> bool;
}

/// The sources that the flags choose from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A provider in the host, whose cache renews what it answers.
    Host(Box<Session>, Wanted),
    /// A file that the kubelet rotates.
    TokenFile(PathBuf),
    /// Files that a helper of SPIRE rotates, say: the certificate and its key.
    CertificateFiles(PathBuf, PathBuf),
    /// Docker's configuration.
    Docker(docker::Config, String),
}

impl Source {
    /// Puts together what the flags name. Nothing is asked for yet.
    pub(crate) async fn open(
        global: &Global,
        access: &Access,
        address: &Address,
    ) -> Result<Self, Failure> {
        match Chosen::of(access, &own_account)? {
            Chosen::TokenFile(path) => Ok(Self::TokenFile(path)),
            Chosen::CertificateFiles(certificate, key) => {
                Ok(Self::CertificateFiles(certificate, key))
            }
            Chosen::Docker => Ok(Self::Docker(
                docker::Config::read()?,
                address.host().to_owned(),
            )),
            Chosen::Provider(request) => {
                let wanted = Wanted::Registry(address.repository().clone());
                let session = Session::open(global, &request, &wanted, None).await?;
                Ok(Self::Host(Box::new(session), wanted))
            }
        }
    }
}

impl Logins for Source {
    async fn login(&self) -> Result<Login, Failure> {
        match self {
            Self::Host(session, wanted) => match session.ask(wanted).await? {
                Answer::Registry(issued) => of_material(issued.value.login().material()),
                Answer::Token(_) | Answer::Git(..) | Answer::Cluster(_) => Ok(Login::Anonymous),
            },
            Self::TokenFile(path) => token_file(path).map(Login::Bearer),
            Self::CertificateFiles(certificate, key) => certificate_files(certificate, key),
            Self::Docker(config, host) => config.login(host),
        }
    }

    fn renews(&self) -> bool {
        !matches!(self, Self::Docker(..))
    }
}

fn of_material(material: &Material) -> Result<Login, Failure> {
    match material {
        Material::Basic(basic) => Ok(Login::Basic {
            username: basic.username.expose().to_owned(),
            password: basic.password.clone(),
        }),
        Material::Bearer(token) => Ok(Login::Bearer(token.clone())),
        Material::X509(x509) => Ok(Login::Certificate(Box::new(x509.clone()))),
        other => Err(Failure::configuration(format!(
            "no registry takes a credential of kind {}",
            other.kind()
        ))),
    }
}

/// Reads a token; its file ends in a newline more often than not.
fn token_file(path: &Path) -> Result<Secret, Failure> {
    let text = std::fs::read_to_string(path)
        .map(Secret::from)
        .map_err(|error| Failure::unreadable("--sa-token", path, error))?;
    let token = text.expose().trim();
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    match is_token {
        true => Ok(Secret::from(token)),
        false => Err(Failure::configuration(format!(
            "--sa-token {} must hold one token and nothing else",
            path.display()
        ))),
    }
}

fn certificate_files(certificate: &Path, key: &Path) -> Result<Login, Failure> {
    let read = |flag: &str, path: &Path| {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| Failure::unreadable(flag, path, error))
    };
    let x509 = X509 {
        certificate_chain: read("--client-certificate", certificate)?,
        private_key: read("--client-key", key)?.into(),
    };
    Ok(Login::Certificate(Box::new(x509)))
}

/// What the flags choose.
#[derive(Debug)]
enum Chosen {
    Docker,
    CertificateFiles(PathBuf, PathBuf),
    TokenFile(PathBuf),
    Provider(Box<Request>),
}

impl Chosen {
    /// Reads the flags. Each one is used or refused.
    fn of(access: &Access, own: &dyn Fn() -> Option<(String, String)>) -> Result<Self, Failure> {
        match (&access.provider, access.creds, &access.sa_token) {
            (None, Some(Creds::ServiceAccountToken), Some(path)) => {
                unused(access, "--sa-token, which is taken as it is", |_| true)?;
                Ok(Self::TokenFile(path.clone()))
            }
            (_, _, Some(_)) => Err(Failure::usage(
                "--sa-token needs --creds=ServiceAccountToken",
            )),
            (Some(provider), _, _) => Ok(Self::Provider(Box::new(access.request(provider)))),
            (None, Some(creds), _) => {
                provider(access, creds, own).map(|request| Self::Provider(Box::new(request)))
            }
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
        let own = || Some(("team-a".to_owned(), "own".to_owned()));
        let access = match access(flags) {
            Ok(access) => access,
            Err(error) => return error.to_string(),
        };
        match Chosen::of(&access, &own) {
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
        let failure = Chosen::of(&access, &|| None).unwrap_err();
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

    #[test]
    fn a_token_file_holds_one_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for (content, expected) in [
            ("a.b.c\n", Some("a.b.c")),
            ("  a.b.c", Some("a.b.c")),
            ("", None),
            (" \n", None),
            ("a b", None),
            ("a\nb", None),
            ("canary\u{7f}", None),
        ] {
            std::fs::write(&path, content).unwrap();
            let token = token_file(&path);
            assert_eq!(
                token.as_ref().ok().map(Secret::expose),
                expected,
                "{content:?}"
            );
            if let Err(failure) = token {
                assert!(!failure.report().contains("canary"), "{failure:?}");
            }
        }
        assert!(token_file(&folder.path().join("absent")).is_err());
    }
}
