//! What git reads of a credential (<https://git-scm.com/docs/git-credential#IOFMT>).

use crate::answer::{Issue, Place};
use gatepass::{Material, Secret};
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// The user of a token that goes to the remote in place of a password, where git did not ask for one by
/// name: a remote that takes tokens so does not look at it.
const TOKEN_USER: &str = "oauth2";

/// What `git credential approve` stores: the remote and its login.
pub(crate) fn render(issue: &Issue<'_>) -> Option<Secret> {
    let Place::Remote { url } = issue.place else {
        return None;
    };
    let (protocol, rest) = url.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut lines = String::new();
    if matches!(issue.material, Material::Bearer(_)) {
        // Must come first: without it, git ignores the fields of a bearer token.
        line(&mut lines, "capability[]", "authtype");
    }
    line(&mut lines, "protocol", protocol);
    line(&mut lines, "host", host);
    line(&mut lines, "path", path);
    let login = match issue.material {
        Material::Bearer(token) => bearer(token),
        material => basic(material, TOKEN_USER)?,
    };
    lines.push_str(login.expose());
    lines.push_str(&expiry(issue.expires_at));
    Some(Secret::from(lines))
}

/// What git is answered by a credential helper. A git that knows no bearer tokens (before 2.46) gets one
/// as the password of the user that it named.
pub(crate) fn answer(
    issue: &Issue<'_>,
    knows_authtype: bool,
    user: Option<&str>,
) -> Option<Secret> {
    let login = match issue.material {
        Material::Bearer(token) if knows_authtype => {
            let login = bearer(token);
            Secret::from(format!("capability[]=authtype\n{}", login.expose()))
        }
        material => basic(material, user.unwrap_or(TOKEN_USER))?,
    };
    let expiry = expiry(issue.expires_at);
    Some(Secret::from(format!("{}{expiry}", login.expose())))
}

fn bearer(token: &Secret) -> Secret {
    Secret::from(format!("authtype=Bearer\ncredential={}\n", token.expose()))
}

fn basic(material: &Material, token_user: &str) -> Option<Secret> {
    let (user, password) = match material {
        Material::Basic(basic) => (basic.username.expose(), &basic.password),
        Material::Bearer(token) => (token_user, token),
        _ => return None,
    };
    let password = password.expose();
    Some(Secret::from(format!(
        "username={user}\npassword={password}\n"
    )))
}

/// Git forgets the login by itself from then on.
fn expiry(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("password_expiry_utc={}\n", since.as_secs())
}

fn line(lines: &mut String, name: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(lines, "{name}={value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use gatepass::Basic;

    const PLACE: Place<'_> = Place::Remote {
        url: "https://git.example:8443/team/app",
    };

    fn password() -> Material {
        Material::Basic(Basic {
            username: "AKIA%x".into(),
            password: "20261120T180000Zcanary".into(),
        })
    }

    fn written(material: &Material) -> String {
        let text = render(&sample::issue(material, PLACE)).unwrap();
        text.expose().to_owned()
    }

    fn answered(material: &Material, knows_authtype: bool, user: Option<&str>) -> String {
        let issue = sample::issue(material, PLACE);
        let text = answer(&issue, knows_authtype, user).unwrap();
        text.expose().to_owned()
    }

    #[test]
    fn a_password_is_written_for_its_remote() {
        let expected = "protocol=https\nhost=git.example:8443\npath=team/app\nusername=AKIA%x\npassword=20261120T180000Zcanary\npassword_expiry_utc=1795197600\n";
        assert_eq!(written(&password()), expected);
    }

    #[test]
    fn a_bearer_token_announces_its_fields_first() {
        let text = written(&Material::Bearer("canary".into()));
        assert!(text.starts_with("capability[]=authtype\n"), "{text}");
        assert!(text.contains("\nauthtype=Bearer\ncredential=canary\n"));
    }

    #[test]
    fn git_is_answered_with_what_it_knows() {
        let end = "password_expiry_utc=1795197600\n";
        for user in [None, Some("me")] {
            let text = answered(&password(), true, user);
            let expected = "username=AKIA%x\npassword=20261120T180000Zcanary\n";
            assert_eq!(text, format!("{expected}{end}"));
        }
        let token = Material::Bearer("canary".into());
        for (knows, user, expected) in [
            (
                true,
                None,
                "capability[]=authtype\nauthtype=Bearer\ncredential=canary\n",
            ),
            (false, None, "username=oauth2\npassword=canary\n"),
            (false, Some("me"), "username=me\npassword=canary\n"),
        ] {
            assert_eq!(answered(&token, knows, user), format!("{expected}{end}"));
        }
    }

    #[test]
    fn what_is_no_login_to_a_remote_is_not_written() {
        assert!(render(&sample::issue(&sample::aws(), PLACE)).is_none());
        assert!(answer(&sample::issue(&sample::aws(), PLACE), true, None).is_none());
        let [anywhere, ..] = sample::places();
        assert!(render(&sample::issue(&password(), anywhere)).is_none());
    }
}
