//! `gatepass workload-api`: the identity that an agent on this machine has attested, by the SPIFFE
//! Workload API (<https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE_Workload_API.md>).

mod client;
mod files;
mod jwt;
mod login;
mod pem;
mod refusal;
mod socket;
mod svid;
mod x509;

pub(crate) use login::{Identity, Kind};
pub(crate) use socket::VARIABLE;

use crate::arguments::{Endpoint, Global, WorkloadApi};
use crate::failure::Failure;
use client::Client;
use socket::Socket;

/// Asks for what a command wants.
pub(crate) async fn run(global: &Global, command: &WorkloadApi) -> Result<(), Failure> {
    match command {
        WorkloadApi::Jwt(flags) => jwt::run(global, flags).await,
        WorkloadApi::X509(flags) => x509::run(global, flags).await,
    }
}

/// A client of the endpoint that the flags name. Nothing is dialled yet.
fn client(endpoint: &Endpoint) -> Result<Client, Failure> {
    let named = endpoint.socket.as_deref().filter(|text| !text.is_empty());
    let address = named.ok_or_else(|| {
        Failure::configuration("nothing says where the SPIFFE Workload API listens").fix(format!(
            "set {VARIABLE} or give --socket, such as unix:///run/spire/agent-sockets/api.sock"
        ))
    })?;
    let socket: Socket = address.parse()?;
    socket.warn();
    Ok(Client::new(socket, endpoint.timeout.0))
}
