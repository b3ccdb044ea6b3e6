//! Keys and region from the metadata service of an EC2 instance, in version 2 of its protocol, or
//! version 1 where there is no second (EC2 User Guide, "Use IMDS").

use super::address::Address;
use super::{Ambient, Lookup, answer, variable};
use crate::fault;
use crate::region::Region;
use gatepass_sdk::egress::{ErrorCode, Request, RequestBuilder, Response};
use gatepass_sdk::{Credential, Error, Host, Secret};
use std::time::Duration;

const DISABLED: &str = "AWS_EC2_METADATA_DISABLED";
const ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
const ENDPOINT_MODE: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE";

pub(super) const VARIABLES: [&str; 3] = [DISABLED, ENDPOINT, ENDPOINT_MODE];

/// The service's addresses.
pub(super) const HOSTS: [&str; 2] = ["169.254.169.254", "[fd00:ec2::254]"];

/// Longest life of a token of the service, in seconds.
const TOKEN_SECONDS: &str = "21600";

/// The service is on the same machine, and where there is none nobody answers (botocore,
/// `InstanceMetadataFetcher`).
const TIMEOUT: Duration = Duration::from_secs(1);

const CREDENTIALS: &str = "/latest/meta-data/iam/security-credentials/";
const REGION: &str = "/latest/meta-data/placement/region";

/// Longest name of a role (IAM `roleNameType`).
const MAX_ROLE: usize = 64;

/// Whether the operator turned the service off.
pub(super) fn is_disabled(host: &dyn Host) -> bool {
    variable(host, DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

pub(super) fn load(ambient: &Ambient<'_>) -> Result<Lookup<Credential>, Error> {
    match Instance::open(ambient.host)? {
        Asked::Answered(instance) => instance.credential().map(Lookup::Found),
        Asked::Absent(why) | Asked::Silent(why) => Ok(Lookup::Absent(why)),
    }
}

/// The region of the instance, if this is one.
///
/// # Errors
///
/// That of a service which is there and fails.
pub(super) fn region(host: &dyn Host) -> Result<Asked<Region>, Error> {
    match Instance::open(host)? {
        Asked::Answered(instance) => Ok(match instance.region()? {
            Lookup::Found(region) => Asked::Answered(region),
            Lookup::Absent(why) => Asked::Absent(why),
        }),
        Asked::Absent(why) => Ok(Asked::Absent(why)),
        Asked::Silent(why) => Ok(Asked::Silent(why)),
    }
}

/// What asking the service came to.
#[derive(Debug)]
pub(super) enum Asked<T> {
    Answered(T),
    /// It is turned off or not granted, or does not have it: why.
    Absent(String),
    /// Nobody answered: why. Outside EC2 that is so for good, on an instance it passes.
    Silent(String),
}

/// The metadata service, ready to be asked.
struct Instance<'a> {
    host: &'a dyn Host,
    base: String,
    /// `None` in version 1.
    token: Option<Secret>,
}

impl<'a> Instance<'a> {
    /// Gets a token. No service answers outside EC2, and none in a container behind one hop too
    /// many.
    fn open(host: &'a dyn Host) -> Result<Asked<Self>, Error> {
        if is_disabled(host) {
            return Ok(Asked::Absent(format!("{DISABLED} is true")));
        }
        let base = base(host)?;
        let request = Request::put(format!("{base}/latest/api/token"))
            .header("x-aws-ec2-metadata-token-ttl-seconds", TOKEN_SECONDS)
            .timeout(TIMEOUT);
        let response = match host.send(request.build()) {
            Ok(response) => response,
            Err(error) => return unanswered(error, &base),
        };
        let token = match response.status() {
            200 => Some(token(&base, &response)?),
            // What servers without version 2 answer (AWS SDKs, IMDS provider).
            403..=405 => None,
            _ => {
                let doing = format!("asking the instance's metadata service {base} for a token");
                return Err(fault::classify(&doing, &response));
            }
        };
        Ok(Asked::Answered(Self { host, base, token }))
    }

    fn get(&self, path: &str) -> Result<Response, Error> {
        let builder = Request::get(format!("{}{path}", self.base)).timeout(TIMEOUT);
        Ok(self.host.send(self.authorized(builder).build())?)
    }

    fn authorized(&self, builder: RequestBuilder) -> RequestBuilder {
        match &self.token {
            None => builder,
            Some(token) => builder.header("x-aws-ec2-metadata-token", token.expose()),
        }
    }

    fn credential(&self) -> Result<Credential, Error> {
        let role = self.role()?;
        let response = self.get(&format!("{CREDENTIALS}{role}"))?;
        let doing = format!("taking the keys of the instance's role {role}");
        if response.status() != 200 {
            return Err(self.refused(&doing, &response));
        }
        answer::read(&doing, &response, self.host.now())
    }

    fn role(&self) -> Result<String, Error> {
        let response = self.get(CREDENTIALS)?;
        let doing = format!(
            "asking the instance's metadata service {} for its role",
            self.base
        );
        match response.status() {
            200 => {}
            404 => {
                return Err(Error::denied(format!(
                    "{doing}: the instance has none: attach an instance profile, or configure another source of keys"
                )));
            }
            _ => return Err(self.refused(&doing, &response)),
        }
        line(&response)
            .filter(|name| is_role(name))
            .map(str::to_owned)
            .ok_or_else(|| Error::unavailable(format!("{doing}: the answer is no name of a role")))
    }

    fn region(&self) -> Result<Lookup<Region>, Error> {
        let response = self.get(REGION)?;
        let doing = format!(
            "asking the instance's metadata service {} for its region",
            self.base
        );
        match response.status() {
            200 => line(&response)
                .and_then(Region::read)
                .map(Lookup::Found)
                .ok_or_else(|| Error::unavailable(format!("{doing}: the answer is no region"))),
            // 403: the service is turned off for this instance (EC2 User Guide, "Use IMDS").
            403 | 404 => Ok(Lookup::Absent(format!(
                "the instance's metadata service {} tells no region",
                self.base
            ))),
            _ => Err(self.refused(&doing, &response)),
        }
    }

    /// Version 1 is refused where the instance asks for version 2, whose token did not come.
    fn refused(&self, doing: &str, response: &Response) -> Error {
        match (response.status(), &self.token) {
            (401, None) => Error::denied(format!(
                "{doing}: the instance asks for version 2 of its metadata service, and that gave no token: raise the hop limit of the instance's metadata to 2, or configure another source of keys"
            )),
            _ => fault::classify(doing, response),
        }
    }
}

/// No answer to the first request. A missing grant is told by the host, if nothing else helps.
fn unanswered(
    error: gatepass_sdk::egress::Error,
    base: &str,
) -> Result<Asked<Instance<'static>>, Error> {
    match error.code {
        ErrorCode::Unreachable | ErrorCode::TimedOut => Ok(Asked::Silent(format!(
            "no metadata service answers at {base} (in a container the instance's hop limit must be 2)"
        ))),
        ErrorCode::NotGranted => Ok(Asked::Absent(format!("{base} is not granted"))),
        ErrorCode::InvalidRequest | ErrorCode::BudgetExceeded | ErrorCode::TooLarge => {
            Err(error.into())
        }
    }
}

fn token(base: &str, response: &Response) -> Result<Secret, Error> {
    let token = std::str::from_utf8(response.body()).unwrap_or_default();
    let fits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| token.into()).ok_or_else(|| {
        Error::unavailable(format!(
            "the instance's metadata service {base} answered a token that no header can hold"
        ))
    })
}

/// The first line of an answer.
fn line(response: &Response) -> Option<&str> {
    std::str::from_utf8(response.body())
        .ok()?
        .lines()
        .next()
        .map(str::trim)
}

/// Whether a text is the name of a role, which is put into a path.
fn is_role(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_+=,.@-".contains(&byte);
    let dots = text.bytes().all(|byte| byte == b'.');
    (1..=MAX_ROLE).contains(&text.len()) && text.bytes().all(legal) && !dots
}

/// The service's address: one of AWS's own, or any over https, which the operator must grant.
fn base(host: &dyn Host) -> Result<String, Error> {
    let [v4, v6] = HOSTS;
    if let Some(text) = variable(host, ENDPOINT) {
        return Address::read(&text)
            .filter(|address| address.is_https() || address.is_one_of(&HOSTS))
            .filter(|address| matches!(address.rest(), "" | "/"))
            .map(|address| address.origin())
            .ok_or_else(|| {
                Error::invalid_configuration(format!(
                    "{ENDPOINT} in the host's environment must be http://{v4}, http://{v6} or https://HOST[:PORT], without user and path"
                ))
            });
    }
    let mode = variable(host, ENDPOINT_MODE).unwrap_or_else(|| "IPv4".into());
    match mode.to_ascii_lowercase().as_str() {
        "ipv4" => Ok(format!("http://{v4}")),
        "ipv6" => Ok(format!("http://{v6}")),
        _ => Err(Error::invalid_configuration(format!(
            "{ENDPOINT_MODE} '{}' in the host's environment must be IPv4 or IPv6",
            mode.escape_debug()
        ))),
    }
}
