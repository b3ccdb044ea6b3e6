//! Where the Workload API listens (SPIFFE Workload Endpoint §4, "Locating the Endpoint").

use crate::failure::Failure;
use crate::terminal;
use spiffe::transport::Endpoint;
use std::fmt;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The variable that the standard names.
pub(crate) const VARIABLE: &str = "SPIFFE_ENDPOINT_SOCKET";
/// `sun_path` holds 108 bytes on Linux, with the zero at its end (unix(7)).
const MAX_PATH: usize = 107;

/// The address of a Workload API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Socket {
    /// A socket in the file system.
    Unix(PathBuf),
    /// An address and a port.
    Tcp(SocketAddr),
}

impl FromStr for Socket {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let wrong = |rule: &str| {
            Failure::configuration(format!("the Workload API's address {text:?} {rule}"))
                .fix(format!("correct {VARIABLE} or --socket"))
        };
        match text.split_once("://") {
            Some(("unix", path)) => unix(path).map_err(wrong),
            Some(("tcp", address)) => tcp(address).map_err(wrong),
            _ => Err(wrong("must be unix:///PATH or tcp://IP:PORT")),
        }
    }
}

/// The path, which a URI without authority, query and fragment has. What is percent-encoded is read
/// differently by different clients, and no agent needs it.
fn unix(path: &str) -> Result<Socket, &'static str> {
    if !path.starts_with('/') {
        return Err("must have an absolute path: unix:///PATH");
    }
    if path.contains(['?', '#', '%']) || path.chars().any(char::is_control) {
        return Err("must have a path without ?, #, % and control characters");
    }
    if path.ends_with('/') {
        return Err("must end in the name of a socket");
    }
    let path = Path::new(path);
    match path.as_os_str().as_bytes().len() <= MAX_PATH {
        true => Ok(Socket::Unix(path.to_owned())),
        false => Err("must have a path of at most 107 bytes"),
    }
}

fn tcp(address: &str) -> Result<Socket, &'static str> {
    match address.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Ok(Socket::Tcp(address)),
        _ => Err("must be an IP address and a port, and nothing else: tcp://IP:PORT"),
    }
}

impl Socket {
    /// The address as the client's library has it.
    pub(super) fn endpoint(&self) -> Endpoint {
        match self {
            Self::Unix(path) => Endpoint::Unix(path.clone()),
            Self::Tcp(address) => Endpoint::Tcp {
                host: address.ip(),
                port: address.port(),
            },
        }
    }

    /// Says that keys and tokens would cross a network in the clear: the standard asks for no TLS.
    pub(super) fn warn(&self) {
        if let Self::Tcp(address) = self
            && !address.ip().is_loopback()
        {
            terminal::talk(&format!(
                "warning: {self} is not on this machine, and nothing on the way there is encrypted\n"
            ));
        }
    }

    /// Refuses a file that is none, before anybody waits for it.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let Self::Unix(path) = self else {
            return Ok(());
        };
        let mend = format!(
            "start the agent, mount its socket into this pod, or correct {VARIABLE} or --socket"
        );
        let metadata = std::fs::metadata(path).map_err(|error| {
            Failure::configuration(format!("there is no Workload API at {self}"))
                .because(error)
                .fix(mend.clone())
        })?;
        match metadata.file_type().is_socket() {
            true => Ok(()),
            false => Err(Failure::configuration(format!(
                "there is no Workload API at {self}: it is not a socket"
            ))
            .fix(mend)),
        }
    }
}

impl fmt::Display for Socket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "unix://{}", path.display()),
            Self::Tcp(address) => write!(formatter, "tcp://{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    #[test]
    fn an_address_is_a_path_or_an_ip_address_and_a_port() {
        for text in [
            "unix:///run/spire/agent.sock",
            "unix:///a",
            "unix:///run/with space/a.sock",
            "tcp://127.0.0.1:8081",
            "tcp://10.1.2.3:1",
            "tcp://[::1]:8081",
        ] {
            let socket: Socket = text.parse().unwrap();
            assert_eq!(socket.to_string(), text);
        }
        let longest = format!("unix:///{}", "a".repeat(MAX_PATH - 1));
        assert!(longest.parse::<Socket>().is_ok());
        assert!(format!("{longest}a").parse::<Socket>().is_err());
    }

    #[test]
    fn everything_else_is_refused_with_the_rule() {
        for text in [
            "",
            "/run/agent.sock",
            "unix:/run/agent.sock",
            "unix://run/agent.sock",
            "unix://host/run/agent.sock",
            "unix://",
            "unix:///",
            "unix:///run/",
            "unix:///run/agent.sock?x",
            "unix:///run/agent.sock#x",
            "unix:///run/%61",
            "unix:///run/a\u{1b}",
            "UNIX:///run/agent.sock",
            "tcp:127.0.0.1:80",
            "tcp://127.0.0.1",
            "tcp://127.0.0.1:0",
            "tcp://127.0.0.1:65536",
            "tcp://127.0.0.1:80/",
            "tcp://127.0.0.1:80?x",
            "tcp://localhost:80",
            "tcp://user@127.0.0.1:80",
            "tcp://127.1:80",
            "tcp://::1:80",
            "http://127.0.0.1:80",
        ] {
            let failure = text.parse::<Socket>().unwrap_err();
            assert_eq!(exit::code(&failure), 3, "{text}");
            assert!(failure.to_string().contains(" must "), "{text}: {failure}");
            assert!(failure.report().contains(VARIABLE), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_socket_is_not_dialled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.sock");
        let socket = Socket::Unix(path.clone());
        assert_eq!(exit::code(&socket.check().unwrap_err()), 3);
        std::fs::write(&path, "").unwrap();
        let failure = socket.check().unwrap_err();
        assert!(failure.report().contains("not a socket"), "{failure:?}");
        std::fs::remove_file(&path).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        socket.check().unwrap();
    }
}
