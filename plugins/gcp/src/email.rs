//! E-mails of service accounts, as they stand in annotations, parameters and URLs.

use gatepass_sdk::{Authority, Error};

/// Longest name of an account that controllers already in the field accept; IAM gives out 30.
const MAX_NAME: usize = 100;

/// What an account's own domain ends in, after its project.
const PROJECT_SUFFIX: &str = ".iam.gserviceaccount.com";

/// Domains of accounts that Google makes by itself: Compute Engine's and App Engine's.
const DEFAULT_DOMAINS: [&str; 2] = [
    "developer.gserviceaccount.com",
    "appspot.gserviceaccount.com",
];

/// The e-mail of a service account. Its characters need no escaping in a path or in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Email(String);

impl Email {
    /// Reads the value of `field`: `NAME@PROJECT.iam.gserviceaccount.com`, where a project of a
    /// domain, `example.com:app`, is written `app.example.com`; or one of Google's own accounts.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' must be the e-mail of a service account, NAME@PROJECT.iam.gserviceaccount.com",
                text.escape_debug()
            ))
        })
    }

    /// Reads an e-mail; `None` if it is none of a service account.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (name, domain) = text.split_once('@')?;
        let fits = (1..=MAX_NAME).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (fits && is_domain(domain)).then(|| Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The account's name in IAM's API, whatever its project.
    pub(crate) fn resource(&self) -> String {
        format!("projects/-/serviceAccounts/{}", self.0)
    }
}

impl std::fmt::Display for Email {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Label by label: what stands before the suffix is one or more whole labels.
fn is_domain(domain: &str) -> bool {
    let named = Authority::parse(domain).is_some_and(|authority| authority.port().is_none());
    let of_project = domain
        .strip_suffix(PROJECT_SUFFIX)
        .is_some_and(|project| !project.is_empty());
    named && (of_project || DEFAULT_DOMAINS.contains(&domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_is_that_of_a_service_account() {
        for text in [
            "app@my-project.iam.gserviceaccount.com",
            "app@my-project.example.com.iam.gserviceaccount.com",
            "app@my-project.s3ns.iam.gserviceaccount.com",
            "A-1@My-Project.iam.gserviceaccount.com",
            "123456789012-compute@developer.gserviceaccount.com",
            "my-project@appspot.gserviceaccount.com",
        ] {
            assert_eq!(Email::parse("email", text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn what_is_no_email_of_a_service_account_is_refused_by_name() {
        let long = format!("{}@p.iam.gserviceaccount.com", "a".repeat(101));
        let label = format!("a@{}.iam.gserviceaccount.com", "p".repeat(64));
        for text in [
            "",
            "app",
            "@my-project.iam.gserviceaccount.com",
            "app@iam.gserviceaccount.com",
            "app@.iam.gserviceaccount.com",
            "app@a..b.iam.gserviceaccount.com",
            "app@-a.iam.gserviceaccount.com",
            "app@my-project.iam.gserviceaccount.com.evil.example",
            "app@evil.example/my-project.iam.gserviceaccount.com",
            "app@my-project.iam.gserviceaccount.com:443",
            "app@my-project.iam.gserviceaccount.com.",
            "app@my-projectiam.gserviceaccount.com",
            "app@x.developer.gserviceaccount.com",
            "app@b@my-project.iam.gserviceaccount.com",
            "ann@example.com",
            "a b@p.iam.gserviceaccount.com",
            "a/../b@p.iam.gserviceaccount.com",
            "a:x@p.iam.gserviceaccount.com",
            "é@p.iam.gserviceaccount.com",
            "app@p.iam.gserviceaccount.com\n",
            &long,
            &label,
        ] {
            let error = Email::parse("annotation x", text).unwrap_err();
            assert!(error.message().starts_with("annotation x '"), "{error}");
        }
    }
}
