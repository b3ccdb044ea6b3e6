//! OAuth scopes of an access token.

use gatepass_sdk::Error;

/// All of Google Cloud, within what IAM allows; what the token of a federated identity needs to
/// impersonate a service account, too.
pub(crate) const CLOUD_PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";

/// Lets a server see the e-mail of the account: Kubernetes Engine names its user by it.
const USERINFO_EMAIL: &str = "https://www.googleapis.com/auth/userinfo.email";

/// Scopes of an access token, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scopes {
    scopes: Vec<String>,
    /// Whether the caller chose them.
    chosen: bool,
}

impl Scopes {
    /// The caller's, or the two that controllers in the field ask for.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the first that is none.
    pub(crate) fn parse(scopes: &[String]) -> Result<Self, Error> {
        if let Some(wrong) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(Error::invalid_configuration(format!(
                "scope '{}' must be one OAuth scope, without spaces, commas and quotes: {CLOUD_PLATFORM} say",
                wrong.escape_debug()
            )));
        }
        let default = || vec![CLOUD_PLATFORM.into(), USERINFO_EMAIL.into()];
        Ok(Self {
            chosen: !scopes.is_empty(),
            scopes: if scopes.is_empty() {
                default()
            } else {
                scopes.to_vec()
            },
        })
    }

    pub(crate) fn list(&self) -> &[String] {
        &self.scopes
    }

    /// Those that the caller chose, if any.
    pub(crate) fn chosen(&self) -> Option<&[String]> {
        self.chosen.then_some(self.scopes.as_slice())
    }
}

/// A `scope-token` of RFC 6749 §3.3, without the comma that separates scopes elsewhere.
fn is_scope(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_scopes_replace_both_defaults() {
        let default = Scopes::parse(&[]).unwrap();
        assert_eq!(default.list(), [CLOUD_PLATFORM, USERINFO_EMAIL]);
        assert_eq!(default.chosen(), None);
        let one = ["openid".to_owned()];
        let chosen = Scopes::parse(&one).unwrap();
        assert_eq!(chosen.list(), one);
        assert_eq!(chosen.chosen(), Some(one.as_slice()));
    }

    #[test]
    fn what_is_no_scope_is_named() {
        for text in ["", "a b", "a,b", "a\"b", "a\\b", "é", "a\n"] {
            let error = Scopes::parse(&["openid".into(), text.into()]).unwrap_err();
            assert!(error.message().starts_with("scope '"), "{error}");
        }
    }
}
