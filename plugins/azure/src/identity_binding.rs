//! The token proxy of AKS identity bindings: the API server of the cluster passes the request for
//! a token on to Entra, so that many clusters share one federated credential.
//!
//! AKS's webhook gives the pod the proxy's address, and the name by which TLS must know it
//! (learn.microsoft.com/azure/aks/identity-bindings-concepts). A provider has no say in TLS, so the
//! request goes to that name, which is then in its `Host` header too; Azure's SDKs have the proxy's
//! address there, and the proxy tells clusters apart by TLS. The operator maps the name to the proxy's
//! address (`connect-to`) and gives the proxy's certificate authority with the request.

use crate::discover::variable;
use crate::principal::Principal;
use gatepass_sdk::{Authority, Error, Host};

/// The proxy's URL.
pub(crate) const PROXY_VARIABLE: &str = "AZURE_KUBERNETES_TOKEN_PROXY";

/// The proxy's name in TLS.
pub(crate) const NAME_VARIABLE: &str = "AZURE_KUBERNETES_SNI_NAME";

/// The proxy's certificate authority: the one or the other.
pub(crate) const CA_VARIABLES: [&str; 2] = ["AZURE_KUBERNETES_CA_FILE", "AZURE_KUBERNETES_CA_DATA"];

/// The last labels of every proxy's name; one label stands before them.
const NAME_SUFFIX: &str = "ests.aks";

/// What the names of all proxies are, as a wish.
pub(crate) const WISH: &str = "https://*.ests.aks";

/// A proxy, by the name that TLS knows it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proxy {
    name: String,
    path: String,
}

impl Proxy {
    /// The proxy that the environment names, if it names one.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if the variables contradict each other or are not what they must
    /// be; `unsupported` for a proxy without a name of its own.
    pub(crate) fn discover(host: &dyn Host) -> Result<Option<Self>, Error> {
        let set = |name: &&str| variable(host, name).is_some();
        let Some(url) = variable(host, PROXY_VARIABLE) else {
            let others = [NAME_VARIABLE].into_iter().chain(CA_VARIABLES);
            return match others.into_iter().find(set) {
                None => Ok(None),
                Some(other) => Err(Error::invalid_configuration(format!(
                    "{other} has no effect without {PROXY_VARIABLE}: set both or neither"
                ))),
            };
        };
        if CA_VARIABLES.iter().all(set) {
            return Err(Error::invalid_configuration(format!(
                "{} exclude each other: remove one of them",
                CA_VARIABLES.join(" and ")
            )));
        }
        let path = path(&url)?;
        let Some(name) = variable(host, NAME_VARIABLE) else {
            return Err(Error::unsupported(format!(
                "{PROXY_VARIABLE} without {NAME_VARIABLE} is not supported: only proxies of AKS, NAME.{NAME_SUFFIX}, are known hosts"
            )));
        };
        Ok(Some(Self {
            name: self::name(&name)?,
            path,
        }))
    }

    /// Where the proxy takes the requests that are for Entra: at Entra's own path, behind the
    /// proxy's.
    pub(crate) fn endpoint(&self, principal: &Principal) -> String {
        format!(
            "https://{}{}/{}/oauth2/v2.0/token",
            self.name, self.path, principal.tenant
        )
    }
}

/// The path of the proxy's URL, without a slash at its end. Its host is where the operator's
/// `connect-to` leads.
fn path(url: &str) -> Result<String, Error> {
    let refuse = || {
        Error::invalid_configuration(format!(
            "{PROXY_VARIABLE} must be https://HOST[:PORT][/PATH], without user, query and fragment"
        ))
    };
    let rest = url.strip_prefix("https://").ok_or_else(refuse)?;
    let (authority, path) = rest
        .find('/')
        .and_then(|at| rest.split_at_checked(at))
        .unwrap_or((rest, ""));
    Authority::parse(authority).ok_or_else(refuse)?;
    let path = path.trim_end_matches('/');
    let plain = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    if !path.split('/').skip(1).all(plain) {
        return Err(refuse());
    }
    Ok(path.into())
}

fn name(text: &str) -> Result<String, Error> {
    let known = Authority::parse(text).filter(|name| {
        let label = name.host().split_once('.');
        name.port().is_none() && label.is_some_and(|(_, suffix)| suffix == NAME_SUFFIX)
    });
    known.map(|name| name.host().to_owned()).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "{NAME_VARIABLE} '{}' must be one label and .{NAME_SUFFIX}",
            text.escape_debug()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::ErrorCode;
    use gatepass_sdk::testing::ScriptedHost;

    const PROXY: &str = "https://10.0.0.1:6443";
    const NAME: &str = "abc123.ests.aks";

    fn host(variables: &[(&str, &str)]) -> ScriptedHost {
        variables
            .iter()
            .fold(ScriptedHost::new(), |host, (name, value)| {
                host.variable(name, value)
            })
    }

    #[test]
    fn the_request_goes_to_the_name_that_tls_knows() {
        let client = "11111111-aaaa-4bbb-8ccc-222222222222";
        let principal = Principal::parse("identity", &format!("contoso.com/{client}")).unwrap();
        for (url, expected) in [
            (
                PROXY,
                "https://abc123.ests.aks/contoso.com/oauth2/v2.0/token",
            ),
            (
                "https://kubernetes.default.svc/",
                "https://abc123.ests.aks/contoso.com/oauth2/v2.0/token",
            ),
            (
                "https://a.example/p/q-1/",
                "https://abc123.ests.aks/p/q-1/contoso.com/oauth2/v2.0/token",
            ),
        ] {
            let host = host(&[(PROXY_VARIABLE, url), (NAME_VARIABLE, "ABC123.ests.aks")]);
            let proxy = Proxy::discover(&host).unwrap().unwrap();
            assert_eq!(proxy.endpoint(&principal), expected);
        }
        assert_eq!(Proxy::discover(&ScriptedHost::new()), Ok(None));
    }

    #[test]
    fn variables_that_do_not_fit_together_are_refused() {
        let [file, data] = CA_VARIABLES;
        let long = format!("{}.ests.aks", "a".repeat(64));
        for (variables, word) in [
            (vec![(NAME_VARIABLE, NAME)], PROXY_VARIABLE),
            (vec![(file, "/ca.crt")], PROXY_VARIABLE),
            (vec![(data, "x")], PROXY_VARIABLE),
            (
                vec![
                    (PROXY_VARIABLE, PROXY),
                    (NAME_VARIABLE, NAME),
                    (file, "/ca.crt"),
                    (data, "x"),
                ],
                "exclude",
            ),
            (
                vec![(PROXY_VARIABLE, "http://a"), (NAME_VARIABLE, NAME)],
                "https",
            ),
            (
                vec![(PROXY_VARIABLE, "https://"), (NAME_VARIABLE, NAME)],
                "https",
            ),
            (
                vec![(PROXY_VARIABLE, "https://u@a"), (NAME_VARIABLE, NAME)],
                "without user",
            ),
            (
                vec![(PROXY_VARIABLE, "https://a/?q"), (NAME_VARIABLE, NAME)],
                "query",
            ),
            (
                vec![(PROXY_VARIABLE, "https://a/../b"), (NAME_VARIABLE, NAME)],
                "https",
            ),
            (
                vec![(PROXY_VARIABLE, "https://a//b"), (NAME_VARIABLE, NAME)],
                "https",
            ),
            (
                vec![(PROXY_VARIABLE, PROXY), (NAME_VARIABLE, "evil.example")],
                "evil.example",
            ),
            (
                vec![(PROXY_VARIABLE, PROXY), (NAME_VARIABLE, "a.b.ests.aks")],
                "one label",
            ),
            (
                vec![(PROXY_VARIABLE, PROXY), (NAME_VARIABLE, "ests.aks")],
                "one label",
            ),
            (
                vec![(PROXY_VARIABLE, PROXY), (NAME_VARIABLE, "a.ests.aks:8443")],
                "one label",
            ),
            (
                vec![(PROXY_VARIABLE, PROXY), (NAME_VARIABLE, &long)],
                "one label",
            ),
        ] {
            let error = Proxy::discover(&host(&variables)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
            assert!(error.message().contains(word), "{error}");
        }
    }

    #[test]
    fn a_proxy_without_a_name_is_unsupported() {
        let error = Proxy::discover(&host(&[(PROXY_VARIABLE, PROXY)])).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unsupported);
        assert!(error.message().contains(NAME_VARIABLE), "{error}");
    }
}
