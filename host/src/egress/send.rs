//! Sends requests of providers: the one place that knows the HTTP client.

use super::{
    ConnectTo, EgressError, EgressLimits, Incoming, Outgoing, Refusal, address, allowed_host,
    assemble,
};
use crate::error::Error;
use crate::secret::Secret;
use crate::transport::{CaBundle, Transport};
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};
use zeroize::Zeroizing;

/// How the host reaches the world, for all plugins.
#[derive(Clone, Debug)]
pub struct Network {
    /// Where connections go instead.
    pub connect_to: ConnectTo,
    /// Authorities that are trusted beside those of the system.
    pub ca: Option<CaBundle>,
    /// Whether the system's authorities are trusted. True if not set.
    pub system_authorities: bool,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            connect_to: ConnectTo::default(),
            ca: None,
            system_authorities: true,
        }
    }
}

/// What one plugin may reach.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Hosts that are both granted and wished for: a URL must be permitted by one of each.
    pub(crate) granted: Vec<super::AllowedHost>,
    pub(crate) wished: Vec<super::AllowedHost>,
    /// Whether the plugin wishes for hosts that only the operator knows.
    pub(crate) wishes_any: bool,
    /// Networks that may be dialled though they are not public.
    pub(crate) networks: Arc<[IpNet]>,
}

impl Reach {
    /// The same without the hosts that serve a machine its own identity, the only ones that are reached
    /// over plain HTTP.
    pub(crate) fn without_metadata(&self) -> Self {
        let mut reach = self.clone();
        reach.granted.retain(|host| !host.is_metadata());
        reach
    }

    /// Whether a URL may be sent to.
    pub(crate) fn permits(&self, url: &Url) -> Result<(), EgressError> {
        let origin = shown(url);
        if !self.granted.iter().any(|allowed| allowed.permits(url)) {
            return Err(EgressError::not_granted(format!(
                "{origin} is not granted to this plugin"
            )));
        }
        let wished = self.wishes_any || self.wished.iter().any(|allowed| allowed.permits(url));
        if !wished {
            return Err(EgressError::not_granted(format!(
                "{origin} is granted, but the plugin's description does not ask for it"
            )));
        }
        Ok(())
    }
}

/// What a connection pool is for: pools are never shared between plugins, nor between transports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PoolKey {
    plugin: Arc<str>,
    transport: Transport,
    /// The host of a rule of `connect-to`, its port and the address.
    rule: Option<(String, SocketAddr)>,
}

/// The most pools that are kept, and how long an idle one stays. A tenant chooses proxy and
/// authorities, so that their number has no bound of its own.
const MAX_POOLS: u64 = 256;
const IDLE_POOL: Duration = Duration::from_secs(300);

/// Sends requests. Cloning shares the pools.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    network: Arc<Network>,
    limits: EgressLimits,
    pools: moka::future::Cache<PoolKey, reqwest::Client>,
}

impl Sender {
    pub(crate) fn new(network: Network, limits: EgressLimits) -> Self {
        Self {
            network: Arc::new(network),
            limits,
            pools: moka::future::Cache::builder()
                .max_capacity(MAX_POOLS)
                .time_to_idle(IDLE_POOL)
                .build(),
        }
    }

    /// Judges and sends one request, and reads the whole answer within the limits.
    pub(crate) async fn send(
        &self,
        plugin: &Arc<str>,
        reach: &Reach,
        transport: &Transport,
        token: Option<&Secret>,
        outgoing: Outgoing,
    ) -> Result<Incoming, EgressError> {
        let url = allowed_host::parse_url(&outgoing.url).map_err(EgressError::invalid)?;
        reach.permits(&url)?;
        // Metadata is the machine's own, and in the clear: neither a proxy nor a token comes near it.
        let (direct, metadata) = (Transport::default(), url.scheme() == "http");
        let (transport, token) = if metadata {
            (&direct, None)
        } else {
            (transport, token)
        };
        let rule = self.rule(transport, &url);
        let mut prepared = self.prepare(&outgoing, token)?;
        let dialled = addressed(&url, &mut prepared.headers, rule.as_ref())?;
        let client = self.client(plugin, reach, transport, rule).await?;
        let timeout = outgoing.timeout.map_or(self.limits.request_timeout, |own| {
            own.min(self.limits.request_timeout)
        });
        match tokio::time::timeout(timeout, self.exchange(&client, &dialled, prepared)).await {
            Ok(answer) => answer.map(|incoming| incoming.without(token)),
            Err(_) => Err(EgressError::new(
                Refusal::TimedOut,
                format!(
                    "{} gave no whole answer within {} ms",
                    shown(&url),
                    timeout.as_millis()
                ),
            )),
        }
    }

    fn prepare(
        &self,
        outgoing: &Outgoing,
        token: Option<&Secret>,
    ) -> Result<Prepared, EgressError> {
        let method = match outgoing.method.as_str() {
            "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" => {
                reqwest::Method::from_bytes(outgoing.method.as_bytes())
            }
            _ => {
                return Err(EgressError::invalid(
                    "the method is none that this host sends",
                ));
            }
        };
        let method = method.map_err(|_| EgressError::invalid("the method is not valid"))?;
        let body = assemble(&outgoing.body, token, self.limits.max_request_bytes)?;
        let mut headers = headers(&outgoing.headers, token)?;
        if body.is_empty() && expects_a_body(&method) {
            headers.insert(
                reqwest::header::CONTENT_LENGTH,
                HeaderValue::from_static("0"),
            );
        }
        Ok(Prepared {
            method,
            headers,
            body,
        })
    }

    async fn exchange(
        &self,
        client: &reqwest::Client,
        url: &Url,
        prepared: Prepared,
    ) -> Result<Incoming, EgressError> {
        let mut response = client
            .request(prepared.method, url.clone())
            .headers(prepared.headers)
            .body(prepared.body.to_vec())
            .send()
            .await
            .map_err(|error| unreachable(url, &error))?;
        let mut body = Zeroizing::new(Vec::new());
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| unreachable(url, &error))?
        {
            if body.len() + chunk.len() > self.limits.max_response_bytes {
                return Err(EgressError::new(
                    Refusal::TooLarge,
                    format!(
                        "{} answered more than {} bytes",
                        shown(url),
                        self.limits.max_response_bytes
                    ),
                ));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Incoming {
            status: response.status().as_u16(),
            headers: received(response.headers()),
            body,
        })
    }

    /// The rule of `connect-to` for this URL. A proxy dials by itself, so that no rule holds with one.
    fn rule(&self, transport: &Transport, url: &Url) -> Option<(String, SocketAddr)> {
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        let address = self.network.connect_to.address(host, port)?;
        transport
            .proxy
            .is_none()
            .then(|| (host.to_owned(), address))
    }

    async fn client(
        &self,
        plugin: &Arc<str>,
        reach: &Reach,
        transport: &Transport,
        rule: Option<(String, SocketAddr)>,
    ) -> Result<reqwest::Client, EgressError> {
        let key = PoolKey {
            plugin: Arc::clone(plugin),
            transport: transport.clone(),
            rule,
        };
        let build = async { self.build(&key, &reach.networks) };
        self.pools
            .try_get_with(key.clone(), build)
            .await
            .map_err(|error: Arc<EgressError>| EgressError::clone(&error))
    }

    fn build(
        &self,
        key: &PoolKey,
        networks: &Arc<[IpNet]>,
    ) -> Result<reqwest::Client, EgressError> {
        let broken = |error: reqwest::Error| {
            EgressError::new(
                Refusal::Unreachable,
                format!("cannot set up a connection pool: {}", error.without_url()),
            )
        };
        let authorities = [&self.network.ca, &key.transport.ca];
        let mut certificates = Vec::new();
        for der in authorities
            .into_iter()
            .flatten()
            .flat_map(CaBundle::certificates)
        {
            certificates.push(reqwest::Certificate::from_der(der).map_err(broken)?);
        }
        let builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .retry(reqwest::retry::never())
            .user_agent(concat!("gatepass/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(CheckedResolver {
                networks: Arc::clone(networks),
            });
        let builder = match self.network.system_authorities {
            true => builder.tls_certs_merge(certificates),
            false => builder.tls_certs_only(certificates),
        };
        let builder = match &key.transport.proxy {
            None => builder,
            Some(proxy) => {
                check_proxy(proxy.expose(), networks)?;
                builder.proxy(reqwest::Proxy::all(proxy.expose().clone()).map_err(broken)?)
            }
        };
        let builder = match &key.rule {
            None => builder,
            Some((host, address)) => builder.resolve(host, *address),
        };
        builder.build().map_err(broken)
    }
}

/// Whether an empty body must be told as such (RFC 9110 §8.6): servers answer 411 otherwise.
fn expects_a_body(method: &reqwest::Method) -> bool {
    matches!(
        *method,
        reqwest::Method::POST | reqwest::Method::PUT | reqwest::Method::PATCH
    )
}

struct Prepared {
    method: reqwest::Method,
    headers: HeaderMap,
    body: Zeroizing<Vec<u8>>,
}

/// What is dialled under a rule of `connect-to`. Over TLS the name stays, since the certificate is
/// checked against it, and the resolver answers the rule's address; a port in the URL would override the
/// rule's. In the clear, where a host may be an address that no resolver is asked for, the rule's address
/// takes its place. Either way the other side reads in `Host` where the request was meant for.
fn addressed(
    url: &Url,
    headers: &mut HeaderMap,
    rule: Option<&(String, SocketAddr)>,
) -> Result<Url, EgressError> {
    let mut dialled = url.clone();
    let (Some(host), Some((_, address))) = (url.host_str(), rule) else {
        return Ok(dialled);
    };
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let authority = HeaderValue::from_str(&authority)
        .map_err(|_| EgressError::invalid("the host is not valid in a header"))?;
    headers.insert(reqwest::header::HOST, authority);
    let moved = match url.scheme() {
        "http" => dialled
            .set_ip_host(address.ip())
            .and_then(|()| dialled.set_port(Some(address.port()))),
        _ => dialled.set_port(None),
    };
    moved.map_err(|()| EgressError::invalid("the address of the rule does not fit the URL"))?;
    Ok(dialled)
}

/// Headers that the host sets itself, and those that would change how the message is framed or
/// where it goes (RFC 9110 §7.6.1, RFC 9112 §6).
const RESERVED: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The most headers of one request, and the most bytes of their values: servers take 8 to 64 KiB.
const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 64 << 10;

fn headers(
    headers: &[(String, Vec<super::Segment>)],
    token: Option<&Secret>,
) -> Result<HeaderMap, EgressError> {
    if headers.len() > MAX_HEADERS {
        return Err(EgressError::invalid(format!(
            "{} headers are more than {MAX_HEADERS}",
            headers.len()
        )));
    }
    let mut map = HeaderMap::new();
    let mut budget = MAX_HEADER_BYTES;
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| EgressError::invalid("a header's name is not valid"))?;
        if RESERVED.contains(&name.as_str()) {
            return Err(EgressError::invalid(format!(
                "the header {name} is the host's to set"
            )));
        }
        let value = assemble(value, token, budget)?;
        budget = budget.saturating_sub(value.len());
        let mut value = HeaderValue::from_bytes(&value).map_err(|_| {
            EgressError::invalid(format!("the value of header {name} is not valid"))
        })?;
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

/// Headers of an answer as text; one that is not text is left out.
fn received(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        })
        .collect()
}

/// Scheme, host and port: a path may name a tenant's resources, and a query may be signed.
fn shown(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The client's own words may quote the URL, so that only their kind is told, and the innermost cause,
/// which speaks of sockets and certificates.
fn unreachable(url: &Url, error: &reqwest::Error) -> EgressError {
    let what = match () {
        () if error.is_timeout() => "timed out",
        () if error.is_connect() => "cannot be reached",
        () if error.is_body() || error.is_decode() => "broke off its answer",
        () => "gave no valid answer",
    };
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if let Some(refused) = cause.downcast_ref::<AddressRefused>() {
        return EgressError::not_granted(refused.to_string());
    }
    EgressError::new(
        Refusal::Unreachable,
        format!("{} {what}: {cause}", shown(url)),
    )
}

/// A proxy that is an address is dialled without resolving, so that it is judged here; one that is a
/// name is judged by the resolver.
fn check_proxy(proxy: &Url, networks: &[IpNet]) -> Result<(), EgressError> {
    let address: IpAddr = match proxy.host() {
        Some(Host::Ipv4(v4)) => v4.into(),
        Some(Host::Ipv6(v6)) => v6.into(),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    if address::permits(address, networks) {
        return Ok(());
    }
    Err(EgressError::not_granted(format!(
        "the proxy's address {address} is not public, and its network is not granted to this plugin"
    )))
}

/// Resolves a name once, refuses it if **any** of its addresses is not permitted, and hands the checked
/// addresses to the connector, which dials exactly those.
struct CheckedResolver {
    networks: Arc<[IpNet]>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let networks = Arc::clone(&self.networks);
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let refused = found.iter().find(|found| {
                let metadata = allowed_host::is_metadata_address(name.as_str(), found.ip());
                !metadata && !address::permits(found.ip(), &networks)
            });
            if let Some(refused) = refused {
                let host = name.as_str().to_owned();
                let address = refused.ip();
                return Err(AddressRefused { host, address }.into());
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "{host} resolves to {address}, which is not public, and its network is not granted to this plugin"
)]
struct AddressRefused {
    host: String,
    address: IpAddr,
}

/// Why the network's configuration is refused, told when the host is built.
pub(crate) fn check(network: &Network) -> Result<(), Error> {
    if network.system_authorities || network.ca.is_some() {
        return Ok(());
    }
    Err(Error::configuration(
        "without the system's authorities the host needs authorities of its own: set ca",
    ))
}

#[cfg(test)]
mod tests;
