//! AssumeRoleWithWebIdentity: a token of a registered issuer for a session of a role.

use std::collections::BTreeMap;

use super::document::Node;
use super::failure::Failure;
use super::form::{Constraints, is_name_character};
use super::identity::{Assumption, OidcProvider, Role};
use super::policy::SessionPolicy;
use super::sts::{self, NAME_PATTERN, Request};
use crate::json::at;
use crate::oidc::{self, OidcError};
use crate::token::{self, Claims, TokenError};

/// Where session tags and the source identity are in a token.
const TAGS_CLAIM: &str = "https://aws.amazon.com/tags";
const SOURCE_IDENTITY_CLAIM: &str = "https://aws.amazon.com/source_identity";

struct Parameters {
    role: String,
    session_name: String,
    token: String,
    seconds: i64,
    policy: SessionPolicy,
}

pub(crate) async fn assume(request: &Request<'_>) -> Result<Node, Failure> {
    let parameters = read(request)?;
    let packed = parameters.policy.packed_percent()?;
    let claimed = token::unproven(&parameters.token).map_err(token_failure)?;
    let issuer = claimed.iss.unwrap_or_default();
    let provider = request.aws.identities.provider(&issuer).ok_or_else(|| {
        invalid_token(format!(
            "No OpenIDConnect provider found in your account for {issuer}"
        ))
    })?;
    let claims = prove(request, &provider, &parameters.token).await?;
    let audience = check_claims(&claims, &provider, request.now)?;
    let subject = claims
        .sub
        .clone()
        .ok_or_else(|| invalid_token("Missing a required claim: sub"))?;
    let role = trusted_role(request, &parameters, &issuer, &subject, &claims)?;
    if i128::from(parameters.seconds) > i128::from(role.trust.max_session_duration.as_secs()) {
        return Err(too_long());
    }
    let session = request.aws.identities.assume(Assumption {
        role,
        session_name: parameters.session_name,
        expires_at: request.now + parameters.seconds,
        source_identity: claims
            .rest
            .get(SOURCE_IDENTITY_CLAIM)
            .and_then(|claim| claim.as_str())
            .map(str::to_owned),
        transitive_tags: transitive_tags(&claims),
    });
    let mut fields = sts::assumed(&session);
    fields.push(("SubjectFromWebIdentityToken", Node::text(subject)));
    fields.push((
        "Provider",
        Node::text(provider_arn(&session.principal.arn, &issuer)),
    ));
    fields.push(("Audience", Node::text(audience)));
    if let Some(percent) = packed {
        fields.push(("PackedPolicySize", Node::Number(percent)));
    }
    Ok(Node::Branch(fields))
}

fn read(request: &Request<'_>) -> Result<Parameters, Failure> {
    let form = &request.form;
    let (role, name) = (form.value("RoleArn"), form.value("RoleSessionName"));
    let token = form.value("WebIdentityToken");
    let mut constraints = Constraints::default();
    for (field, value, shortest, longest) in [
        ("roleArn", role, 20, 2_048),
        ("roleSessionName", name, 2, 64),
        ("webIdentityToken", token, 4, 20_000),
    ] {
        constraints.required(field, value);
        constraints.length(field, value, shortest, longest);
    }
    constraints.characters("roleSessionName", name, is_name_character, NAME_PATTERN);
    constraints.length("providerId", form.value("ProviderId"), 4, 2_048);
    let seconds = constraints.number(
        "durationSeconds",
        form.value("DurationSeconds"),
        900,
        43_200,
        3_600,
    );
    let policy = SessionPolicy::read(form, &mut constraints);
    constraints.finish()?;
    if form.value("ProviderId").is_some() {
        // The parameter belongs to the OAuth 2.0 providers of old, not to OIDC tokens.
        return Err(Failure::validation(
            "ProviderId is not valid for an OpenID Connect token",
        ));
    }
    let owned = |value: Option<&str>| value.unwrap_or_default().to_owned();
    Ok(Parameters {
        role: owned(role),
        session_name: owned(name),
        token: owned(token),
        seconds,
        policy,
    })
}

async fn prove(
    request: &Request<'_>,
    provider: &OidcProvider,
    token: &str,
) -> Result<Claims, Failure> {
    let proven = oidc::prove(request.aws.dialer(), &provider.issuer, token).await;
    proven.map_err(|error| {
        tracing::debug!(%error, "web identity refused");
        match error {
            OidcError::Token(error) => token_failure(error),
            OidcError::Fetch(_) => Failure::new(
                400,
                "IDPCommunicationError",
                "Could not reach the identity provider to verify the token. Please retry.",
            ),
            OidcError::Document(_) => no_key(),
        }
    })
}

/// The audience that the provider lists; times by the sandbox's clock.
fn check_claims(claims: &Claims, provider: &OidcProvider, now: i64) -> Result<String, Failure> {
    let seconds = now as f64;
    let expires_at = claims
        .exp
        .ok_or_else(|| invalid_token("Missing a required claim: exp"))?;
    if expires_at <= seconds {
        let message = format!(
            "Token expired: current date/time {now} must be before the expiration date/time {expires_at:.0}"
        );
        return Err(Failure::new(400, "ExpiredTokenException", message));
    }
    claims
        .iat
        .ok_or_else(|| invalid_token("Missing a required claim: iat"))?;
    if claims.nbf.is_some_and(|not_before| not_before > seconds) {
        return Err(invalid_token("Token is not yet valid"));
    }
    let meant = claims
        .aud
        .as_ref()
        .ok_or_else(|| invalid_token("Missing a required claim: aud"))?;
    let audience = meant
        .all()
        .iter()
        .find(|audience| provider.audiences.contains(audience));
    audience
        .cloned()
        .ok_or_else(|| invalid_token("Incorrect token audience"))
}

/// The role, if it is there and trusts the token; AWS does not tell the two refusals apart.
fn trusted_role(
    request: &Request<'_>,
    parameters: &Parameters,
    issuer: &str,
    subject: &str,
    claims: &Claims,
) -> Result<Role, Failure> {
    if super::arn::Arn::of_iam(&parameters.role, "role").is_none() {
        return Err(Failure::validation("Request ARN is invalid"));
    }
    let audiences = claims
        .aud
        .as_ref()
        .map(token::Audience::all)
        .unwrap_or_default();
    let role = request.aws.identities.role(&parameters.role);
    let role = role.filter(|role| role.arn.partition == request.endpoint.partition.name);
    let trusted = role.filter(|role| role.trust.trusts_subject(issuer, subject, audiences));
    trusted.ok_or_else(|| {
        Failure::new(
            403,
            "AccessDenied",
            "Not authorized to perform sts:AssumeRoleWithWebIdentity",
        )
    })
}

fn transitive_tags(claims: &Claims) -> BTreeMap<String, String> {
    let Some(tags) = claims.rest.get(TAGS_CLAIM) else {
        return BTreeMap::new();
    };
    let keys = at(tags, &["transitive_tag_keys"])
        .as_array()
        .into_iter()
        .flatten();
    let entry = |key: &str| {
        // The vendor's example gives each tag a list of one value.
        let value = at(tags, &["principal_tags", key]);
        let listed = value.as_array().and_then(|values| values.first());
        let value = value.as_str().or_else(|| listed?.as_str())?;
        Some((key.to_owned(), value.to_owned()))
    };
    keys.filter_map(|key| entry(key.as_str()?)).collect()
}

fn provider_arn(role: &super::arn::Arn, issuer: &str) -> String {
    let name = issuer.trim_start_matches("https://");
    format!(
        "arn:{}:iam::{}:oidc-provider/{name}",
        role.partition, role.account
    )
}

fn token_failure(error: TokenError) -> Failure {
    match error {
        TokenError::Malformed => invalid_token(
            "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)",
        ),
        TokenError::NoKey => no_key(),
        TokenError::Signature => invalid_token("The signature of the ID Token is invalid"),
    }
}

fn no_key() -> Failure {
    invalid_token(
        "Couldn't retrieve verification key from your identity provider,  please reference \
         AssumeRoleWithWebIdentity documentation for requirements",
    )
}

fn invalid_token(message: impl Into<String>) -> Failure {
    Failure::new(400, "InvalidIdentityToken", message)
}

pub(crate) fn too_long() -> Failure {
    Failure::validation(
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
    )
}
