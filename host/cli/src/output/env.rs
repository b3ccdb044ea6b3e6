//! `export` lines for a POSIX shell.

use super::time::rfc3339;
use crate::answer::Issue;
use crate::terminal::shell_quoted;
use gatepass::{Material, Secret};

/// The variables of the AWS tools; `None` for what has no variables of its own.
pub(crate) fn render(issue: &Issue<'_>) -> Option<Secret> {
    let Material::Aws(keys) = issue.material else {
        return None;
    };
    let export = |name: &str, value: &str| format!("export {name}={}\n", shell_quoted(value));
    // A session token that is left over from before would make these keys invalid.
    let session = match &keys.session_token {
        Some(token) => export("AWS_SESSION_TOKEN", token.expose()),
        None => "unset AWS_SESSION_TOKEN\n".to_owned(),
    };
    let lines = [
        export("AWS_ACCESS_KEY_ID", &keys.access_key_id),
        export("AWS_SECRET_ACCESS_KEY", keys.secret_access_key.expose()),
        session,
        export("AWS_CREDENTIAL_EXPIRATION", &rfc3339(issue.expires_at)),
    ];
    Some(Secret::from(lines.concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Place;
    use crate::output::sample;
    use gatepass::AwsKeys;

    #[test]
    fn keys_are_quoted_for_the_shell() {
        let material = sample::aws();
        let lines = render(&sample::issue(&material, Place::Anywhere)).unwrap();
        let expected = r"export AWS_ACCESS_KEY_ID='ASIAEXAMPLE'
export AWS_SECRET_ACCESS_KEY='canary'\''secret'
export AWS_SESSION_TOKEN='canary/session+token=='
export AWS_CREDENTIAL_EXPIRATION='2026-11-20T18:00:00Z'
";
        assert_eq!(lines.expose(), expected);
    }

    #[test]
    fn a_session_token_of_before_does_not_stay() {
        let material = Material::Aws(AwsKeys {
            access_key_id: "AKIA".into(),
            secret_access_key: "s".into(),
            session_token: None,
        });
        let lines = render(&sample::issue(&material, Place::Anywhere)).unwrap();
        assert!(lines.expose().contains("unset AWS_SESSION_TOKEN\n"));
    }
}
