//! Keys by way of a profile of the shared files: its own, or those of its role.

use super::shared::{Profile, Profiles};
use super::web_identity::WebIdentity;
use super::{Ambient, Lookup, container, endless, environment, instance};
use crate::arn::RoleArn;
use crate::exchange::{Assumption, Extras, assume};
use crate::parameter::{duration, external_id};
use crate::session_name::SessionName;
use crate::sign::keys;
use crate::terms::require_partition;
use gatepass_sdk::{AwsKeys, Credential, Error, Host};
use std::collections::BTreeSet;

/// Most roles that are assumed one after another on the way from the first keys. A host allows a
/// call eight requests if its operator sets no other limit: three go to the instance's metadata
/// service (a token, the role's name, its keys), one asks whose the keys are at the end (parameter
/// `expected-account`), and four are left.
const MAX_HOPS: usize = 4;

/// Properties that name sources which this provider does not have, since it runs no programs and
/// opens no browser.
const FOREIGN: [&str; 5] = [
    "credential_process",
    "sso_session",
    "sso_account_id",
    "sso_start_url",
    "login_session",
];

/// The `credential_source` that asks the instance's metadata service.
const INSTANCE: &str = "Ec2InstanceMetadata";

/// The attribute that says which profile it was.
const PROFILE: &str = "profile";

pub(super) fn load(ambient: &Ambient<'_>) -> Result<Lookup<Credential>, Error> {
    let profiles = match Profiles::read(ambient.host)? {
        Lookup::Found(profiles) => profiles,
        Lookup::Absent(why) => return Ok(Lookup::Absent(why)),
    };
    let name = profiles.chosen();
    let Some(route) = Route::of(&profiles)? else {
        return Ok(Lookup::Absent(format!(
            "profile '{}' holds no keys and no role",
            name.escape_debug()
        )));
    };
    let credential = route.follow(ambient)?;
    Ok(Lookup::Found(credential.attribute(PROFILE, name)))
}

/// Whether this source is configured.
pub(super) fn is_configured(host: &dyn Host) -> Result<bool, Error> {
    Ok(route(host)?.is_some())
}

/// Whether this source is configured, and does without the instance's metadata service.
pub(super) fn has_own_keys(host: &dyn Host) -> Result<bool, Error> {
    let of_instance = |start: &Start| matches!(start, Start::Source(_, INSTANCE));
    Ok(route(host)?.is_some_and(|route| !of_instance(&route.start)))
}

fn route(host: &dyn Host) -> Result<Option<Route>, Error> {
    match Profiles::read(host)? {
        Lookup::Found(profiles) => Route::of(&profiles),
        Lookup::Absent(_) => Ok(None),
    }
}

/// Where a profile's first keys come from.
enum Start {
    Keys(AwsKeys),
    WebIdentity(WebIdentity),
    /// `credential_source`.
    Source(super::Load, &'static str),
}

/// A role on the way.
struct Hop {
    role: RoleArn,
    external_id: Option<String>,
    session_name: Option<SessionName>,
    duration_seconds: Option<u32>,
}

/// From the first keys, by way of roles, to the profile that is asked for.
struct Route {
    start: Start,
    /// The profile's own role first, which is assumed last.
    hops: Vec<Hop>,
}

/// Where one profile leads.
enum Next<'a> {
    Start(Start),
    Profile(&'a str),
    Nowhere,
}

impl Route {
    /// Decides without any request. `None`: the profile has nothing to do with keys.
    fn of(profiles: &Profiles) -> Result<Option<Self>, Error> {
        let mut name = profiles.chosen();
        let mut visited = BTreeSet::new();
        let mut hops = Vec::new();
        loop {
            let profile = profiles.get(name).ok_or_else(|| missing(name))?;
            if !visited.insert(name) {
                return Err(cycle(name));
            }
            let next = next(profile, &mut hops)?;
            if hops.len() > MAX_HOPS {
                return Err(too_far(profiles.chosen()));
            }
            match next {
                Next::Start(start) => return Ok(Some(Self { start, hops })),
                Next::Nowhere if hops.is_empty() => return Ok(None),
                Next::Nowhere => return Err(empty(profile)),
                Next::Profile(source) => name = source,
            }
        }
    }

    fn follow(self, ambient: &Ambient<'_>) -> Result<Credential, Error> {
        let start = match self.start {
            Start::Keys(keys) => endless(keys, ambient.now()),
            Start::WebIdentity(identity) => identity.assume(ambient)?,
            Start::Source(load, name) => match load(ambient)? {
                Lookup::Found(credential) => credential,
                Lookup::Absent(why) => {
                    return Err(Error::invalid_configuration(format!(
                        "credential_source {name} of a profile has no keys: {why}"
                    )));
                }
            },
        };
        let mut hops = self.hops.iter().rev();
        hops.try_fold(start, |before, hop| hop.assume(&before, ambient))
    }
}

/// The profile that is asked for is its role before it is its keys; one that is a source is its
/// keys before its role, so that a profile may be its own source (AWS SDKs and Tools Reference
/// Guide, "Assume role credential provider").
fn next<'a>(profile: &'a Profile, hops: &mut Vec<Hop>) -> Result<Next<'a>, Error> {
    let is_source = !hops.is_empty();
    if let Some(keys) = profile.keys()?.filter(|_| is_source) {
        return Ok(Next::Start(Start::Keys(keys)));
    }
    let Some(role) = profile.property("role_arn") else {
        return Ok(match profile.keys()? {
            Some(keys) => Next::Start(Start::Keys(keys)),
            None => nowhere(profile)?,
        });
    };
    let hop = Hop::read(profile, role)?;
    if let Some(file) = profile.property("web_identity_token_file") {
        return Ok(Next::Start(Start::WebIdentity(hop.with_token(file))));
    }
    hops.push(hop);
    let source = profile.property("source_profile");
    match (source, profile.property("credential_source")) {
        (Some(source), None) if source == profile.name() => own(profile),
        (Some(source), None) => Ok(Next::Profile(source)),
        (None, Some(source)) => credential_source(profile, source).map(Next::Start),
        (Some(_), Some(_)) | (None, None) => Err(Error::invalid_configuration(format!(
            "{} needs one of source_profile, credential_source and web_identity_token_file beside it",
            profile.field("role_arn")
        ))),
    }
}

/// A profile that is its own source.
fn own(profile: &Profile) -> Result<Next<'_>, Error> {
    let keys = profile.keys()?.ok_or_else(|| cycle(profile.name()))?;
    Ok(Next::Start(Start::Keys(keys)))
}

fn nowhere(profile: &Profile) -> Result<Next<'_>, Error> {
    match FOREIGN
        .into_iter()
        .find(|name| profile.property(name).is_some())
    {
        None => Ok(Next::Nowhere),
        Some(name) => Err(Error::invalid_configuration(format!(
            "{} is no source of this provider, which runs no programs and opens no browser: use keys, role_arn or another profile",
            profile.field(name)
        ))),
    }
}

fn credential_source(profile: &Profile, source: &str) -> Result<Start, Error> {
    match source {
        "Environment" => Ok(Start::Source(environment::load, "Environment")),
        "EcsContainer" => Ok(Start::Source(container::load, "EcsContainer")),
        INSTANCE => Ok(Start::Source(instance::load, INSTANCE)),
        _ => Err(Error::invalid_configuration(format!(
            "{} must be Environment, EcsContainer or {INSTANCE}, and is '{}'",
            profile.field("credential_source"),
            source.escape_debug()
        ))),
    }
}

impl Hop {
    fn read(profile: &Profile, role: &str) -> Result<Self, Error> {
        if profile.property("mfa_serial").is_some() {
            return Err(Error::invalid_configuration(format!(
                "{} asks for a code from a person, and nobody is here: use another profile",
                profile.field("mfa_serial")
            )));
        }
        let read = |name| Some((profile.field(name), profile.property(name)?));
        Ok(Self {
            role: RoleArn::parse(&profile.field("role_arn"), role)?,
            external_id: read("external_id")
                .map(|(field, text)| external_id(&field, text))
                .transpose()?,
            session_name: read("role_session_name")
                .map(|(field, text)| SessionName::parse(&field, text))
                .transpose()?,
            duration_seconds: read("duration_seconds")
                .map(|(field, text)| duration(&field, text))
                .transpose()?,
        })
    }

    fn with_token(self, token_file: &str) -> WebIdentity {
        WebIdentity {
            token_file: token_file.into(),
            role: self.role,
            session_name: self.session_name,
            duration_seconds: self.duration_seconds,
        }
    }

    fn assume(&self, before: &Credential, ambient: &Ambient<'_>) -> Result<Credential, Error> {
        let (role, region) = (&self.role, &ambient.terms.region);
        require_partition("role", role.as_str(), role.partition(), region)?;
        let usual = SessionName::of_process(region.name());
        let assumption = Assumption {
            role,
            session_name: self.session_name.as_ref().unwrap_or(&usual),
            duration_seconds: self.duration_seconds,
            policy: None,
            policy_arns: &[],
        };
        let extras = Extras {
            external_id: self.external_id.as_deref(),
            ..Extras::default()
        };
        assume(
            &assumption,
            &extras,
            keys(before)?,
            ambient.terms,
            ambient.host,
        )
    }
}

fn missing(name: &str) -> Error {
    Error::invalid_configuration(format!(
        "source_profile names profile '{}', which is in neither shared file: correct it",
        name.escape_debug()
    ))
}

fn empty(profile: &Profile) -> Error {
    Error::invalid_configuration(format!(
        "profile '{}' is a source_profile and holds no keys and no role: add them",
        profile.name().escape_debug()
    ))
}

fn cycle(name: &str) -> Error {
    Error::invalid_configuration(format!(
        "profile '{}' leads back to itself by source_profile and has no keys: end the chain in a profile with keys",
        name.escape_debug()
    ))
}

fn too_far(name: &str) -> Error {
    Error::invalid_configuration(format!(
        "profile '{}' needs more than {MAX_HOPS} roles one after another: shorten the chain of source_profile",
        name.escape_debug()
    ))
}
