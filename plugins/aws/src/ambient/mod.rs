//! The host's own keys: from the first source of its environment that is configured.
//!
//! The order is that of AWS's SDK for Rust. A source that is not configured is passed over; one
//! that is configured and fails is the error, and nothing after it is tried. AWS's SDKs do not
//! agree here. Falling on would hand out keys of an identity that nobody chose: the node's, say,
//! because the token file of a pod could not be read.

mod address;
mod answer;
mod container;
mod discover;
mod environment;
mod ini;
mod instance;
mod profile;
mod shared;
mod web_identity;

pub(crate) use discover::discover;

use crate::terms::Terms;
use gatepass_sdk::{AwsKeys, Credential, Error, Host, Level, Material};
use std::time::{Duration, SystemTime};

/// The attribute that says where the keys came from.
const SOURCE: &str = "source";

/// How long keys without an end are handed out for: a credential must have an end, and after this
/// time the environment is read again, so that keys which were replaced leave.
const RE_READ: Duration = Duration::from_secs(60 * 60);

/// What a source has.
#[derive(Debug)]
enum Lookup<T> {
    Found(T),
    /// It is not configured: why.
    Absent(String),
}

/// What every source looks at.
struct Ambient<'a> {
    host: &'a dyn Host,
    terms: &'a Terms,
}

impl Ambient<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        variable(self.host, name)
    }

    fn now(&self) -> SystemTime {
        self.host.now()
    }
}

/// A variable of the environment; an empty one is as good as none.
fn variable(host: &dyn Host, name: &str) -> Option<String> {
    host.variable(name).filter(|value| !value.is_empty())
}

type Load = fn(&Ambient<'_>) -> Result<Lookup<Credential>, Error>;

/// The sources, in their order.
const CHAIN: [(&str, Load); 5] = [
    ("environment", environment::load),
    ("profile", profile::load),
    ("web-identity", web_identity::load),
    ("container", container::load),
    ("instance", instance::load),
];

/// The keys of the first source that is configured. One line of the log says which it is, and why
/// it is none of those before.
///
/// # Errors
///
/// That of the source that is configured; `unavailable` if none is, and the instance's metadata
/// service, which needs no configuration, does not answer either; `invalid-configuration` if that
/// is turned off.
pub(crate) fn credential(terms: &Terms, host: &dyn Host) -> Result<Credential, Error> {
    let ambient = Ambient { host, terms };
    let mut passed = Vec::new();
    for (name, load) in CHAIN {
        match load(&ambient) {
            Ok(Lookup::Found(credential)) => {
                host.log(Level::Info, &told(name, "gave the keys", &passed));
                return Ok(credential.attribute(SOURCE, name));
            }
            Ok(Lookup::Absent(why)) => passed.push(format!("{name}: {why}")),
            Err(error) => {
                host.log(
                    Level::Warn,
                    &told(name, "is configured and failed", &passed),
                );
                return Err(error);
            }
        }
    }
    let message = format!(
        "the host's environment has no keys of AWS: set AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or another source, and grant it; tried {}",
        passed.join("; ")
    );
    Err(match instance::is_disabled(host) {
        true => Error::invalid_configuration(message),
        false => Error::unavailable(message),
    })
}

fn told(name: &str, what: &str, passed: &[String]) -> String {
    let mut line = format!("ambient source {name} {what}");
    if !passed.is_empty() {
        line.push_str(&format!("; passed over {}", passed.join("; ")));
    }
    line
}

/// Keys without an end of their own.
fn endless(keys: AwsKeys, now: SystemTime) -> Credential {
    Credential::new(Material::Aws(keys), now + RE_READ)
}

/// Variables that the sources and `discover` read.
pub(crate) fn environment_wishes() -> Vec<String> {
    [
        environment::VARIABLES.as_slice(),
        &shared::VARIABLES,
        &web_identity::VARIABLES,
        &container::VARIABLES,
        &instance::VARIABLES,
        &discover::VARIABLES,
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

/// Files that the sources read: most are where a variable says.
pub(crate) fn file_wishes() -> Vec<String> {
    [
        shared::FILES.as_slice(),
        &web_identity::FILES,
        &container::FILES,
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

/// Metadata hosts, which speak plain HTTP.
pub(crate) fn host_wishes() -> Vec<String> {
    [container::HOSTS.as_slice(), &instance::HOSTS]
        .concat()
        .into_iter()
        .map(|host| format!("http://{host}"))
        .collect()
}

#[cfg(test)]
mod tests;
