//! The Security Token Service: its operations and the results they share.

use http::Method;

use super::Aws;
use super::assume_role;
use super::caller::{self, CallerError, Scope};
use super::document::{self, Node};
use super::endpoint::{Endpoint, Service};
use super::failure::{Failure, Protocol};
use super::form::Form;
use super::identity::Session;
use super::web_identity;
use crate::answer::Answer;
use crate::call::Call;

const VERSION: &str = "2011-06-15";

/// One request to STS with what it runs against.
pub(crate) struct Request<'a> {
    pub(crate) aws: &'a Aws,
    pub(crate) call: &'a Call,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) form: Form,
    pub(crate) now: i64,
}

pub(crate) async fn answer(aws: &Aws, call: &Call, endpoint: &Endpoint) -> Answer {
    let request = Request {
        aws,
        call,
        endpoint,
        form: Form::read(call),
        now: aws.now(),
    };
    match request.run().await {
        Ok((action, result)) => document::success(action, &result, call),
        Err(failure) => failure.answer(Protocol::Query, call),
    }
}

impl Request<'_> {
    async fn run(&self) -> Result<(&'static str, Node), Failure> {
        if self.call.path != "/" || !matches!(self.call.method, Method::GET | Method::POST) {
            return Err(Failure::new(
                404,
                "UnknownOperationException",
                "The requested operation is not known.",
            ));
        }
        let action = self
            .form
            .value("Action")
            .ok_or_else(|| Failure::new(400, "MissingAction", "Missing Action"))?;
        self.check_version(action)?;
        match action {
            "AssumeRoleWithWebIdentity" => Ok((
                "AssumeRoleWithWebIdentity",
                web_identity::assume(self).await?,
            )),
            "AssumeRole" => Ok(("AssumeRole", assume_role::assume(self)?)),
            "GetCallerIdentity" => Ok(("GetCallerIdentity", self.caller_identity()?)),
            other => Err(unknown_action(other, VERSION)),
        }
    }

    fn check_version(&self, action: &str) -> Result<(), Failure> {
        match self.form.value("Version") {
            Some(VERSION) => Ok(()),
            Some(other) => Err(unknown_action(action, other)),
            None => Err(unknown_action(action, "NO_VERSION_SPECIFIED")),
        }
    }

    /// The session that signed this request.
    pub(crate) fn caller(&self) -> Result<Session, Failure> {
        let caller = self.authenticate();
        caller.map_err(|error| error.failure(Protocol::Query))
    }

    fn authenticate(&self) -> Result<Session, CallerError> {
        let scope = Scope {
            service: Service::Sts,
            region: &self.endpoint.region,
            now: self.now,
        };
        caller::authenticate(self.call, &scope, &self.aws.identities)
    }

    /// Needs a valid signature and no permission.
    fn caller_identity(&self) -> Result<Node, Failure> {
        let principal = self.caller()?.principal;
        Ok(Node::Branch(vec![
            ("Arn", Node::text(principal.session_arn())),
            ("UserId", Node::text(principal.user_id())),
            ("Account", Node::text(principal.arn.account)),
        ]))
    }
}

/// `Credentials` and `AssumedRoleUser` of a new session.
pub(crate) fn assumed(session: &Session) -> Vec<(&'static str, Node)> {
    let key = &session.key;
    let credentials = Node::Branch(vec![
        ("AccessKeyId", Node::text(&key.access_key_id)),
        ("SecretAccessKey", Node::text(&key.secret_access_key)),
        (
            "SessionToken",
            Node::text(key.session_token.clone().unwrap_or_default()),
        ),
        (
            "Expiration",
            Node::Time(session.expires_at.unwrap_or_default()),
        ),
    ]);
    let user = Node::Branch(vec![
        ("Arn", Node::text(session.principal.session_arn())),
        ("AssumedRoleId", Node::text(session.principal.user_id())),
    ]);
    let mut fields = vec![("Credentials", credentials), ("AssumedRoleUser", user)];
    if let Some(identity) = &session.source_identity {
        fields.push(("SourceIdentity", Node::text(identity)));
    }
    fields
}

/// A session name's rules are the same wherever one is given.
pub(crate) const NAME_PATTERN: &str = "[\\w+=,.@-]*";

fn unknown_action(action: &str, version: &str) -> Failure {
    let message = format!("Could not find operation {action} for version {version}");
    Failure::new(400, "InvalidAction", message)
}
