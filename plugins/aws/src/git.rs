//! Passwords for CodeCommit: a signature over the repository's path, which Git sends as it is.

use crate::exchange::unexpired;
use crate::identity;
use crate::region::Region;
use crate::sign::keys;
use aws_sigv4::sign::v4;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use gatepass_sdk::{Authority, AwsKeys, Credential, Error, Facts, GitTarget, Host, Request};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::{Duration, SystemTime};

/// CodeCommit takes a password for 15 minutes from its date (AWS's own credential helper).
const LIFETIME: Duration = Duration::from_secs(15 * 60);

/// The name in the scope of the signature.
const SERVICE: &str = "codecommit";

/// What stands before the region in a host of CodeCommit; with FIPS 140 the second.
const PREFIXES: [&str; 2] = ["git-codecommit", "git-codecommit-fips"];

/// Characters of a date, `20260101T000000`.
const DATE_LENGTH: usize = 15;

/// What every path begins with.
const ROOT: &str = "/v1/repos/";

/// Longest name of a repository (CodeCommit `RepositoryName`).
const MAX_NAME: usize = 100;

/// The port that `https` URLs leave out.
const HTTPS_PORT: u16 = 443;

/// A repository of CodeCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Repository {
    host: String,
    path: String,
    region: Region,
}

impl Repository {
    /// Reads `https://git-codecommit.REGION.SUFFIX/v1/repos/NAME`.
    ///
    /// # Errors
    ///
    /// `invalid-configuration`. What may hold a password is not shown.
    fn parse(url: &str) -> Result<Self, Error> {
        Self::read(url).ok_or_else(|| {
            let shown = match url.contains(['@', '?', '#']) {
                true => String::new(),
                false => format!(" '{}'", url.escape_debug()),
            };
            Error::invalid_configuration(format!(
                "Git URL{shown} is not in CodeCommit: write https://git-codecommit.REGION.amazonaws.com{ROOT}NAME, without user"
            ))
        })
    }

    fn read(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (authority, path) = rest.split_at_checked(rest.find('/')?)?;
        let authority = Authority::parse(authority)?;
        let usual = authority.port().is_none_or(|port| port == HTTPS_PORT);
        let name = path.strip_prefix(ROOT)?;
        (scheme.eq_ignore_ascii_case("https") && usual && is_name(name)).then_some(())?;
        Some(Self {
            host: authority.host().into(),
            path: path.into(),
            region: region(authority.host())?,
        })
    }
}

/// The region in a host of CodeCommit: `PREFIX.REGION.SUFFIX`, or a VPC endpoint's
/// `vpce-ID.PREFIX.REGION.vpce.SUFFIX`. The suffix is that of the region's own partition.
fn region(host: &str) -> Option<Region> {
    let (first, rest) = host.split_once('.')?;
    let private = first.starts_with("vpce-");
    let (prefix, rest) = match private {
        true => rest.split_once('.')?,
        false => (first, rest),
    };
    let (region, suffix) = rest.split_once('.')?;
    let suffix = match private {
        true => suffix.strip_prefix("vpce.")?,
        false => suffix,
    };
    Region::read(region)
        .filter(|region| PREFIXES.contains(&prefix) && suffix == region.partition().suffix())
}

fn is_name(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let dots = text.bytes().all(|byte| byte == b'.');
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(legal) && !dots
}

/// Which repository a URL is, and the request for the keys that its login needs.
///
/// # Errors
///
/// `invalid-configuration` if it is none of CodeCommit's, or the request's region is of another
/// partition.
pub(crate) fn target(url: &str, _: &Facts, request: &Request) -> Result<GitTarget, Error> {
    let repository = Repository::parse(url)?;
    Ok(GitTarget {
        access: identity::access(request, &repository.region)?,
        cache_input: format!("https://{}{}", repository.host, repository.path),
    })
}

/// Makes the user name and the password, without asking anyone.
///
/// # Errors
///
/// `invalid-configuration` if the URL is none of CodeCommit's; `unavailable` if the keys have
/// expired; `internal` if `access` holds no keys, or the clock cannot be written.
pub(crate) fn login(
    url: &str,
    access: &Credential,
    _: &Facts,
    _: &Request,
    host: &dyn Host,
) -> Result<Credential, Error> {
    let repository = Repository::parse(url)?;
    let keys = keys(access)?;
    let now = host.now();
    let password = password(keys, &repository, now)?;
    let expiry = now + LIFETIME;
    let expiry = access.expires_at.map_or(expiry, |end| end.min(expiry));
    let credential = Credential::basic(username(keys), password, expiry);
    unexpired("logging in to CodeCommit", credential, now)
}

/// The access key, and behind a percent sign the session token, if there is one.
fn username(keys: &AwsKeys) -> String {
    match &keys.session_token {
        None => keys.access_key_id.clone(),
        Some(token) => format!("{}%{}", keys.access_key_id, token.expose()),
    }
}

/// The date and the signature of a request with method `GIT`, which has no body, no query and no
/// header but the host. Its date has no `Z` where it is signed, and one in the password (AWS's own
/// credential helper, `sign_request`).
fn password(keys: &AwsKeys, repository: &Repository, now: SystemTime) -> Result<String, Error> {
    let Repository { host, path, region } = repository;
    let date = date(now)?;
    let day = date.split('T').next().unwrap_or_default();
    let canonical = hexadecimal(&format!("GIT\n{path}\n\nhost:{host}\n\nhost\n"));
    let to_sign =
        format!("AWS4-HMAC-SHA256\n{date}\n{day}/{region}/{SERVICE}/aws4_request\n{canonical}");
    let secret = keys.secret_access_key.expose();
    let key = v4::generate_signing_key(secret, now, region.name(), SERVICE);
    let signature = v4::calculate_signature(key, to_sign.as_bytes());
    Ok(format!("{date}Z{signature}"))
}

/// `20260101T000000`.
fn date(now: SystemTime) -> Result<String, Error> {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).ok();
    let written = since
        .and_then(|since| i64::try_from(since.as_secs()).ok())
        .and_then(|seconds| DateTime::from_secs(seconds).fmt(Format::DateTime).ok());
    let date: String = written
        .unwrap_or_default()
        .chars()
        .filter(|character| character.is_ascii_digit() || *character == 'T')
        .collect();
    (date.len() == DATE_LENGTH)
        .then_some(date)
        .ok_or_else(|| Error::internal("the host's clock is before 1970 or past the year 9999"))
}

fn hexadecimal(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().fold(String::new(), |mut hexadecimal, byte| {
        // Writing to a string does not fail.
        let _ = write!(hexadecimal, "{byte:02x}");
        hexadecimal
    })
}

#[cfg(test)]
mod tests;
