//! AssumeRole: a session of one role for the credentials of another, or of a user.

use std::collections::{BTreeMap, BTreeSet};

use super::arn::Arn;
use super::document::Node;
use super::failure::Failure;
use super::form::{Constraints, Form, is_external_id_character, is_name_character};
use super::identity::{Assumption, Role, Session};
use super::policy::SessionPolicy;
use super::sts::{self, NAME_PATTERN, Request};
use super::web_identity::too_long;

const MAXIMUM_TAGS: usize = 50;
/// A role session that assumes a role: one hour, whatever the role allows.
const LONGEST_CHAINED_SECONDS: i64 = 3_600;

struct Parameters {
    role: String,
    session_name: String,
    external_id: Option<String>,
    source_identity: Option<String>,
    seconds: i64,
    tags: BTreeMap<String, String>,
    transitive_keys: BTreeSet<String>,
    policy: SessionPolicy,
}

pub(crate) fn assume(request: &Request<'_>) -> Result<Node, Failure> {
    let caller = request.caller()?;
    let parameters = read(&request.form)?;
    let packed = parameters.policy.packed_percent()?;
    let role = trusting_role(request, &caller, &parameters)?;
    check_duration(&caller, &role, parameters.seconds)?;
    let transitive_tags = passed_on(&caller, &parameters)?;
    // A source identity, once set, stays through the chain.
    let source_identity = caller.source_identity.or(parameters.source_identity);
    let session = request.aws.identities.assume(Assumption {
        role,
        session_name: parameters.session_name,
        expires_at: request.now + parameters.seconds,
        source_identity,
        transitive_tags,
    });
    let mut fields = sts::assumed(&session);
    if let Some(percent) = packed {
        fields.push(("PackedPolicySize", Node::Number(percent)));
    }
    Ok(Node::Branch(fields))
}

fn read(form: &Form) -> Result<Parameters, Failure> {
    let (role, name) = (form.value("RoleArn"), form.value("RoleSessionName"));
    let (external_id, source) = (form.value("ExternalId"), form.value("SourceIdentity"));
    let mut constraints = Constraints::default();
    constraints.required("roleArn", role);
    constraints.length("roleArn", role, 20, 2_048);
    constraints.required("roleSessionName", name);
    for (field, value) in [("roleSessionName", name), ("sourceIdentity", source)] {
        constraints.length(field, value, 2, 64);
        constraints.characters(field, value, is_name_character, NAME_PATTERN);
    }
    constraints.length("externalId", external_id, 2, 1_224);
    constraints.characters(
        "externalId",
        external_id,
        is_external_id_character,
        "[\\w+=,.@:\\/-]*",
    );
    let seconds = constraints.number(
        "durationSeconds",
        form.value("DurationSeconds"),
        900,
        43_200,
        3_600,
    );
    let policy = SessionPolicy::read(form, &mut constraints);
    let tags = tags(form, &mut constraints);
    let transitive_keys: BTreeSet<String> = form
        .members("TransitiveTagKeys", "")
        .map(str::to_owned)
        .collect();
    constraints.count("transitiveTagKeys", transitive_keys.len(), MAXIMUM_TAGS);
    constraints.finish()?;
    if let Some(key) = transitive_keys.iter().find(|key| !tags.contains_key(*key)) {
        let message = format!(
            "The specified transitive tag key must be included in the requested tags: {key}"
        );
        return Err(Failure::new(400, "InvalidParameterValue", message));
    }
    Ok(Parameters {
        role: role.unwrap_or_default().to_owned(),
        session_name: name.unwrap_or_default().to_owned(),
        external_id: external_id.map(str::to_owned),
        source_identity: source.map(str::to_owned),
        seconds,
        tags,
        transitive_keys,
        policy,
    })
}

fn tags(form: &Form, constraints: &mut Constraints) -> BTreeMap<String, String> {
    let keys: Vec<&str> = form.members("Tags", ".Key").collect();
    let values: Vec<&str> = form.members("Tags", ".Value").collect();
    constraints.count("tags", keys.len(), MAXIMUM_TAGS);
    for key in &keys {
        constraints.length("tags.member.key", Some(key), 1, 128);
    }
    for value in &values {
        constraints.length("tags.member.value", Some(value), 0, 256);
    }
    if values.len() != keys.len() {
        constraints.required("tags.member.value", None);
    }
    let pairs = keys.into_iter().zip(values);
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn trusting_role(
    request: &Request<'_>,
    caller: &Session,
    parameters: &Parameters,
) -> Result<Role, Failure> {
    if Arn::of_iam(&parameters.role, "role").is_none() {
        return Err(Failure::validation(format!(
            "{} is invalid",
            parameters.role
        )));
    }
    let external_id = parameters.external_id.as_deref();
    let permitted = !request
        .aws
        .identities
        .denies(&caller.principal, "sts:AssumeRole");
    let role = request
        .aws
        .identities
        .role(&parameters.role)
        .filter(|_| permitted);
    let role = role.filter(|role| role.trust.trusts_caller(&caller.principal, external_id));
    role.ok_or_else(|| {
        let message = format!(
            "User: {} is not authorized to perform: sts:AssumeRole on resource: {}",
            caller.principal.session_arn(),
            parameters.role
        );
        Failure::new(403, "AccessDenied", message)
    })
}

fn check_duration(caller: &Session, role: &Role, seconds: i64) -> Result<(), Failure> {
    if caller.principal.session.is_some() && seconds > LONGEST_CHAINED_SECONDS {
        return Err(Failure::validation(
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining",
        ));
    }
    if i128::from(seconds) > i128::from(role.trust.max_session_duration.as_secs()) {
        return Err(too_long());
    }
    Ok(())
}

/// The tags that a next hop inherits; one that was inherited cannot be given anew.
fn passed_on(
    caller: &Session,
    parameters: &Parameters,
) -> Result<BTreeMap<String, String>, Failure> {
    if let Some(key) = parameters
        .tags
        .keys()
        .find(|key| caller.transitive_tags.contains_key(*key))
    {
        let message = format!(
            "One of the specified transitive tag keys can't be set because it conflicts with a transitive tag key from the calling session: {key}"
        );
        return Err(Failure::new(400, "InvalidParameterValue", message));
    }
    let mut passed_on = caller.transitive_tags.clone();
    let own = parameters
        .tags
        .iter()
        .filter(|(key, _)| parameters.transitive_keys.contains(*key));
    passed_on.extend(own.map(|(key, value)| (key.clone(), value.clone())));
    Ok(passed_on)
}
