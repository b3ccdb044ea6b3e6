//! What a provider says of itself.

/// A verb beside `describe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// See [`Provider::discover`](crate::Provider::discover).
    Discover,
    /// See [`Provider::audience`](crate::Provider::audience).
    Audience,
    /// See [`Provider::identity`](crate::Provider::identity).
    Identity,
    /// See [`Provider::exchange`](crate::Provider::exchange).
    Exchange,
    /// See [`Provider::registry`](crate::Provider::registry).
    Registry,
    /// See [`Provider::registry_credentials`](crate::Provider::registry_credentials).
    RegistryCredentials,
    /// See [`Provider::cluster`](crate::Provider::cluster).
    Cluster,
    /// See [`Provider::rest_config`](crate::Provider::rest_config).
    RestConfig,
}

/// What an exchange can start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The environment of the process.
    Ambient,
    /// A ServiceAccount token.
    SubjectToken,
    /// The credential of an earlier link of a chain.
    Credential,
    /// The host's key.
    Signer,
}

/// An annotation that a provider reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its key.
    pub key: String,
    /// Whether a request fails without it.
    pub required: bool,
    /// One line: what it means, with an example.
    pub summary: String,
}

impl Annotation {
    /// An annotation without which a request fails.
    pub fn required(key: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            required: true,
            summary: summary.into(),
        }
    }

    /// An annotation that may be absent.
    pub fn optional(key: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            required: false,
            ..Self::required(key, summary)
        }
    }
}

/// What a provider would like to be granted; the operator decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// `https://HOST[:PORT]`; a label may be `*`, for exactly one label. `*` alone stands for hosts that
    /// only the operator knows, who grants them by name.
    pub hosts: Vec<String>,
    /// Audiences of ServiceAccount tokens; `*` where they come from the request.
    pub audiences: Vec<String>,
    /// Names of environment variables, for ambient calls.
    pub environment: Vec<String>,
    /// Names of files, for ambient calls: an absolute path, `$NAME` for the path that a variable of the
    /// host holds, or `$NAME/…`.
    pub files: Vec<String>,
    /// Whether it needs the host's signer.
    pub signer: bool,
}

/// The JSON Schema of a provider without parameters.
const NO_PARAMETERS: &str = r#"{"type":"object","additionalProperties":false}"#;

/// What a provider says of itself. `Default` has no name, no parameters and no verbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Lower-case letters, digits and `-`.
    pub name: String,
    /// The provider's own version (SemVer).
    pub version: String,
    /// One line for people.
    pub summary: String,
    /// JSON Schema (2020-12) of the parameters, flat: plain string properties, whose descriptions are
    /// what a user reads who got one wrong.
    pub parameters: String,
    /// Annotations it reads.
    pub annotations: Vec<Annotation>,
    /// What it would like to be granted.
    pub wishes: Wishes,
    /// Verbs that answer something other than `unsupported`.
    pub verbs: Vec<Verb>,
    /// What `exchange` accepts.
    pub sources: Vec<SourceKind>,
}

impl Default for Description {
    fn default() -> Self {
        Self {
            name: String::new(),
            version: String::new(),
            summary: String::new(),
            parameters: NO_PARAMETERS.into(),
            annotations: Vec::new(),
            wishes: Wishes::default(),
            verbs: Vec::new(),
            sources: Vec::new(),
        }
    }
}
