//! The environment of the process: what an operator can lend to a plugin, variable by variable and file
//! by file.

use crate::error::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// The largest file that is lent: tokens, keys and profiles are a few KiB.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Variables and files of a machine. [`ProcessEnvironment`] is this one's.
pub trait Environment: Send + Sync + fmt::Debug {
    /// A variable; one that is not Unicode is absent.
    fn variable(&self, name: &str) -> Option<String>;

    /// The content of a file.
    ///
    /// # Errors
    ///
    /// It is not there, cannot be read, or is larger than [`MAX_FILE_BYTES`]
    /// ([`io::ErrorKind::FileTooLarge`]).
    fn file(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn file(&self, path: &Path) -> io::Result<Vec<u8>> {
        // A device or a pipe never ends, or does not even open before somebody else likes.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let file = std::fs::File::open(path)?;
        let mut content = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut content)?;
        check_size(content)
    }
}

/// An environment that is written down, for tests and demonstrations. `Debug` shows names alone.
///
/// ```
/// use gatepass::environment::{Environment, FixedEnvironment};
///
/// let environment = FixedEnvironment::default().variable("AWS_REGION", "eu-west-1");
/// assert_eq!(Environment::variable(&environment, "AWS_REGION").as_deref(), Some("eu-west-1"));
/// ```
#[derive(Clone, Default)]
pub struct FixedEnvironment {
    variables: BTreeMap<String, String>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl FixedEnvironment {
    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Puts a file there.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), content.into());
        self
    }
}

impl fmt::Debug for FixedEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FixedEnvironment")
            .field("variables", &self.variables.keys())
            .field("files", &self.files.keys())
            .finish()
    }
}

impl Environment for FixedEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let content = self.files.get(path).cloned();
        check_size(content.ok_or(io::ErrorKind::NotFound)?)
    }
}

fn check_size(content: Vec<u8>) -> io::Result<Vec<u8>> {
    let fits = u64::try_from(content.len()).is_ok_and(|size| size <= MAX_FILE_BYTES);
    if fits {
        return Ok(content);
    }
    Err(io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("it is larger than {MAX_FILE_BYTES} bytes"),
    ))
}

/// The name of a file that can be granted: an absolute path, or `$NAME` for the path that a variable
/// holds, with or without more of the path after it.
///
/// ```
/// use gatepass::environment::{FileName, FixedEnvironment};
///
/// let name: FileName = "$HOME/.aws/config".parse()?;
/// let environment = FixedEnvironment::default().variable("HOME", "/home/app");
/// assert_eq!(name.path(&environment).as_deref(), Some("/home/app/.aws/config".as_ref()));
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileName {
    variable: Option<String>,
    path: String,
}

impl FileName {
    /// The path, as far as the environment tells it now.
    #[must_use]
    pub fn path(&self, environment: &dyn Environment) -> Option<PathBuf> {
        let Some(variable) = &self.variable else {
            return Some(PathBuf::from(&self.path));
        };
        let start = environment.variable(variable);
        let start = start.filter(|start| !start.is_empty())?;
        let path = PathBuf::from(format!("{start}{}", self.path));
        is_plain(&path).then_some(path)
    }
}

/// Absolute, and without `.` and `..`, so that one file has one name.
pub(crate) fn is_plain(path: &Path) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    path.is_absolute() && path.components().all(plain)
}

impl FromStr for FileName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = || {
            Error::configuration(format!(
                "file '{text}' must be an absolute path without '..', $NAME or $NAME/PATH"
            ))
        };
        let Some(rest) = text.strip_prefix('$') else {
            return match is_plain(Path::new(text)) {
                true => Ok(Self {
                    variable: None,
                    path: text.to_owned(),
                }),
                false => Err(refuse()),
            };
        };
        let (variable, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let named = !variable.is_empty() && variable.bytes().all(legal);
        if !named || !(path.is_empty() || is_plain(Path::new(path))) {
            return Err(refuse());
        }
        Ok(Self {
            variable: Some(variable.to_owned()),
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(variable) = &self.variable {
            write!(formatter, "${variable}")?;
        }
        formatter.write_str(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> Option<PathBuf> {
        let environment = FixedEnvironment::default()
            .variable("TOKEN", "/run/token")
            .variable("HOME", "/home/app")
            .variable("EMPTY", "")
            .variable("UP", "/run/../etc")
            .variable("RELATIVE", "token");
        name.parse::<FileName>().unwrap().path(&environment)
    }

    #[test]
    fn a_file_is_named_by_its_path_or_by_a_variable() {
        for (name, expected) in [
            ("/etc/token", Some("/etc/token")),
            ("$TOKEN", Some("/run/token")),
            ("$HOME/.aws/config", Some("/home/app/.aws/config")),
            ("$ABSENT", None),
            ("$EMPTY/.aws/config", None),
            ("$UP", None),
            ("$RELATIVE", None),
        ] {
            assert_eq!(path(name), expected.map(PathBuf::from), "{name}");
        }
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for name in [
            "",
            "token",
            "./token",
            "/etc/../token",
            "$",
            "$/x",
            "$A-B",
            "$A/../b",
            "~/.aws",
            "$A B",
        ] {
            assert!(name.parse::<FileName>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_name_reads_back_what_it_shows() {
        for name in ["/etc/token", "$TOKEN", "$HOME/.aws/config"] {
            assert_eq!(name.parse::<FileName>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn what_is_too_large_or_no_file_is_not_read() {
        let kind = |environment: &dyn Environment, path: &str| {
            environment
                .file(Path::new(path))
                .map(|content| content.len())
                .map_err(|error| error.kind())
        };
        let size = usize::try_from(MAX_FILE_BYTES).unwrap();
        let fixed = FixedEnvironment::default()
            .file("/fits", vec![0; size])
            .file("/more", vec![0; size + 1]);
        assert_eq!(kind(&fixed, "/fits"), Ok(size));
        assert_eq!(kind(&fixed, "/more"), Err(io::ErrorKind::FileTooLarge));
        assert_eq!(kind(&fixed, "/none"), Err(io::ErrorKind::NotFound));
        for path in ["/", "/dev/zero"] {
            assert!(kind(&ProcessEnvironment, path).is_err(), "{path}");
        }
    }

    #[test]
    fn no_debug_shows_a_value() {
        let environment = FixedEnvironment::default()
            .variable("SECRET", "canary")
            .file("/secret", "canary");
        assert!(!format!("{environment:?}").contains("canary"));
    }
}
