//! As whom: a credential of the host, what an agent on this machine attests, the token in a file, or
//! what Docker knows.

use super::address::Address;
use super::choice::{Chosen, Surroundings};
use super::docker;
use crate::answer::{Answer, Wanted};
use crate::arguments::{Access, Global};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::session::Session;
use crate::workload_api::{Identity, Kind};
use gatepass::{Material, Secret, X509};
use std::path::{Path, PathBuf};

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
    /// With the rule of `connectTo` that sends the registry's connections elsewhere, if there is one.
    Host(Box<Session>, Wanted, Option<String>),
    /// A file that the kubelet rotates.
    TokenFile(PathBuf),
    /// Files that a helper of SPIRE rotates, say: the certificate and its key.
    CertificateFiles(PathBuf, PathBuf),
    /// An agent on this machine that knows who this workload is.
    WorkloadApi(Identity),
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
        match Chosen::of(access, &Surroundings::of_process())? {
            Chosen::TokenFile(path) => Ok(Self::TokenFile(path)),
            Chosen::CertificateFiles(certificate, key) => {
                Ok(Self::CertificateFiles(certificate, key))
            }
            Chosen::WorkloadApi(address_of_api, kind) => {
                let kind = with_default(kind, address);
                Ok(Self::WorkloadApi(Identity::new(&address_of_api, kind)?))
            }
            Chosen::Docker => Ok(Self::Docker(
                docker::Config::read()?,
                address.host().to_owned(),
            )),
            Chosen::Provider(request) => {
                let wanted = Wanted::Registry(address.repository().clone());
                let session = Session::open(global, &request, &wanted, None).await?;
                let elsewhere = elsewhere(global, address.host())?;
                Ok(Self::Host(Box::new(session), wanted, elsewhere))
            }
        }
    }
}

/// The rule of `connectTo` that holds for a registry.
fn elsewhere(global: &Global, host: &str) -> Result<Option<String>, Failure> {
    let rules = Configuration::read(global)?.host.network.connect_to;
    let port = host.rsplit_once(':').map_or("443", |(_, port)| port);
    let authority = match host.contains(':') {
        true => host.to_owned(),
        false => format!("{host}:{port}"),
    };
    let of_it = [authority, format!("*:{port}")];
    Ok(of_it.into_iter().find(|rule| rules.contains_key(rule)))
}

/// Transfers do not follow `connectTo`: the login of a test cloud would go to the real registry.
fn check_here(elsewhere: Option<&str>) -> Result<(), Failure> {
    match elsewhere {
        None => Ok(()),
        Some(rule) => Err(Failure::configuration(format!(
            "the configuration sends {rule} elsewhere (connectTo), which transfers do not follow: the login would go to the real registry"
        ))
        .fix("use a configuration without that rule")),
    }
}

impl Logins for Source {
    async fn login(&self) -> Result<Login, Failure> {
        match self {
            Self::Host(session, wanted, elsewhere) => {
                let answer = session.ask(wanted).await?;
                check_here(elsewhere.as_deref())?;
                match answer {
                    Answer::Registry(issued) => of_material(issued.value.login().material()),
                    Answer::Token(_) | Answer::Git(..) | Answer::Cluster(_) => Ok(Login::Anonymous),
                }
            }
            Self::TokenFile(path) => token_file(path).map(Login::Bearer),
            Self::CertificateFiles(certificate, key) => certificate_files(certificate, key),
            Self::WorkloadApi(identity) => of_material(&identity.material().await?),
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

/// Without `--audiences`, a token is for the repository, as those of providers are.
fn with_default(kind: Kind, address: &Address) -> Kind {
    match kind {
        Kind::Jwt(audiences) if audiences.is_empty() => {
            Kind::Jwt(vec![address.repository().as_str().to_owned()])
        }
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
