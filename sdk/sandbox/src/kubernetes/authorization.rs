//! Who may do what: rules in the spirit of RBAC, and refusals in its words.

use super::authentication::User;
use super::status::Refusal;
use crate::guarded::Guarded;

/// Paths that everybody may read, as `system:public-info-viewer` grants them.
const PUBLIC_PATHS: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];
/// Paths of `system:service-account-issuer-discovery`.
const ISSUER_PATHS: [&str; 2] = ["/.well-known/openid-configuration", "/openid/v1/jwks"];

/// One grant. Verbs and resources may be `*`; a subresource is written `serviceaccounts/token`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    subject: String,
    verbs: Vec<String>,
    resources: Vec<String>,
    namespace: Option<String>,
    names: Vec<String>,
}

impl Rule {
    /// Lets a user, or a group, use these verbs on these resources in every namespace.
    #[must_use]
    pub fn allow(subject: &str, verbs: &[&str], resources: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            subject: subject.to_owned(),
            verbs: owned(verbs),
            resources: owned(resources),
            namespace: None,
            names: Vec::new(),
        }
    }

    /// Limits the grant to one namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Limits the grant to this name as well.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.names.push(name.to_owned());
        self
    }

    fn covers(&self, user: &User, attributes: &Attributes<'_>) -> bool {
        let any =
            |list: &[String], value: &str| list.iter().any(|entry| entry == "*" || entry == value);
        let namespace = self.namespace.as_deref();
        is(user, &self.subject)
            && any(&self.verbs, attributes.verb)
            && any(&self.resources, &attributes.resource)
            && namespace.is_none_or(|namespace| attributes.namespace == Some(namespace))
            && (self.names.is_empty() || self.names.iter().any(|name| name == attributes.name))
    }
}

/// What a request wants to do to a resource.
#[derive(Debug, Clone)]
pub(crate) struct Attributes<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    /// With the subresource: `serviceaccounts/token`.
    pub(crate) resource: String,
    pub(crate) namespace: Option<&'a str>,
    /// Empty for a collection.
    pub(crate) name: &'a str,
}

#[derive(Debug)]
struct Denial {
    subject: String,
    verb: String,
    resource: String,
}

/// The rules of one cluster.
#[derive(Debug)]
pub(crate) struct Authorization {
    rules: Guarded<Vec<Rule>>,
    denials: Guarded<Vec<Denial>>,
    open_discovery: Guarded<bool>,
}

impl Authorization {
    pub(crate) fn new() -> Self {
        Self {
            rules: Guarded::default(),
            denials: Guarded::default(),
            open_discovery: Guarded::new(true),
        }
    }

    pub(crate) fn allow(&self, rule: Rule) {
        self.rules.with(|rules| rules.push(rule));
    }

    pub(crate) fn deny(&self, subject: &str, verb: &str, resource: &str) {
        let denial = Denial {
            subject: subject.to_owned(),
            verb: verb.to_owned(),
            resource: resource.to_owned(),
        };
        self.denials.with(|denials| denials.push(denial));
    }

    pub(crate) fn open_discovery(&self, open: bool) {
        self.open_discovery.with(|current| *current = open);
    }

    /// Denials hold for everybody, administrators too: a test says so on purpose.
    pub(crate) fn permits(&self, user: &User, attributes: &Attributes<'_>) -> bool {
        let either = |entry: &str, value: &str| entry == "*" || entry == value;
        let denied = self.denials.with(|denials| {
            denials.iter().any(|denial| {
                is(user, &denial.subject)
                    && either(&denial.verb, attributes.verb)
                    && either(&denial.resource, &attributes.resource)
            })
        });
        !denied
            && (is_everyones(user, attributes)
                || is(user, "system:masters")
                || self.is_granted(user, attributes))
    }

    fn is_granted(&self, user: &User, attributes: &Attributes<'_>) -> bool {
        self.rules
            .with(|rules| rules.iter().any(|rule| rule.covers(user, attributes)))
    }

    /// # Errors
    ///
    /// 403 in RBAC's words.
    pub(crate) fn check(&self, user: &User, attributes: &Attributes<'_>) -> Result<(), Refusal> {
        if self.permits(user, attributes) {
            return Ok(());
        }
        let plural = attributes.resource.split('/').next().unwrap_or_default();
        let qualified = match attributes.group {
            "" => plural.to_owned(),
            group => format!("{plural}.{group}"),
        };
        let what = if attributes.name.is_empty() {
            qualified
        } else {
            format!("{qualified} \"{}\"", attributes.name)
        };
        let place = match attributes.namespace {
            Some(namespace) => format!("in the namespace \"{namespace}\""),
            None => "at the cluster scope".to_owned(),
        };
        let message = format!(
            "{what} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {place}",
            user.username, attributes.verb, attributes.resource, attributes.group
        );
        Err(Refusal::forbidden(message, attributes.name, plural))
    }

    /// A path that is no resource.
    pub(crate) fn check_path(&self, user: &User, path: &str) -> Result<(), Refusal> {
        let open = self.open_discovery.with(|open| *open);
        let is_account = is(user, "system:serviceaccounts");
        let permitted = is(user, "system:masters")
            || PUBLIC_PATHS.contains(&path)
            || (ISSUER_PATHS.contains(&path) && (open || is_account))
            || (path.starts_with("/api") && !user.is_anonymous());
        if permitted {
            return Ok(());
        }
        let message = format!(
            "forbidden: User \"{}\" cannot get path \"{path}\"",
            user.username
        );
        Err(Refusal::forbidden(message, "", ""))
    }
}

fn is(user: &User, subject: &str) -> bool {
    subject == "*" || user.username == subject || user.groups.iter().any(|group| group == subject)
}

/// `system:basic-user`: everybody who is somebody may ask about themselves.
fn is_everyones(user: &User, attributes: &Attributes<'_>) -> bool {
    let about_self = ["selfsubjectreviews", "selfsubjectaccessreviews"];
    !user.is_anonymous()
        && attributes.verb == "create"
        && about_self.contains(&attributes.resource.as_str())
}
