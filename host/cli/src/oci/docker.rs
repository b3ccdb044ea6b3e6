//! The caller's logins in Docker's configuration, as `docker login` leaves them.

use super::login::Login;
use crate::failure::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatepass::Secret;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The name under which Docker keeps the login to Docker Hub.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";
/// What helpers answer as user name when the secret is an identity token
/// (docker/cli, `cli/config/credentials/native_store.go`).
const TOKEN_USER: &str = "<token>";
/// How helpers say that they know no login (docker/docker-credential-helpers, `credentials/error.go`).
const NOT_FOUND: &str = "credentials not found in native keychain";

/// `config.json`, as far as it is about logins.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Config {
    auths: BTreeMap<String, Entry>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

/// One login. No field of it may be shown.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
    registrytoken: String,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("[secret]")
    }
}

/// What a helper answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Helped {
    username: String,
    secret: String,
}

impl Config {
    /// Reads the file in `$DOCKER_CONFIG` or `~/.docker`. That there is none means no login.
    pub(crate) fn read() -> Result<Self, Failure> {
        let own = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
        let folder = own.filter(|folder| !folder.as_os_str().is_empty());
        let home = || Some(Path::new(&std::env::var_os("HOME")?).join(".docker"));
        match folder.or_else(home) {
            Some(folder) => Self::read_file(&folder.join("config.json")),
            None => Ok(Self::default()),
        }
    }

    fn read_file(path: &Path) -> Result<Self, Failure> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(Failure::unreadable("Docker's configuration", path, error));
            }
        };
        serde_json::from_slice(&text).map_err(|error| {
            // The position alone: serde's own words may quote a password.
            Failure::configuration(format!(
                "{} is no configuration of Docker: line {}, column {}",
                path.display(),
                error.line(),
                error.column()
            ))
        })
    }

    /// The login to a registry: the helper's of this host, else the store's, else the file's.
    pub(crate) fn login(&self, host: &str) -> Result<Login, Failure> {
        self.login_by(host, ask)
    }

    fn login_by(
        &self,
        host: &str,
        ask: impl Fn(&str, &str) -> Result<Option<Secret>, Failure>,
    ) -> Result<Login, Failure> {
        let key = match host {
            "docker.io" | "index.docker.io" => DOCKER_HUB,
            host => host,
        };
        let helper = self.cred_helpers.get(key).or(self.creds_store.as_ref());
        if let Some(helper) = helper
            && let Some(answer) = ask(helper, key)?
        {
            return of_helper(helper, &answer);
        }
        let https = format!("https://{key}");
        let entry = [key, https.as_str()]
            .iter()
            .find_map(|key| self.auths.get(*key));
        entry.map_or(Ok(Login::Anonymous), |entry| of_entry(entry, host))
    }
}

fn of_helper(helper: &str, answer: &Secret) -> Result<Login, Failure> {
    let helped: Helped = serde_json::from_str(answer.expose()).map_err(|_| {
        Failure::configuration(format!(
            "docker-credential-{helper} answered no login in JSON"
        ))
    })?;
    let password = Secret::from(helped.secret);
    match helped.username == TOKEN_USER {
        true => Err(identity_token(&format!("docker-credential-{helper}"))),
        false => Ok(Login::Basic {
            username: helped.username,
            password,
        }),
    }
}

fn of_entry(entry: &Entry, host: &str) -> Result<Login, Failure> {
    if !entry.registrytoken.is_empty() {
        return Ok(Login::Bearer(Secret::from(entry.registrytoken.as_str())));
    }
    if !entry.identitytoken.is_empty() {
        return Err(identity_token("Docker's configuration"));
    }
    if !entry.auth.is_empty() {
        let pair = decode(&entry.auth).ok_or_else(|| {
            Failure::configuration(format!(
                "the login to {host} in Docker's configuration is not USER:PASSWORD in base64"
            ))
            .fix(format!("docker login {host}"))
        })?;
        return Ok(pair);
    }
    match entry.username.is_empty() && entry.password.is_empty() {
        // `docker login` with a store leaves an empty entry.
        true => Ok(Login::Anonymous),
        false => Ok(Login::Basic {
            username: entry.username.clone(),
            password: Secret::from(entry.password.as_str()),
        }),
    }
}

fn decode(auth: &str) -> Option<Login> {
    let pair = STANDARD.decode(auth).ok()?;
    let pair = String::from_utf8(pair).map(Secret::from).ok()?;
    let (username, password) = pair.expose().split_once(':')?;
    Some(Login::Basic {
        username: username.to_owned(),
        // Docker's own client cuts the zero bytes off that old ones wrote.
        password: Secret::from(password.trim_end_matches('\0')),
    })
}

fn identity_token(where_from: &str) -> Failure {
    Failure::configuration(format!(
        "{where_from} holds an identity token, which gatepass does not exchange"
    ))
    .fix("log in with --provider, or with a user name and a password")
}

/// Asks `docker-credential-NAME get`; `None` if it knows no login.
fn ask(helper: &str, key: &str) -> Result<Option<Secret>, Failure> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if helper.is_empty() || !helper.bytes().all(legal) {
        return Err(Failure::configuration(format!(
            "credential helper {helper:?} in Docker's configuration must be letters, digits and -_."
        )));
    }
    let program = format!("docker-credential-{helper}");
    let failed = |error| {
        Failure::configuration(format!("cannot run {program}"))
            .because(error)
            .fix("install it, or remove it from Docker's configuration")
    };
    let output = run(&program, key).map_err(failed)?;
    let said = Secret::from(String::from_utf8_lossy(&output.stdout));
    match output.status.success() {
        true => Ok(Some(said)),
        false if said.expose().trim() == NOT_FOUND => Ok(None),
        false => Err(Failure::configuration(format!(
            "{program} failed for {key} ({})",
            output.status
        ))
        .fix(format!("see what `echo {key} | {program} get` says"))),
    }
}

fn run(program: &str, key: &str) -> std::io::Result<Output> {
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(key.as_bytes())?;
    }
    child.wait_with_output()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    fn basic(username: &str, password: &str) -> Login {
        Login::Basic {
            username: username.into(),
            password: password.into(),
        }
    }

    fn no_helper(helper: &str, _: &str) -> Result<Option<Secret>, Failure> {
        panic!("{helper} is asked")
    }

    #[test]
    fn a_login_in_the_file_is_found_in_every_form() {
        let file = config(
            r#"{"auths": {
                "r.example:5000": {"auth": "dTpwOng="},
                "https://s.example": {"username": "u", "password": "p"},
                "t.example": {"registrytoken": "tok"},
                "e.example": {},
                "https://index.docker.io/v1/": {"auth": "aDpw"}
            }, "HttpHeaders": {"x": "y"}}"#,
        );
        for (host, expected) in [
            ("r.example:5000", basic("u", "p:x")),
            ("s.example", basic("u", "p")),
            ("t.example", Login::Bearer("tok".into())),
            ("e.example", Login::Anonymous),
            ("docker.io", basic("h", "p")),
            ("r.example", Login::Anonymous),
            ("x.r.example:5000", Login::Anonymous),
        ] {
            assert_eq!(file.login_by(host, no_helper).unwrap(), expected, "{host}");
        }
    }

    #[test]
    fn a_helper_of_the_host_goes_before_the_store_and_the_store_before_the_file() {
        let file = config(
            r#"{"auths": {"b.example": {"auth": "dTpw"}}, "credsStore": "store",
                "credHelpers": {"a.example": "own"}}"#,
        );
        let ask = |helper: &str, key: &str| {
            let answer = format!(r#"{{"ServerURL":"{key}","Username":"{helper}","Secret":"s"}}"#);
            Ok((key != "b.example").then(|| Secret::from(answer)))
        };
        for (host, expected) in [
            ("a.example", basic("own", "s")),
            ("c.example", basic("store", "s")),
            ("b.example", basic("u", "p")),
        ] {
            assert_eq!(file.login_by(host, ask).unwrap(), expected, "{host}");
        }
    }

    #[test]
    fn what_is_no_login_is_refused_and_not_shown() {
        for (text, word) in [
            (r#"{"auths": {"r.example": {"auth": "canary!"}}}"#, "base64"),
            (
                r#"{"auths": {"r.example": {"auth": "Y2FuYXJ5"}}}"#,
                "base64",
            ),
            (
                r#"{"auths": {"r.example": {"identitytoken": "canary"}}}"#,
                "identity token",
            ),
            (r#"{"credsStore": "../x"}"#, "credential helper"),
        ] {
            let failure = config(text).login("r.example").unwrap_err();
            assert!(failure.report().contains(word), "{failure:?}");
            assert!(!failure.report().contains("canary"), "{failure:?}");
        }
        let said = |answer: &'static str| move |_: &str, _: &str| Ok(Some(Secret::from(answer)));
        let store = config(r#"{"credsStore": "store"}"#);
        for answer in [
            "",
            "canary",
            r#"{"Username": "u"}"#,
            r#"{"Username":"<token>","Secret":"canary"}"#,
        ] {
            let failure = store.login_by("r.example", said(answer)).unwrap_err();
            assert!(!failure.report().contains("canary"), "{failure:?}");
        }
    }

    #[test]
    fn a_file_that_is_absent_is_no_login_and_a_broken_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        let login = |config: Config| config.login_by("r.example", no_helper).unwrap();
        assert_eq!(login(Config::read_file(&path).unwrap()), Login::Anonymous);
        for text in ["", "{", r#"{"auths": {"r.example": "canary"}}"#] {
            std::fs::write(&path, text).unwrap();
            let report = Config::read_file(&path).unwrap_err().report();
            assert!(
                report.contains("config.json is no") && !report.contains("canary"),
                "{report}"
            );
        }
    }
}
