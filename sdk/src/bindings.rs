//! The border to the component model: conversions between the generated types and our own,
//! which hide secrets and zero them.

mod description;
mod optional;

use crate::egress::{self, Segment};
use crate::generated::exports::gatepass::provider::provider as exported;
use crate::generated::gatepass::provider::{egress as wire_egress, files, log, rsa, signer, types};
use crate::{
    AwsKeys, Basic, Clock, ClusterAccess, ClusterReference, Credential, Egress, Environment, Error,
    ErrorCode, Exchange, Facts, Level, Log, Material, ObjectReference, Provider, RegistryTarget,
    Request, RsaSigner, Secret, ServiceAccount, Signer, SigningAuthority, Source, Subject, X509,
};
use std::marker::PhantomData;
use std::time::{Duration, SystemTime};

/// Makes a [`Provider`] the component's export; see [`export!`](crate::export).
#[derive(Debug)]
pub struct Component<P>(PhantomData<P>);

impl<P: Provider + Default> exported::Guest for Component<P> {
    fn describe() -> exported::Description {
        P::default().describe().into()
    }

    fn discover() -> Result<Vec<(String, String)>, types::Error> {
        let facts = P::default().discover(&ImportedHost)?;
        Ok(facts.into_iter().collect())
    }

    fn audience(
        subject: types::Subject,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<Vec<String>, types::Error> {
        Ok(P::default().audience(&subject.into(), &self::facts(facts), &request.into())?)
    }

    fn identity(
        subject: types::Subject,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<String, types::Error> {
        Ok(P::default().identity(&subject.into(), &self::facts(facts), &request.into())?)
    }

    fn exchange(
        subject: types::Subject,
        identity: String,
        facts: types::Facts,
        source: exported::Source,
        request: types::Request,
    ) -> Result<types::Credential, types::Error> {
        let exchange = Exchange {
            subject: subject.into(),
            identity,
            facts: self::facts(facts),
            source: source.into(),
            request: request.into(),
        };
        Ok(P::default().exchange(&exchange, &ImportedHost)?.into())
    }

    fn registry(
        repository: String,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<exported::RegistryTarget, types::Error> {
        let target = P::default().registry(&repository, &self::facts(facts), &request.into())?;
        Ok(target.into())
    }

    fn registry_credentials(
        target: exported::RegistryTarget,
        access: types::Credential,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<types::Credential, types::Error> {
        let credential = P::default().registry_credentials(
            &target.into(),
            &access.into(),
            &self::facts(facts),
            &request.into(),
            &ImportedHost,
        )?;
        Ok(credential.into())
    }

    fn cluster(
        cluster: exported::ClusterReference,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<Vec<types::Request>, types::Error> {
        let requests =
            P::default().cluster(&cluster.into(), &self::facts(facts), &request.into())?;
        Ok(requests.into_iter().map(Into::into).collect())
    }

    fn rest_config(
        cluster: exported::ClusterReference,
        access: Vec<types::Credential>,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<exported::ClusterAccess, types::Error> {
        let access: Vec<Credential> = access.into_iter().map(Into::into).collect();
        let access = P::default().rest_config(
            &cluster.into(),
            &access,
            &self::facts(facts),
            &request.into(),
            &ImportedHost,
        )?;
        Ok(access.into())
    }
}

/// The host behind the component's imports.
struct ImportedHost;

impl Egress for ImportedHost {
    fn send(&self, request: egress::Request) -> Result<egress::Response, egress::Error> {
        let response = wire_egress::send(&request.into()).map_err(egress::Error::from)?;
        Ok(egress::Response::with_headers(
            response.status,
            response.headers,
            response.body,
        ))
    }
}

impl Clock for ImportedHost {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl Signer for ImportedHost {
    fn authority(&self) -> Result<SigningAuthority, Error> {
        let authority = signer::authority().map_err(Error::from)?;
        Ok(SigningAuthority {
            trust_domain: authority.trust_domain,
            issuer: authority.issuer,
        })
    }

    fn sign_jwt(&self, claims: &str) -> Result<String, Error> {
        signer::sign_jwt(claims).map_err(Error::from)
    }

    fn issue_x509(&self, spiffe_id: &str, expires_at: SystemTime) -> Result<Credential, Error> {
        let issued = signer::issue_x509(spiffe_id, seconds(expires_at)).map_err(Error::from)?;
        let material = Material::X509(issued.x509.into());
        Ok(Credential::new(material, time(issued.expires_at)))
    }
}

impl RsaSigner for ImportedHost {
    fn sign_rs256(&self, private_key: &Secret, message: &[u8]) -> Result<Vec<u8>, Error> {
        rsa::sign_rs256(private_key.expose(), message).map_err(Error::from)
    }
}

impl Environment for ImportedHost {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn file(&self, path: &str) -> std::io::Result<Vec<u8>> {
        files::read(path).map_err(std::io::Error::from)
    }
}

impl Log for ImportedHost {
    fn log(&self, level: Level, message: &str) {
        let level = match level {
            Level::Debug => log::Level::Debug,
            Level::Info => log::Level::Info,
            Level::Warn => log::Level::Warn,
            Level::Error => log::Level::Error,
        };
        log::write(level, message);
    }
}

/// Whole seconds since the epoch, rounded down, so that nothing is said to live longer than it does.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// A time too far away for the system's clock is the epoch: expired, which the host refuses.
fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn facts(facts: types::Facts) -> Facts {
    facts.map(|facts| facts.into_iter().collect())
}

impl From<Error> for types::Error {
    fn from(error: Error) -> Self {
        Self {
            code: match error.code() {
                ErrorCode::NeedsFacts => types::ErrorCode::NeedsFacts,
                ErrorCode::InvalidConfiguration => types::ErrorCode::InvalidConfiguration,
                ErrorCode::Denied => types::ErrorCode::Denied,
                ErrorCode::NotYet => types::ErrorCode::NotYet,
                ErrorCode::Throttled => types::ErrorCode::Throttled,
                ErrorCode::Unavailable => types::ErrorCode::Unavailable,
                ErrorCode::Unsupported => types::ErrorCode::Unsupported,
                ErrorCode::Internal => types::ErrorCode::Internal,
            },
            retry_after: error.wait().map(milliseconds),
            message: error.message().to_owned(),
        }
    }
}

impl From<signer::Error> for Error {
    fn from(error: signer::Error) -> Self {
        match error.code {
            signer::ErrorCode::NotGranted => Self::denied(error.message),
            signer::ErrorCode::Refused => Self::internal(error.message),
            signer::ErrorCode::Unavailable => Self::unavailable(error.message),
        }
    }
}

impl From<rsa::Error> for Error {
    fn from(error: rsa::Error) -> Self {
        match error.code {
            rsa::ErrorCode::NotGranted => Self::denied(error.message),
            rsa::ErrorCode::InvalidKey | rsa::ErrorCode::TooLarge => {
                Self::invalid_configuration(error.message)
            }
        }
    }
}

impl From<files::Error> for std::io::Error {
    fn from(error: files::Error) -> Self {
        let kind = match error.code {
            files::ErrorCode::NotGranted => std::io::ErrorKind::PermissionDenied,
            files::ErrorCode::NotFound => std::io::ErrorKind::NotFound,
            files::ErrorCode::Unreadable => std::io::ErrorKind::Other,
            files::ErrorCode::TooLarge => std::io::ErrorKind::FileTooLarge,
        };
        Self::new(kind, error.message)
    }
}

impl From<wire_egress::Error> for egress::Error {
    fn from(error: wire_egress::Error) -> Self {
        Self {
            code: match error.code {
                wire_egress::ErrorCode::NotGranted => egress::ErrorCode::NotGranted,
                wire_egress::ErrorCode::InvalidRequest => egress::ErrorCode::InvalidRequest,
                wire_egress::ErrorCode::BudgetExceeded => egress::ErrorCode::BudgetExceeded,
                wire_egress::ErrorCode::Unreachable => egress::ErrorCode::Unreachable,
                wire_egress::ErrorCode::TimedOut => egress::ErrorCode::TimedOut,
                wire_egress::ErrorCode::TooLarge => egress::ErrorCode::TooLarge,
            },
            message: error.message,
        }
    }
}

impl From<egress::Request> for wire_egress::Request {
    fn from(request: egress::Request) -> Self {
        let segments = |segments: &[Segment]| segments.iter().map(Into::into).collect();
        Self {
            method: request.method().to_owned(),
            url: request.url().to_owned(),
            headers: request
                .headers()
                .iter()
                .map(|(name, value)| wire_egress::Header {
                    name: name.clone(),
                    value: segments(value),
                })
                .collect(),
            body: segments(request.body()),
            timeout: request.timeout().map(milliseconds),
        }
    }
}

impl From<&Segment> for wire_egress::Segment {
    fn from(segment: &Segment) -> Self {
        match segment {
            Segment::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Segment::SubjectToken => Self::SubjectToken,
        }
    }
}

impl From<types::Subject> for Subject {
    fn from(subject: types::Subject) -> Self {
        match subject {
            types::Subject::Ambient => Self::Ambient,
            types::Subject::ServiceAccount(account) => Self::ServiceAccount(ServiceAccount {
                namespace: account.namespace,
                name: account.name,
                uid: account.uid,
                annotations: account.annotations.into_iter().collect(),
            }),
            types::Subject::Object(object) => Self::Object(ObjectReference {
                api_version: object.api_version,
                kind: object.kind,
                resource: object.resource,
                namespace: object.namespace,
                name: object.name,
                uid: object.uid,
            }),
        }
    }
}

impl From<types::Request> for Request {
    fn from(request: types::Request) -> Self {
        Self {
            audiences: request.audiences,
            scopes: request.scopes,
            region: request.region,
            endpoint: request.endpoint,
            parameters: request.parameters.into_iter().collect(),
        }
    }
}

impl From<Request> for types::Request {
    fn from(request: Request) -> Self {
        Self {
            audiences: request.audiences,
            scopes: request.scopes,
            region: request.region,
            endpoint: request.endpoint,
            parameters: request.parameters.into_iter().collect(),
        }
    }
}

impl From<types::X509> for X509 {
    fn from(x509: types::X509) -> Self {
        Self {
            certificate_chain: x509.certificate_chain,
            private_key: x509.private_key.into(),
        }
    }
}

impl From<types::Material> for Material {
    fn from(material: types::Material) -> Self {
        match material {
            types::Material::Bearer(token) => Self::Bearer(token.into()),
            types::Material::Aws(keys) => Self::Aws(AwsKeys {
                access_key_id: keys.access_key_id,
                secret_access_key: keys.secret_access_key.into(),
                session_token: keys.session_token.map(Into::into),
            }),
            types::Material::Basic(basic) => Self::Basic(Basic {
                username: basic.username,
                password: basic.password.into(),
            }),
            types::Material::X509(x509) => Self::X509(x509.into()),
            types::Material::Custom(values) => Self::Custom(
                values
                    .into_iter()
                    .map(|(name, value)| (name, value.into()))
                    .collect(),
            ),
            types::Material::SubjectToken => Self::SubjectToken,
        }
    }
}

impl From<Material> for types::Material {
    fn from(material: Material) -> Self {
        match material {
            Material::Bearer(token) => Self::Bearer(token.expose().into()),
            Material::Aws(keys) => Self::Aws(types::AwsKeys {
                access_key_id: keys.access_key_id,
                secret_access_key: keys.secret_access_key.expose().into(),
                session_token: keys.session_token.map(|token| token.expose().into()),
            }),
            Material::Basic(basic) => Self::Basic(types::Basic {
                username: basic.username,
                password: basic.password.expose().into(),
            }),
            Material::X509(x509) => Self::X509(types::X509 {
                certificate_chain: x509.certificate_chain,
                private_key: x509.private_key.expose().into(),
            }),
            Material::Custom(values) => Self::Custom(
                values
                    .into_iter()
                    .map(|(name, value)| (name, value.expose().into()))
                    .collect(),
            ),
            Material::SubjectToken => Self::SubjectToken,
        }
    }
}

impl From<types::Credential> for Credential {
    fn from(credential: types::Credential) -> Self {
        Self {
            material: credential.material.into(),
            expires_at: credential.expires_at.map(time),
            attributes: credential.attributes,
        }
    }
}

impl From<Credential> for types::Credential {
    fn from(credential: Credential) -> Self {
        Self {
            material: credential.material.into(),
            expires_at: credential.expires_at.map(seconds),
            attributes: credential.attributes,
        }
    }
}

impl From<exported::Source> for Source {
    fn from(source: exported::Source) -> Self {
        match source {
            exported::Source::Ambient => Self::Ambient,
            exported::Source::SubjectToken => Self::SubjectToken,
            exported::Source::Credential(credential) => Self::Credential(credential.into()),
            exported::Source::Signer => Self::Signer,
        }
    }
}

impl From<exported::RegistryTarget> for RegistryTarget {
    fn from(target: exported::RegistryTarget) -> Self {
        Self {
            host: target.host,
            cache_input: target.cache_input,
            access: target.access.into(),
        }
    }
}

impl From<RegistryTarget> for exported::RegistryTarget {
    fn from(target: RegistryTarget) -> Self {
        Self {
            host: target.host,
            cache_input: target.cache_input,
            access: target.access.into(),
        }
    }
}

impl From<exported::ClusterReference> for ClusterReference {
    fn from(cluster: exported::ClusterReference) -> Self {
        Self {
            name: cluster.name,
            address: cluster.address,
            ca_certificate: cluster.ca_certificate,
        }
    }
}

impl From<ClusterAccess> for exported::ClusterAccess {
    fn from(access: ClusterAccess) -> Self {
        Self {
            server: access.server,
            ca_certificate: access.ca_certificate,
            material: access.material.into(),
            expires_at: access.expires_at.map(seconds),
        }
    }
}
