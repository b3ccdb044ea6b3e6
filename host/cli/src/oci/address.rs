//! Which artifact, in which registry.

use crate::failure::Failure;
use gatepass::Repository;
use oci_client::Reference;
use std::net::IpAddr;

/// `[oci://]HOST[:PORT]/PATH[:TAG][@DIGEST]`, parsed.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    reference: Reference,
    /// The repository alone, as it was written: what a login is asked for.
    repository: Repository,
    has_tag: bool,
}

impl Address {
    /// Reads an artifact that is to be pushed: with a tag and without a digest.
    pub(crate) fn to_push(text: &str) -> Result<Self, Failure> {
        let address = Self::parse(text)?;
        match address.has_tag && address.reference.digest().is_none() {
            true => Ok(address),
            false => Err(wrong(text, "must end in :TAG and have no digest")),
        }
    }

    /// Reads an artifact that is there: with a tag or a digest.
    pub(crate) fn to_pull(text: &str) -> Result<Self, Failure> {
        let address = Self::parse(text)?;
        match address.has_tag || address.reference.digest().is_some() {
            true => Ok(address),
            false => Err(wrong(text, "must end in :TAG or @DIGEST")),
        }
    }

    /// Reads a repository: without tag and digest.
    pub(crate) fn to_list(text: &str) -> Result<Self, Failure> {
        let address = Self::parse(text)?;
        match address.has_tag || address.reference.digest().is_some() {
            true => Err(wrong(
                text,
                "must be a repository, without a tag and a digest",
            )),
            false => Ok(address),
        }
    }

    fn parse(text: &str) -> Result<Self, Failure> {
        let whole: Repository = text.parse()?;
        let bare = whole.as_str();
        let reference = Reference::try_from(bare)
            .map_err(|error| wrong(text, "is no reference of an artifact").because(error))?;
        // Docker's short forms name a registry that is not written: `app:v1` is docker.io/library/app.
        if reference.registry() != whole.host() || !bare.contains('/') {
            return Err(wrong(
                text,
                "must begin with the registry: HOST[:PORT]/PATH",
            ));
        }
        let named = bare.split('@').next().unwrap_or_default();
        let last = named.rsplit('/').next().unwrap_or_default();
        let has_tag = last.contains(':');
        let repository = format!("{}/{}", reference.registry(), reference.repository());
        Ok(Self {
            repository: repository.parse()?,
            reference,
            has_tag,
        })
    }

    /// The reference, for the client.
    pub(crate) fn reference(&self) -> &Reference {
        &self.reference
    }

    /// The repository, as providers are asked.
    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// `HOST[:PORT]` of the registry, as it was written.
    pub(crate) fn host(&self) -> &str {
        self.reference.registry()
    }

    /// The same repository under this tag.
    pub(crate) fn tagged(&self, tag: &str) -> Result<Reference, Failure> {
        if !is_tag(tag) {
            let rule = "must be 1 to 128 letters, digits and _.- and begin with no . or -";
            return Err(Failure::usage(format!("tag {tag:?} {rule}")));
        }
        let (registry, path) = (self.reference.registry(), self.reference.repository());
        Ok(Reference::with_tag(
            registry.to_owned(),
            path.to_owned(),
            tag.to_owned(),
        ))
    }

    /// The same artifact by this digest, as people pin it.
    pub(crate) fn pinned(&self, digest: &str) -> String {
        format!("oci://{}@{digest}", self.repository)
    }

    /// Whether the registry is on this machine: what goes there crosses no network.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

/// The tags of the OCI distribution specification: `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`.
fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let legal = |byte: u8| word(byte) || byte == b'.' || byte == b'-';
    tag.len() <= 128 && tag.bytes().next().is_some_and(word) && tag.bytes().all(legal)
}

fn wrong(text: &str, rule: &str) -> Failure {
    Failure::usage(format!("{text:?} {rule}"))
        .fix("write it as oci://HOST[:PORT]/PATH:TAG, such as oci://registry.example/team/app:v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

    #[test]
    fn each_command_takes_the_forms_that_it_can_use() {
        let digest = format!("r.example/a@{DIGEST}");
        let both = format!("r.example/a:v1@{DIGEST}");
        for (text, push, pull, list) in [
            ("oci://r.example/a/b:v1", true, true, false),
            ("r.example:5000/a:v1", true, true, false),
            ("localhost/a:v1", true, true, false),
            ("127.0.0.1:5000/a:v1", true, true, false),
            ("r.example:5000/a", false, false, true),
            (&digest, false, true, false),
            (&both, false, true, false),
            ("a:v1", false, false, false),
            ("team/a:v1", false, false, false),
            ("r.example", false, false, false),
            ("r.example/A:v1", false, false, false),
            ("r.example/a:", false, false, false),
            ("r.example/a@sha256:00", false, false, false),
            ("https://r.example/a:v1", false, false, false),
            ("", false, false, false),
        ] {
            assert_eq!(Address::to_push(text).is_ok(), push, "push {text}");
            assert_eq!(Address::to_pull(text).is_ok(), pull, "pull {text}");
            assert_eq!(Address::to_list(text).is_ok(), list, "list {text}");
        }
    }

    #[test]
    fn a_login_is_asked_for_the_repository_alone() {
        let address = Address::to_pull(&format!("oci://r.example:5000/a/b:v1@{DIGEST}")).unwrap();
        assert_eq!(address.repository().as_str(), "r.example:5000/a/b");
        assert_eq!(address.host(), "r.example:5000");
        assert_eq!(
            address.pinned(DIGEST),
            format!("oci://r.example:5000/a/b@{DIGEST}")
        );
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (host, expected) in [
            ("localhost:5000", true),
            ("localhost", true),
            ("127.0.0.1:5000", true),
            ("127.8.9.1", true),
            ("10.0.0.1:5000", false),
            ("localhost.example", false),
            ("127.0.0.1.example:5000", false),
            ("registry.example", false),
        ] {
            let address = Address::to_push(&format!("{host}/a:v1")).unwrap();
            assert_eq!(address.is_loopback(), expected, "{host}");
        }
    }

    #[test]
    fn tags_are_checked_before_they_are_sent() {
        let address = Address::to_push("r.example/a:v1").unwrap();
        let long = "a".repeat(129);
        for (tag, expected) in [
            ("v2", true),
            ("_x.y-z", true),
            ("", false),
            (".x", false),
            ("-x", false),
            ("a b", false),
            ("a/../b", false),
            ("ä", false),
            (&long, false),
        ] {
            assert_eq!(address.tagged(tag).is_ok(), expected, "{tag:?}");
        }
    }
}
