//! The shared files `config` and `credentials`, and the profiles in them.

use super::ini::{self, Section};
use super::{Lookup, variable};
use gatepass_sdk::{AwsKeys, Error, Host, Secret};
use std::collections::BTreeMap;
use std::io;

const PROFILE: &str = "AWS_PROFILE";
const CONFIG_FILE: &str = "AWS_CONFIG_FILE";
const CREDENTIALS_FILE: &str = "AWS_SHARED_CREDENTIALS_FILE";
const HOME: &str = "HOME";

pub(super) const VARIABLES: [&str; 4] = [PROFILE, CONFIG_FILE, CREDENTIALS_FILE, HOME];

pub(super) const FILES: [&str; 4] = [
    "$AWS_CONFIG_FILE",
    "$AWS_SHARED_CREDENTIALS_FILE",
    "$HOME/.aws/config",
    "$HOME/.aws/credentials",
];

/// The profile that is taken where none is named.
const DEFAULT: &str = "default";

/// What stands before the names of profiles in `config`.
const PREFIX: &str = "profile";

/// One profile: its properties in both files, where `credentials` goes before `config`.
#[derive(Debug, Default)]
pub(super) struct Profile {
    name: String,
    properties: Section,
}

impl Profile {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The value of a property; an empty one is as good as none.
    pub(super) fn property(&self, name: &str) -> Option<&str> {
        let value = self.properties.get(name).map(Secret::expose);
        value.filter(|value| !value.is_empty())
    }

    /// What an error calls a property.
    pub(super) fn field(&self, name: &str) -> String {
        format!("{name} of profile '{}'", self.name.escape_debug())
    }

    /// The keys that stand in it.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if one half is missing.
    pub(super) fn keys(&self) -> Result<Option<AwsKeys>, Error> {
        let (id, secret) = ("aws_access_key_id", "aws_secret_access_key");
        match (self.property(id), self.property(secret)) {
            (Some(access_key_id), Some(secret_access_key)) => Ok(Some(AwsKeys {
                access_key_id: access_key_id.into(),
                secret_access_key: secret_access_key.into(),
                session_token: self.property("aws_session_token").map(Secret::from),
            })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(self.lacks(secret, id)),
            (None, Some(_)) => Err(self.lacks(id, secret)),
        }
    }

    fn lacks(&self, missing: &str, present: &str) -> Error {
        Error::invalid_configuration(format!(
            "profile '{}' has {present} and no {missing}: write both or neither",
            self.name.escape_debug()
        ))
    }
}

/// All profiles, and which of them is asked for.
#[derive(Debug)]
pub(super) struct Profiles {
    profiles: BTreeMap<String, Profile>,
    chosen: String,
}

impl Profiles {
    /// Reads what is there of both files.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if a file that is named cannot be read, one that is there breaks
    /// the format, or the profile that is named is in neither.
    pub(super) fn read(host: &dyn Host) -> Result<Lookup<Self>, Error> {
        let mut profiles = BTreeMap::new();
        let config = content(host, CONFIG_FILE, "config")?;
        let credentials = content(host, CREDENTIALS_FILE, "credentials")?;
        for (file, profile_name) in [
            (&config, in_config as fn(&str) -> Option<&str>),
            (&credentials, in_credentials),
        ] {
            let sections = file.as_ref().map(File::sections).transpose()?;
            merge(&mut profiles, sections.unwrap_or_default(), profile_name);
        }
        let named = variable(host, PROFILE);
        let chosen = named.clone().unwrap_or_else(|| DEFAULT.into());
        match (profiles.contains_key(&chosen), named) {
            (true, _) => Ok(Lookup::Found(Self { profiles, chosen })),
            (false, None) => Ok(Lookup::Absent(format!(
                "{PROFILE} is not set, and there is no profile {DEFAULT}"
            ))),
            (false, Some(name)) => Err(Error::invalid_configuration(format!(
                "{PROFILE} in the host's environment names profile '{}', which is in no file that can be read: correct it, or grant {CONFIG_FILE}, {CREDENTIALS_FILE} and the files",
                name.escape_debug()
            ))),
        }
    }

    /// The profile that is asked for.
    pub(super) fn chosen(&self) -> &str {
        &self.chosen
    }

    pub(super) fn get(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }
}

/// A file, as it was read.
struct File {
    path: String,
    text: Secret,
}

impl File {
    fn sections(&self) -> Result<BTreeMap<String, Section>, Error> {
        ini::parse(self.text.expose()).map_err(|why| {
            Error::invalid_configuration(format!("file '{}': {why}", self.path.escape_debug()))
        })
    }
}

/// A file that a variable names must be there. One in its usual place need not, nor be granted; if
/// it is both, it must be readable.
fn content(host: &dyn Host, name: &str, usual: &str) -> Result<Option<File>, Error> {
    let named = variable(host, name);
    let home = || variable(host, HOME).map(|home| format!("{home}/.aws/{usual}"));
    let Some(path) = named.clone().or_else(home) else {
        return Ok(None);
    };
    let unreadable = |why: &str| {
        Error::invalid_configuration(format!(
            "cannot read the shared file '{}' ({name}): {why}; check the file, and that it is granted",
            path.escape_debug()
        ))
    };
    let bytes = match host.file(&path) {
        Ok(bytes) => bytes,
        Err(error) if named.is_none() && is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(&error.to_string())),
    };
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not text"))?;
    let text = text.into();
    Ok(Some(File { path, text }))
}

/// Whether a file is not there, or not granted.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied)
}

/// `[default]` and `[profile NAME]`. Other headings are not of profiles.
fn in_config(heading: &str) -> Option<&str> {
    if heading == DEFAULT {
        return Some(DEFAULT);
    }
    let name = heading.strip_prefix(PREFIX)?;
    let quoted = name.trim();
    let bare = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    (name.len() > quoted.len()).then(|| bare.unwrap_or(quoted))
}

/// `[NAME]`.
fn in_credentials(heading: &str) -> Option<&str> {
    Some(heading)
}

/// What is merged later goes before what is there. `[profile default]` comes after `[default]` in
/// the order of headings, and goes before it, as AWS has it.
fn merge(
    profiles: &mut BTreeMap<String, Profile>,
    sections: BTreeMap<String, Section>,
    profile_name: fn(&str) -> Option<&str>,
) {
    for (heading, section) in sections {
        let Some(name) = profile_name(&heading) else {
            continue;
        };
        let profile = profiles.entry(name.into()).or_insert_with(|| Profile {
            name: name.into(),
            properties: Section::new(),
        });
        profile.properties.extend(section);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_config_name_profiles() {
        for (heading, name) in [
            ("default", Some("default")),
            ("profile default", Some("default")),
            ("profile app", Some("app")),
            ("profile\tapp", Some("app")),
            ("profile \"a b\"", Some("a b")),
            ("profileapp", None),
            ("profile", None),
            ("app", None),
            ("sso-session app", None),
            ("services app", None),
        ] {
            assert_eq!(in_config(heading), name, "{heading}");
        }
    }

    #[test]
    fn a_file_that_is_there_and_cannot_be_read_is_not_passed_over() {
        for (kind, expected) in [
            (io::ErrorKind::NotFound, true),
            (io::ErrorKind::PermissionDenied, true),
            (io::ErrorKind::Other, false),
            (io::ErrorKind::FileTooLarge, false),
        ] {
            assert_eq!(is_absent(&kind.into()), expected, "{kind}");
        }
    }
}
