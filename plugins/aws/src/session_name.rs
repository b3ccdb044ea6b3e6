//! Names of role sessions, which show up in CloudTrail and in policies.

use gatepass_sdk::{Error, ServiceAccount, Subject};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Shortest session name (STS `RoleSessionName`).
const MIN_LENGTH: usize = 2;

/// Longest session name (STS `RoleSessionName`).
const MAX_LENGTH: usize = 64;

/// Bytes of the digest that ends a name which had to be cut: accounts would have to try 2³²
/// names to find two that meet.
const DIGEST_LENGTH: usize = 8;

/// A session name that STS accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionName(String);

impl SessionName {
    /// Reads the value of `field`. Names of sessions and source identities keep one rule.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        let fits = (MIN_LENGTH..=MAX_LENGTH).contains(&text.len()) && text.chars().all(is_legal);
        fits.then(|| Self(text.into())).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' must be {MIN_LENGTH} to {MAX_LENGTH} letters, digits and signs of _+=,.@-",
                text.escape_debug()
            ))
        })
    }

    /// The name of a subject's session; that of the process itself is `ambient.REGION.gatepass`.
    pub(crate) fn of_subject(subject: &Subject, region: &str) -> Self {
        match subject {
            Subject::Ambient => Self::of_process(region),
            Subject::ServiceAccount(account) => Self::of(account, region),
            Subject::Object(object) => {
                let name = format!("{}.{}", object.resource, object.name);
                Self::fit(format!("{name}.{}.{region}.gatepass", object.namespace))
            }
        }
    }

    /// The name of a session of the process itself.
    pub(crate) fn of_process(region: &str) -> Self {
        Self::fit(format!("ambient.{region}.gatepass"))
    }

    /// The name of a ServiceAccount's session: `NAME.NAMESPACE.REGION.gatepass`, which tells an
    /// auditor who it was. Where that is too long or holds what STS refuses, it is cut and ends in
    /// a digest of the whole, so that no two accounts share a name.
    pub(crate) fn of(account: &ServiceAccount, region: &str) -> Self {
        Self::fit(format!(
            "{}.{}.{region}.gatepass",
            account.name, account.namespace
        ))
    }

    fn fit(whole: String) -> Self {
        if whole.chars().count() <= MAX_LENGTH && whole.chars().all(is_legal) {
            return Self(whole);
        }
        let mut name: String = whole
            .chars()
            .map(|character| if is_legal(character) { character } else { '-' })
            .take(MAX_LENGTH - 2 * DIGEST_LENGTH - 1)
            .collect();
        name.push('-');
        name.push_str(&digest(&whole));
        Self(name)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_legal(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_+=,.@-".contains(character)
}

fn digest(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .take(DIGEST_LENGTH)
        .fold(String::new(), |mut hexadecimal, byte| {
            // Writing to a string does not fail.
            let _ = write!(hexadecimal, "{byte:02x}");
            hexadecimal
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::ObjectReference;
    use std::collections::HashMap;

    fn account(namespace: &str, name: &str) -> ServiceAccount {
        ServiceAccount {
            namespace: namespace.into(),
            name: name.into(),
            ..ServiceAccount::default()
        }
    }

    #[test]
    fn a_session_is_named_for_its_account() {
        let name = SessionName::of(&account("team-a", "app"), "us-east-1");
        assert_eq!(name.as_str(), "app.team-a.us-east-1.gatepass");
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_and_ends_in_a_digest_of_the_whole() {
        let long = "a".repeat(63);
        let name = SessionName::of(&account(&long, "app"), "us-east-1");
        assert_eq!(name.as_str().len(), 64);
        assert!(name.as_str().starts_with("app.aaa"), "{name:?}");
        let other = SessionName::of(&account(&long, "app"), "us-east-2");
        assert_ne!(name, other);
    }

    /// A fixed sequence that looks random (xorshift64), so that a failure can be repeated.
    struct Sequence(u64);

    impl Sequence {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }

        fn text(&mut self, alphabet: &[char], longest: u64) -> String {
            let bound = u64::try_from(alphabet.len()).unwrap();
            let length = 1 + self.below(longest);
            (0..length)
                .map(|_| alphabet[usize::try_from(self.below(bound)).unwrap()])
                .collect()
        }
    }

    #[test]
    fn every_name_is_legal_and_no_two_accounts_share_one() {
        let mut sequence = Sequence(0x9e37_79b9_7f4a_7c15);
        let mut seen = HashMap::new();
        for _ in 0..20_000 {
            let namespace = sequence.text(&['a', 'b', '-', 'é'], 63);
            let name = sequence.text(&['a', 'b', '.', '-', '/'], 120);
            let region =
                ["us-east-1", "ap-southeast-2"][usize::try_from(sequence.below(2)).unwrap()];
            let session = SessionName::of(&account(&namespace, &name), region);
            let length = session.as_str().len();
            assert!(
                (MIN_LENGTH..=MAX_LENGTH).contains(&length)
                    && session.as_str().chars().all(is_legal),
                "{session:?}"
            );
            let owner = (namespace, name, region);
            let earlier = seen.insert(session.0, owner.clone());
            assert!(earlier.is_none_or(|earlier| earlier == owner), "{owner:?}");
        }
        assert!(seen.len() > 15_000);
    }

    #[test]
    fn every_kind_of_subject_has_a_session_name() {
        let object = ObjectReference {
            api_version: "source.toolkit.fluxcd.io/v1".into(),
            kind: "OCIRepository".into(),
            resource: "ocirepositories".into(),
            namespace: "team-a".into(),
            name: "app".into(),
            uid: "1".into(),
        };
        for (subject, name) in [
            (Subject::Ambient, "ambient.us-east-1.gatepass"),
            (
                Subject::ServiceAccount(account("team-a", "app")),
                "app.team-a.us-east-1.gatepass",
            ),
            (
                Subject::Object(object),
                "ocirepositories.app.team-a.us-east-1.gatepass",
            ),
        ] {
            assert_eq!(
                SessionName::of_subject(&subject, "us-east-1").as_str(),
                name
            );
        }
    }

    #[test]
    fn a_given_name_keeps_the_rule_of_sts() {
        let longest = "a".repeat(64);
        for text in ["ab", "cluster-spinner.acme.com", "a@b,c=d+e_f", &longest] {
            assert_eq!(SessionName::parse("x", text).unwrap().as_str(), text);
        }
        let long = "a".repeat(65);
        for text in ["", "a", "a b", "a:b", "a/b", "é!", "a\nb", &long] {
            assert!(SessionName::parse("x", text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_characters_are_those_of_sts() {
        assert!("ab+=c,d.e@f-_Z9".chars().all(is_legal));
        assert!(!" /é\n:*".chars().any(is_legal));
    }
}
