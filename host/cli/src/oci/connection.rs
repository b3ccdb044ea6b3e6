//! A client of one registry: how it is dialled, and whom it trusts.

use super::address::Address;
use super::login::Login;
use super::relay::{Relay, Timeouts};
use crate::arguments::Access;
use crate::failure::Failure;
use crate::request;
use gatepass::CaBundle;
use oci_client::client::{Certificate, CertificateEncoding, Client, ClientConfig, ClientProtocol};
use std::time::Duration;

/// How long the registry may take to accept a connection, and to send the next bytes.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    read: Duration::from_secs(60),
};
/// How long the client keeps a bearer token that does not say its expiry. Ours are replaced by us.
const KEEP_BEARER: usize = 24 * 60 * 60;
/// The same for what a token service issues (Docker's token specification: 60 s unless it says more).
const KEEP_ISSUED: usize = 60;

/// Makes the client, with a relay if the login is a certificate.
pub(crate) async fn open(
    protocol: ClientProtocol,
    address: &Address,
    access: &Access,
    login: &Login,
) -> Result<(Client, Option<Relay>), Failure> {
    let authorities = authorities(access)?;
    let relay = match login {
        Login::Certificate(certificate) => {
            Some(Relay::start(address.host(), &authorities, TIMEOUTS, certificate).await?)
        }
        _ => None,
    };
    let direct = config(protocol, authorities, login);
    let config = match &relay {
        None => direct,
        Some(relay) => through(relay, address, direct),
    };
    let client = Client::try_from(config).map_err(|error| {
        Failure::configuration("cannot make a client of the registry").because(error)
    })?;
    Ok((client, relay))
}

fn config(protocol: ClientProtocol, authorities: Vec<Certificate>, login: &Login) -> ClientConfig {
    ClientConfig {
        protocol,
        extra_root_certificates: authorities,
        connect_timeout: Some(TIMEOUTS.connect),
        read_timeout: Some(TIMEOUTS.read),
        user_agent: concat!("gatepass/", env!("CARGO_PKG_VERSION")),
        default_token_expiration_secs: match login {
            Login::Bearer(_) => KEEP_BEARER,
            _ => KEEP_ISSUED,
        },
        ..ClientConfig::default()
    }
}

/// Over the proxy that shows the certificate. What is plain http for the client never leaves the process.
fn through(relay: &Relay, address: &Address, config: ClientConfig) -> ClientConfig {
    ClientConfig {
        protocol: ClientProtocol::HttpsExcept(vec![address.host().to_owned()]),
        http_proxy: Some(relay.url().expose().to_owned()),
        ..config
    }
}

/// https, save for this very machine where the caller says so.
pub(crate) fn protocol(address: &Address, access: &Access) -> Result<ClientProtocol, Failure> {
    match (access.plain_http, address.is_loopback()) {
        (false, _) => Ok(ClientProtocol::Https),
        (true, true) => Ok(ClientProtocol::HttpsExcept(vec![address.host().to_owned()])),
        (true, false) => Err(Failure::usage(format!(
            "--plain-http is for registries on this machine, and {} is not one: everybody on the way could read the login",
            address.host()
        ))
        .fix("give the registry a certificate, and --registry-ca-file if a private authority signs it")),
    }
}

fn authorities(access: &Access) -> Result<Vec<Certificate>, Failure> {
    let Some(path) = &access.registry_ca_file else {
        return Ok(Vec::new());
    };
    let bundle: CaBundle = request::read_ca("--registry-ca-file", path)?.parse()?;
    let certificate = |data: &Vec<u8>| Certificate {
        encoding: CertificateEncoding::Der,
        data: data.clone(),
    };
    Ok(bundle.certificates().iter().map(certificate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for (host, plain_http, expected) in [
            ("r.example", false, Some(true)),
            ("127.0.0.1:5000", false, Some(true)),
            ("127.0.0.1:5000", true, Some(false)),
            ("r.example", true, None),
            ("10.0.0.1", true, None),
        ] {
            let address = Address::to_push(&format!("{host}/a:v1")).unwrap();
            let access = Access {
                plain_http,
                ..Access::default()
            };
            let protocol = protocol(&address, &access).ok();
            let is_https = protocol.map(|protocol| matches!(protocol, ClientProtocol::Https));
            assert_eq!(is_https, expected, "{host} {plain_http}");
        }
    }
}
