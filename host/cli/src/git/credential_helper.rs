//! A credential helper of git (<https://git-scm.com/docs/gitcredentials#_custom_helpers>).

use crate::answer::Wanted;
use crate::arguments::{Git, Global};
use crate::failure::Failure;
use crate::output::{self, git_credential};
use crate::session::Session;
use crate::terminal;
use gatepass::{ErrorKind, GitUrl};
use std::io::Read;

/// The longest question of git that is read: a host, a path and a few words.
const MAX_QUESTION: u64 = 64 << 10;

/// Answers git. Nothing is kept, so that there is nothing to store or to erase; a helper is to ignore
/// operations that it does not know.
pub(crate) async fn run(global: &Global, flags: &Git, operation: &str) -> Result<(), Failure> {
    if global.output.is_some() {
        return Err(Failure::usage(
            "--credential-helper answers as git wants it, without --output",
        ));
    }
    let asked = read()?;
    match operation {
        "get" => get(global, flags, &Question::parse(&asked)?).await,
        _ => Ok(()),
    }
}

fn read() -> Result<String, Failure> {
    let mut text = String::new();
    let unreadable = |error| Failure::machine("cannot read what git asks", error);
    std::io::stdin()
        .lock()
        .take(MAX_QUESTION)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Ok(text)
}

async fn get(global: &Global, flags: &Git, question: &Question) -> Result<(), Failure> {
    let wanted = Wanted::Git(question.url()?);
    let session = Session::open(global, &flags.request, &wanted, None).await?;
    let answer = session.ask(&wanted).await;
    if let Err(Failure::Host(error)) = &answer
        && error.kind() == ErrorKind::Configuration
        && question.path.is_empty()
    {
        terminal::talk(
            "note: git did not say which repository; it does after `git config credential.useHttpPath true`\n",
        );
    }
    let answer = answer?;
    let issue = answer.issue(session.flags.provider());
    let user = question.user.as_deref();
    let login = git_credential::answer(&issue, question.knows_authtype, user);
    output::release(&login.ok_or_else(|| {
        Failure::usage(format!(
            "git knows no credential of kind {}",
            issue.material.kind()
        ))
    })?)
}

/// What git asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Question {
    protocol: String,
    host: String,
    path: String,
    user: Option<String>,
    /// Whether it takes other logins than a password.
    knows_authtype: bool,
}

impl Question {
    /// Reads `NAME=VALUE` lines up to an empty one. Names that it does not know are for others.
    fn parse(text: &str) -> Result<Self, Failure> {
        let mut question = Self::default();
        for line in text.lines().take_while(|line| !line.is_empty()) {
            // What a line holds may be a password.
            let (name, value) = line
                .split_once('=')
                .ok_or_else(|| Failure::usage("git did not ask in NAME=VALUE lines"))?;
            match name {
                "protocol" => value.clone_into(&mut question.protocol),
                "host" => value.clone_into(&mut question.host),
                "path" => value.clone_into(&mut question.path),
                "username" => question.user = Some(value.to_owned()),
                "capability[]" => question.knows_authtype |= value == "authtype",
                _ => {}
            }
        }
        Ok(question)
    }

    fn url(&self) -> Result<GitUrl, Failure> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
        if self.host.is_empty() || !self.host.bytes().all(legal) {
            return Err(Failure::usage(
                "git asked for no host, or for none that is one",
            ));
        }
        if self.protocol != "https" {
            return Err(Failure::usage(
                "git asked for another protocol than https: a login is sent over that alone",
            ));
        }
        let path = encoded(&self.path);
        let url = format!("https://{}/{path}", self.host);
        url.parse().map_err(Failure::from)
    }
}

/// A path as a URL has it: git takes it apart before it asks.
fn encoded(path: &str) -> String {
    let byte = |byte: u8| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' | b'@' | b':' | b'+' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Option<String> {
        let question = Question::parse(text).unwrap();
        question.url().ok().map(|url| url.as_str().to_owned())
    }

    #[test]
    fn the_remote_is_put_together_from_what_git_says() {
        for (text, expected) in [
            (
                "protocol=https\nhost=git.example\npath=a/b.git\n",
                Some("https://git.example/a/b.git"),
            ),
            (
                "protocol=https\nhost=git.example:8443\n\npath=ignored",
                Some("https://git.example:8443/"),
            ),
            (
                "protocol=https\nhost=a.example\npath=My Project/_git/x%2Fy?z#\n",
                Some("https://a.example/My%20Project/_git/x%252Fy%3Fz%23"),
            ),
            ("protocol=http\nhost=git.example\n", None),
            ("protocol=https\n", None),
            ("protocol=https\nhost=me@git.example\n", None),
            ("protocol=https\nhost=git.example/x\n", None),
            ("protocol=https\nhost=a b\n", None),
            ("", None),
        ] {
            assert_eq!(url(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn user_and_capabilities_are_read_and_other_names_are_not() {
        let text = "capability[]=state\ncapability[]=authtype\nusername=me\nwwwauth[]=Basic realm=\"x\"\nquit=1\n";
        let question = Question::parse(text).unwrap();
        assert_eq!(question.user.as_deref(), Some("me"));
        assert!(question.knows_authtype);
        assert!(!Question::parse("username=me").unwrap().knows_authtype);
    }

    #[test]
    fn a_line_that_is_no_pair_is_not_repeated() {
        let failure = Question::parse("canary").unwrap_err();
        assert!(!failure.report().contains("canary"), "{failure}");
    }
}
