//! IAM as far as credentials need it: roles and whom they trust, keys, sessions, refusals.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use super::arn::{Arn, AwsError};
use crate::guarded::Guarded;
use crate::{pattern, random};

/// Whom a role trusts, and for how long at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPolicy {
    /// The OIDC issuer whose tokens may assume the role, as its https URL.
    pub issuer: Option<String>,
    /// The subjects (`sub`) of that issuer; each may contain `*`.
    pub subjects: Vec<String>,
    /// The audiences that the policy asks for; empty leaves them to the OIDC provider.
    pub audiences: Vec<String>,
    /// ARNs of roles, sessions, users or `…:root` that may assume the role with their own credentials.
    pub principals: Vec<String>,
    /// The external ID that such a caller must give.
    pub external_id: Option<String>,
    /// The role's MaxSessionDuration; one hour by default, as in IAM.
    pub max_session_duration: Duration,
}

impl Default for TrustPolicy {
    fn default() -> Self {
        Self {
            issuer: None,
            subjects: Vec::new(),
            audiences: Vec::new(),
            principals: Vec::new(),
            external_id: None,
            max_session_duration: Duration::from_secs(3_600),
        }
    }
}

impl TrustPolicy {
    /// Trusts these subjects of an OIDC issuer.
    #[must_use]
    pub fn web_identity(issuer: &str, subjects: &[&str]) -> Self {
        Self {
            issuer: Some(issuer.to_owned()),
            subjects: subjects
                .iter()
                .map(|subject| (*subject).to_owned())
                .collect(),
            ..Self::default()
        }
    }

    /// Trusts these principals.
    #[must_use]
    pub fn principals(principals: &[&str]) -> Self {
        Self {
            principals: principals
                .iter()
                .map(|principal| (*principal).to_owned())
                .collect(),
            ..Self::default()
        }
    }

    pub(crate) fn trusts_subject(&self, issuer: &str, subject: &str, audiences: &[String]) -> bool {
        let audience =
            self.audiences.is_empty() || audiences.iter().any(|one| self.audiences.contains(one));
        let subject = self
            .subjects
            .iter()
            .any(|pattern| pattern::fits(pattern, subject));
        self.issuer.as_deref() == Some(issuer) && subject && audience
    }

    pub(crate) fn trusts_caller(&self, caller: &Principal, external_id: Option<&str>) -> bool {
        let root = format!(
            "arn:{}:iam::{}:root",
            caller.arn.partition, caller.arn.account
        );
        let names = [caller.arn.to_string(), caller.session_arn(), root];
        let trusted = self
            .principals
            .iter()
            .any(|principal| names.contains(principal));
        trusted && (self.external_id.is_none() || self.external_id.as_deref() == external_id)
    }
}

/// An access key. The secret parts are not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// `AKIA…` of a user, `ASIA…` of a session.
    pub access_key_id: String,
    /// The key that signs.
    pub secret_access_key: String,
    /// Only a session has one.
    pub session_token: Option<String>,
}

impl AccessKey {
    fn of_user() -> Self {
        Self {
            access_key_id: format!("AKIA{}", random::capitals(16)),
            secret_access_key: random::base64(40),
            session_token: None,
        }
    }

    fn of_session() -> Self {
        Self {
            access_key_id: format!("ASIA{}", random::capitals(16)),
            secret_access_key: random::base64(40),
            // Real tokens begin alike and are a few hundred characters long, in varying numbers.
            session_token: Some(format!("IQoJb3JpZ2luX2Vj{}", random::base64(400))),
        }
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("AccessKey");
        debug
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

/// Who a key belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The role's or user's own ARN, with its path.
    pub(crate) arn: Arn,
    /// `AROA…` or `AIDA…`.
    pub(crate) id: String,
    /// Only of a role session.
    pub(crate) session: Option<String>,
}

impl Principal {
    /// The ARN that STS tells a caller about itself; a session's leaves the role's path out.
    pub(crate) fn session_arn(&self) -> String {
        let Some(session) = &self.session else {
            return self.arn.to_string();
        };
        let Arn {
            partition, account, ..
        } = &self.arn;
        format!(
            "arn:{partition}:sts::{account}:assumed-role/{}/{session}",
            self.arn.name()
        )
    }

    pub(crate) fn user_id(&self) -> String {
        match &self.session {
            Some(session) => format!("{}:{session}", self.id),
            None => self.id.clone(),
        }
    }
}

/// A key that is known, with what hangs on it.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) key: AccessKey,
    pub(crate) principal: Principal,
    /// A user's key does not expire.
    pub(crate) expires_at: Option<i64>,
    pub(crate) source_identity: Option<String>,
    /// Tags that pass on to the next role of a chain.
    pub(crate) transitive_tags: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Role {
    pub(crate) arn: Arn,
    pub(crate) id: String,
    pub(crate) trust: TrustPolicy,
}

/// An IAM OIDC provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OidcProvider {
    pub(crate) issuer: String,
    pub(crate) audiences: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Identities {
    roles: Guarded<BTreeMap<String, Role>>,
    providers: Guarded<Vec<OidcProvider>>,
    keys: Guarded<HashMap<String, Session>>,
    denials: Guarded<Vec<(String, String)>>,
}

/// What a new session is made of.
#[derive(Debug)]
pub(crate) struct Assumption {
    pub(crate) role: Role,
    pub(crate) session_name: String,
    pub(crate) expires_at: i64,
    pub(crate) source_identity: Option<String>,
    pub(crate) transitive_tags: BTreeMap<String, String>,
}

impl Identities {
    pub(crate) fn set_role(&self, arn: &str, trust: TrustPolicy) -> Result<(), AwsError> {
        let parsed =
            Arn::of_iam(arn, "role").ok_or_else(|| AwsError::new(arn, "the ARN of an IAM role"))?;
        let id = format!("AROA{}", random::capitals(17));
        let role = Role {
            arn: parsed,
            id,
            trust,
        };
        self.roles.with(|roles| roles.insert(arn.to_owned(), role));
        Ok(())
    }

    pub(crate) fn role(&self, arn: &str) -> Option<Role> {
        self.roles.with(|roles| roles.get(arn).cloned())
    }

    pub(crate) fn set_provider(&self, provider: OidcProvider) {
        self.providers.with(|providers| {
            providers.retain(|other| other.issuer != provider.issuer);
            providers.push(provider);
        });
    }

    pub(crate) fn provider(&self, issuer: &str) -> Option<OidcProvider> {
        self.providers.with(|providers| {
            providers
                .iter()
                .find(|provider| provider.issuer == issuer)
                .cloned()
        })
    }

    pub(crate) fn add_user(&self, arn: &str) -> Result<AccessKey, AwsError> {
        let parsed =
            Arn::of_iam(arn, "user").ok_or_else(|| AwsError::new(arn, "the ARN of an IAM user"))?;
        let id = format!("AIDA{}", random::capitals(17));
        let principal = Principal {
            arn: parsed,
            id,
            session: None,
        };
        let session = Session {
            key: AccessKey::of_user(),
            principal,
            expires_at: None,
            source_identity: None,
            transitive_tags: BTreeMap::new(),
        };
        Ok(self.keep(session).key)
    }

    pub(crate) fn assume(&self, assumption: Assumption) -> Session {
        let Assumption {
            role,
            session_name,
            expires_at,
            source_identity,
            transitive_tags,
        } = assumption;
        let principal = Principal {
            arn: role.arn,
            id: role.id,
            session: Some(session_name),
        };
        self.keep(Session {
            key: AccessKey::of_session(),
            principal,
            expires_at: Some(expires_at),
            source_identity,
            transitive_tags,
        })
    }

    pub(crate) fn session(&self, access_key_id: &str) -> Option<Session> {
        self.keys.with(|keys| keys.get(access_key_id).cloned())
    }

    pub(crate) fn deny(&self, principal: &str, action: &str) {
        let denial = (principal.to_owned(), action.to_owned());
        self.denials.with(|denials| denials.push(denial));
    }

    /// Whether a role or user is refused an action such as `ecr:GetAuthorizationToken`.
    pub(crate) fn denies(&self, principal: &Principal, action: &str) -> bool {
        let arn = principal.arn.to_string();
        self.denials.with(|denials| {
            denials
                .iter()
                .any(|(who, what)| pattern::fits(who, &arn) && pattern::fits(what, action))
        })
    }

    fn keep(&self, session: Session) -> Session {
        let id = session.key.access_key_id.clone();
        self.keys.with(|keys| keys.insert(id, session.clone()));
        session
    }
}
