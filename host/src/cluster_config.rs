//! The ConfigMap by which an object names a remote cluster: `spec.kubeConfig.configMapRef` of RFC-0010.

use crate::credential::ClusterReference;
use crate::error::Error;
use crate::request::{CredentialRequest, CredentialRequestBuilder, check_list, check_text};
use crate::service_account::ServiceAccountName;
use crate::subject::Namespace;
use crate::transport::CaBundle;
use std::collections::BTreeMap;

const PROVIDER: &str = "provider";
const CLUSTER: &str = "cluster";
const ADDRESS: &str = "address";
const SERVICE_ACCOUNT: &str = "serviceAccountName";
const AUDIENCES: &str = "audiences";
const CA: &str = "ca.crt";

/// Every key, in the order of the RFC.
const KEYS: [&str; 6] = [PROVIDER, CLUSTER, ADDRESS, SERVICE_ACCOUNT, AUDIENCES, CA];

/// The one provider that looks nothing up: it knows a cluster by its address, and by no other name.
const GENERIC: &str = "generic";

/// The most text of `audiences`. A request takes 64 of them, and real ones are URLs.
const MAX_AUDIENCES: usize = 64 << 10;

/// A remote cluster and how to log in to it, as a ConfigMap says it.
///
/// ```
/// use gatepass::{ClusterConfig, Namespace};
/// use std::collections::BTreeMap;
///
/// let data = BTreeMap::from([
///     ("provider".to_owned(), "aws".to_owned()),
///     ("cluster".to_owned(), "arn:aws:eks:eu-central-1:123456789012:cluster/prod".to_owned()),
///     ("serviceAccountName".to_owned(), "deployer".to_owned()),
/// ]);
/// let config = ClusterConfig::from_data(&data)?;
/// // Whatever the ConfigMap says, the account is one of the object's own namespace.
/// let request = config.request(&Namespace::new("team-a")?).build()?;
/// assert_eq!(request.provider(), "aws");
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    provider: String,
    service_account: Option<String>,
    audiences: Vec<String>,
    cluster: ClusterReference,
}

impl ClusterConfig {
    /// Reads `data` of a ConfigMap. White space around a value counts for nothing.
    ///
    /// # Errors
    ///
    /// `Configuration`, naming the key and the rule: a key is unknown or empty, `provider` is missing, or
    /// the cluster is not known by what the RFC wants: `cluster` alone or with one of `address` and
    /// `ca.crt`, or these two without it; `address`, with or without `ca.crt`, for `generic`.
    pub fn from_data(data: &BTreeMap<String, String>) -> Result<Self, Error> {
        check_keys(data)?;
        let provider = value(data, PROVIDER)?.ok_or_else(|| {
            Error::configuration("provider is missing: it says who logs in to the cluster")
        })?;
        check_text(PROVIDER, Some(provider))?;
        let cluster = cluster(data)?;
        check_matrix(provider, &cluster)?;
        cluster.check()?;
        let service_account = value(data, SERVICE_ACCOUNT)?;
        if let Some(name) = service_account {
            check_account(name)?;
        }
        let audiences = value(data, AUDIENCES)?.map(audiences).transpose()?;
        Ok(Self {
            provider: provider.to_owned(),
            service_account: service_account.map(str::to_owned),
            audiences: audiences.unwrap_or_default(),
            cluster,
        })
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The name of the ServiceAccount on whose behalf to log in.
    #[must_use]
    pub fn service_account(&self) -> Option<&str> {
        self.service_account.as_deref()
    }

    /// Audiences of its token; empty: the provider's own.
    #[must_use]
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &ClusterReference {
        &self.cluster
    }

    /// Begins the request that goes with [`cluster`](Self::cluster), for an object in this namespace. The
    /// account is one of that namespace: a ConfigMap cannot name another's.
    pub fn request(&self, namespace: &Namespace) -> CredentialRequestBuilder {
        let request = CredentialRequest::builder(&self.provider).audiences(&self.audiences);
        match &self.service_account {
            Some(name) => request.service_account(namespace.as_str(), name),
            None => request.namespace(namespace.as_str()),
        }
    }
}

fn check_keys(data: &BTreeMap<String, String>) -> Result<(), Error> {
    match data.keys().find(|key| !KEYS.contains(&key.as_str())) {
        None => Ok(()),
        Some(unknown) => Err(Error::configuration(format!("key {unknown:?} is unknown"))
            .remedy(format!("write one of {}", KEYS.join(", ")))),
    }
}

fn value<'a>(data: &'a BTreeMap<String, String>, key: &str) -> Result<Option<&'a str>, Error> {
    match data.get(key).map(|text| text.trim()) {
        Some("") => Err(Error::configuration(format!(
            "{key} must not be empty: leave it out"
        ))),
        value => Ok(value),
    }
}

fn cluster(data: &BTreeMap<String, String>) -> Result<ClusterReference, Error> {
    let ca = value(data, CA)?.map(str::parse::<CaBundle>).transpose();
    Ok(ClusterReference {
        name: value(data, CLUSTER)?.map(str::to_owned),
        address: value(data, ADDRESS)?.map(str::to_owned),
        ca: ca.map_err(|error| error.during(CA))?,
    })
}

/// "At least two of the three fields", or `cluster` alone, and never all three; `address` is "required for
/// `generic`", which has no use for `cluster` (RFC-0010, "API Changes and Feature Gates").
fn check_matrix(provider: &str, cluster: &ClusterReference) -> Result<(), Error> {
    let given = (
        cluster.name.is_some(),
        cluster.address.is_some(),
        cluster.ca.is_some(),
    );
    let refuse = |rule: &str, remedy: &str| Err(Error::configuration(rule).remedy(remedy));
    match (provider == GENERIC, given) {
        (true, (true, ..)) => refuse(
            "provider generic looks no cluster up, so that cluster must not be given",
            "remove cluster, and write the API server's URL into address",
        ),
        (true, (_, false, _)) => refuse(
            "address is missing, by which provider generic knows the cluster",
            "write the API server's URL into address",
        ),
        (false, (true, true, true)) => refuse(
            "cluster must not be given where address and ca.crt are: there is nothing to look up",
            "remove cluster, or one of address and ca.crt",
        ),
        (false, (false, true, false) | (false, false, true)) => refuse(
            "address and ca.crt say only together, or with cluster, which cluster is meant",
            "add cluster, or the one of address and ca.crt that is missing",
        ),
        (_, (false, false, false)) => refuse(
            "nothing says which cluster is meant",
            "write its name in the cloud's API into cluster, or add address and ca.crt",
        ),
        _ => Ok(()),
    }
}

/// The name is judged without its namespace, which is the object's.
fn check_account(name: &str) -> Result<(), Error> {
    if name.contains('/') {
        return Err(Error::configuration(format!(
            "{SERVICE_ACCOUNT} {name:?} must be a name alone: the account is one of the object's namespace"
        )));
    }
    ServiceAccountName::new("default", name)
        .map(drop)
        .map_err(|error| error.during(SERVICE_ACCOUNT))
}

/// A YAML list of strings, as the RFC has it, or one audience in a line, as the library reads it that the
/// RFC describes.
fn audiences(text: &str) -> Result<Vec<String>, Error> {
    if text.len() > MAX_AUDIENCES {
        return Err(Error::configuration(format!(
            "{AUDIENCES} of {} bytes are more than {MAX_AUDIENCES}",
            text.len()
        )));
    }
    let audiences = match is_list(text) {
        true => listed(text)?,
        false => lines(text),
    };
    if audiences.is_empty() {
        return Err(Error::configuration(format!(
            "{AUDIENCES} must not be empty: leave it out"
        )));
    }
    check_list("audience", &audiences)?;
    Ok(audiences)
}

/// Whether a text is meant as a YAML list, by the first line that says something.
fn is_list(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = first.unwrap_or_default();
    first.starts_with('[') || first.starts_with("---") || first == "-" || first.starts_with("- ")
}

fn listed(text: &str) -> Result<Vec<String>, Error> {
    serde_saphyr::from_str(text).map_err(|error| {
        // The further lines quote the text.
        let error = error.to_string();
        let first = error.lines().next().unwrap_or_default();
        Error::configuration(format!("{AUDIENCES} is no YAML list of strings: {first}"))
    })
}

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::subject::SubjectReference;

    const AUTHORITY: &str = include_str!("../testdata/authority.pem");
    const NAME: (&str, &str) = (CLUSTER, "arn:aws:eks:eu-central-1:123456789012:cluster/c");
    const SERVER: (&str, &str) = (ADDRESS, "https://api.example:6443");
    const TRUST: (&str, &str) = (CA, AUTHORITY);

    fn read(provider: &str, further: &[(&str, &str)]) -> Result<ClusterConfig, Error> {
        let all = [&[(PROVIDER, provider)], further].concat();
        let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        ClusterConfig::from_data(&all.into_iter().map(pair).collect())
    }

    /// What is given, and the words of the refusal: of a cloud's provider, and of generic.
    type Row<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>, Option<&'a str>);

    #[track_caller]
    fn refused(provider: &str, further: &[(&str, &str)], words: &str) {
        let error = read(provider, further).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains(words), "{error} lacks {words}");
    }

    #[test]
    fn a_cluster_is_known_by_what_the_rfc_says() {
        let table: [Row<'_>; 8] = [
            (&[], Some("nothing says"), Some("address is missing")),
            (&[NAME], None, Some("cluster must not")),
            (&[SERVER], Some("only together"), None),
            (&[TRUST], Some("only together"), Some("address is missing")),
            (&[NAME, SERVER], None, Some("cluster must not")),
            (&[NAME, TRUST], None, Some("cluster must not")),
            (&[SERVER, TRUST], None, None),
            (
                &[NAME, SERVER, TRUST],
                Some("cluster must not"),
                Some("cluster must not"),
            ),
        ];
        for (given, cloud, generic) in table {
            for (provider, expected) in [("aws", cloud), ("vendor", cloud), (GENERIC, generic)] {
                match expected {
                    Some(words) => refused(provider, given, words),
                    None => assert!(read(provider, given).is_ok(), "{provider} {given:?}"),
                }
            }
        }
    }

    #[test]
    fn what_is_written_reaches_the_request_and_the_cluster() {
        let config = read(
            "aws",
            &[
                (CLUSTER, " arn:x\n"),
                (ADDRESS, "https://a.example\n"),
                (SERVICE_ACCOUNT, "deployer\n"),
                (AUDIENCES, "- a\n- b\n"),
            ],
        )
        .unwrap();
        assert_eq!(config.cluster().name.as_deref(), Some("arn:x"));
        assert_eq!(
            config.cluster().address.as_deref(),
            Some("https://a.example")
        );
        let request = config.request(&Namespace::new("team").unwrap()).build();
        let request = request.unwrap();
        assert_eq!(request.access().audiences, ["a", "b"]);
        let account = ServiceAccountName::new("team", "deployer").unwrap();
        assert_eq!(
            request.subject(),
            &SubjectReference::ServiceAccount(account)
        );
    }

    #[test]
    fn without_an_account_the_request_is_for_an_object_of_the_namespace() {
        let namespace = Namespace::new("team").unwrap();
        let request = read("aws", &[NAME]).unwrap().request(&namespace).build();
        let expected = SubjectReference::Namespace(namespace);
        assert_eq!(request.unwrap().subject(), &expected);
    }

    #[test]
    fn audiences_are_a_yaml_list_or_lines() {
        for (text, expected) in [
            ("a", Some(&["a"][..])),
            ("a\nb", Some(&["a", "b"])),
            ("  a\r\n\n b \n", Some(&["a", "b"])),
            ("https://a.example:6443", Some(&["https://a.example:6443"])),
            ("- a\n- b", Some(&["a", "b"])),
            ("# for the API server\n- a", Some(&["a"])),
            ("---\n- 'a b'", Some(&["a b"])),
            ("[a, \"b\"]", Some(&["a", "b"])),
            ("[]", None),
            ("[a", None),
            ("- a\nb: c", None),
            ("- [a]", None),
            ("- {a: b}", None),
            ("- a\n- a", None),
            ("a\na", None),
            ("- ''", None),
            ("- \"a\\nb\"", None),
            ("a\u{202e}b", None),
        ] {
            let read = read("aws", &[NAME, (AUDIENCES, text)]);
            assert_eq!(
                read.as_ref().ok().map(|config| config.audiences()),
                expected
                    .map(|all| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
                    .as_deref(),
                "{text:?}: {read:?}"
            );
        }
        refused("aws", &[NAME, (AUDIENCES, &"a\n".repeat(40_000))], "65536");
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        for (provider, further, words) in [
            ("", &[NAME][..], "provider must not be empty"),
            (
                "aws",
                &[NAME, ("Address", "x")],
                "key \"Address\" is unknown",
            ),
            ("aws", &[NAME, ("region", "x")], "key \"region\" is unknown"),
            ("aws", &[(CLUSTER, " \n")], "cluster must not be empty"),
            ("aws", &[NAME, (ADDRESS, "")], "address must not be empty"),
            (
                "aws",
                &[NAME, (SERVICE_ACCOUNT, "")],
                "serviceAccountName must not",
            ),
            (
                "aws",
                &[NAME, (SERVICE_ACCOUNT, "other/admin")],
                "object's namespace",
            ),
            ("aws", &[NAME, (SERVICE_ACCOUNT, "Admin")], "'Admin'"),
            (
                "aws",
                &[NAME, (AUDIENCES, "\n")],
                "audiences must not be empty",
            ),
            ("aws", &[NAME, (CA, "nonsense")], "ca.crt"),
            ("aws", &[(CLUSTER, "a\u{1b}b")], "cluster"),
            ("a\nb", &[NAME], "provider"),
        ] {
            refused(provider, further, words);
        }
        let error = ClusterConfig::from_data(&BTreeMap::new()).unwrap_err();
        assert!(error.to_string().contains("provider is missing"), "{error}");
    }
}
