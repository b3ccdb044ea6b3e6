//! Client assertions: tokens of a federated issuer, and tokens that an application signs with its
//! certificate.

use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation};

use super::access_token::seconds;
use super::entra::Request;
use super::failure::Failure;
use super::identity::{Application, FederatedCredential};
use crate::clock::rfc3339;
use crate::oidc::{self, OidcError};
use crate::token::{self, Audience, Claims, TokenError};

const FEDERATION: &str =
    "https://learn.microsoft.com/entra/workload-id/workload-identity-federation";

/// Whether an assertion proves an application.
pub(crate) async fn check(
    request: &Request<'_>,
    application: &Application,
    assertion: &str,
) -> Result<(), Failure> {
    let header = jsonwebtoken::decode_header(assertion).map_err(|_| malformed())?;
    let claimed = token::unproven(assertion).map_err(|_| malformed())?;
    let client_id = application.principal.client_id.to_string();
    if claimed.iss.as_ref() == Some(&client_id) {
        return own(request, application, assertion, &header);
    }
    // Entra takes RS256 alone from a federated issuer (its documentation of the feature).
    if header.alg != Algorithm::RS256 {
        return Err(malformed());
    }
    federated(request, application, assertion, &claimed).await
}

async fn federated(
    request: &Request<'_>,
    application: &Application,
    assertion: &str,
    claimed: &Claims,
) -> Result<(), Failure> {
    let presented = Presented::of(claimed).ok_or_else(malformed)?;
    if request
        .azure
        .directory
        .is_hidden(application.principal.client_id)
    {
        return Err(presented.unseen());
    }
    presented.matched(&application.federated)?;
    let dialer = request.azure.dialer();
    let proven = oidc::prove(dialer, presented.issuer, assertion).await;
    let claims = proven.map_err(|error| {
        tracing::debug!(%error, "assertion refused");
        unproven(&error, presented.issuer)
    })?;
    check_times(&claims, request.now)
}

/// What the federated credentials are compared with.
struct Presented<'a> {
    issuer: &'a str,
    subject: &'a str,
    audiences: &'a [String],
}

impl<'a> Presented<'a> {
    fn of(claims: &'a Claims) -> Option<Self> {
        Some(Self {
            issuer: claims.iss.as_deref()?,
            subject: claims.sub.as_deref()?,
            audiences: claims.aud.as_ref().map(Audience::all)?,
        })
    }

    /// Entra names the first thing that differs: the issuer, then the audience, then the subject.
    fn matched(&self, credentials: &[FederatedCredential]) -> Result<(), Failure> {
        let issued = || credentials.iter().filter(|one| one.issuer == self.issuer);
        if issued().next().is_none() {
            return Err(no_record(700_211, "issuer", self.issuer, ""));
        }
        let meant = || issued().filter(|one| self.audiences.contains(&one.audience));
        if meant().next().is_none() {
            let audiences = self.audiences.join(",");
            return Err(no_record(700_212, "audience", &audiences, ""));
        }
        if meant().any(|one| one.subject == self.subject) {
            return Ok(());
        }
        if meant().any(|one| one.subject.eq_ignore_ascii_case(self.subject)) {
            let hint = " The subject matches with case-insensitive comparison, but not with \
                        case-sensitive comparison.";
            return Err(no_record(7_002_138, "subject", self.subject, hint));
        }
        Err(no_record(700_213, "subject", self.subject, ""))
    }

    /// The refusal of a credential that has not reached this endpoint yet.
    fn unseen(&self) -> Failure {
        let message = format!(
            "No matching federated identity record found for presented assertion. Assertion \
             Issuer: '{}'. Assertion Subject: '{}'. Assertion Audience: '{}'. {FEDERATION}",
            self.issuer,
            self.subject,
            self.audiences.join(",")
        );
        Failure::entra(401, "invalid_client", 70_021, message)
    }
}

fn no_record(number: u32, what: &str, value: &str, hint: &str) -> Failure {
    let message = format!(
        "No matching federated identity record found for presented assertion {what} \
         '{value}'.{hint} Check your federated identity credential Subject, Audience and Issuer \
         against the presented assertion. {FEDERATION}"
    );
    Failure::entra(401, "invalid_client", number, message)
}

fn unproven(error: &OidcError, issuer: &str) -> Failure {
    match error {
        OidcError::Fetch(_) | OidcError::Document(_) => Failure::entra(
            400,
            "invalid_request",
            50_166,
            "Request to External OIDC endpoint failed.",
        ),
        OidcError::Token(TokenError::NoKey) => {
            let message = format!(
                "The certificate with identifier used to sign the federated credential could not \
                 be found in the metadata of identity provider {issuer}. Please validate that \
                 your Identity Provider's metadata exposes the key used to sign the incoming token."
            );
            Failure::entra(401, "invalid_client", 7_000_272, message)
        }
        OidcError::Token(TokenError::Malformed | TokenError::Signature) => malformed(),
    }
}

/// An assertion that the application signed itself, with a certificate that it registered.
fn own(
    request: &Request<'_>,
    application: &Application,
    assertion: &str,
    header: &Header,
) -> Result<(), Failure> {
    let certificate = application
        .certificates
        .iter()
        .find(|certificate| certificate.is_named_by(header));
    let certificate =
        certificate.ok_or_else(|| unregistered("The key was not found.", application))?;
    if !matches!(header.alg, Algorithm::RS256 | Algorithm::PS256) {
        return Err(malformed());
    }
    let key = DecodingKey::from_jwk(&certificate.key).map_err(|_| malformed())?;
    let mut rules = Validation::new(header.alg);
    rules.required_spec_claims.clear();
    rules.validate_exp = false;
    rules.validate_aud = false;
    let decoded = jsonwebtoken::decode::<Claims>(assertion, &key, &rules);
    let reason = "The provided signature value did not match the expected signature value.";
    let claims = decoded
        .map_err(|_| unregistered(reason, application))?
        .claims;
    check_party(request, application, &claims)?;
    check_times(&claims, request.now)
}

/// RFC 7523 §3: the application is issuer and subject, this endpoint the audience.
fn check_party(
    request: &Request<'_>,
    application: &Application,
    claims: &Claims,
) -> Result<(), Failure> {
    if claims.sub != Some(application.principal.client_id.to_string()) {
        let message = "Client assertion application identifier doesn't match 'client_id' parameter. \
                       Review the documentation at https://learn.microsoft.com/entra/identity-platform/certificate-credentials .";
        return Err(Failure::entra(401, "invalid_client", 700_021, message));
    }
    let audiences = claims.aud.as_ref().map(Audience::all).unwrap_or_default();
    let is_meant = request.cloud.authority_hosts().iter().any(|host| {
        [request.tenant_name, &request.tenant.to_string()]
            .iter()
            .flat_map(|tenant| {
                ["oauth2/v2.0/token", "oauth2/token", "v2.0"]
                    .map(|path| format!("https://{host}/{tenant}/{path}"))
            })
            .any(|endpoint| audiences.contains(&endpoint))
    });
    if is_meant {
        return Ok(());
    }
    let message = "Client assertion audience claim does not match Realm issuer. Review the \
                   documentation at https://learn.microsoft.com/entra/identity-platform/certificate-credentials .";
    Err(Failure::entra(401, "invalid_client", 700_023, message))
}

fn check_times(claims: &Claims, now: i64) -> Result<(), Failure> {
    if claims.exp.is_none() {
        return Err(malformed());
    }
    if claims.is_current(now) {
        return Ok(());
    }
    // Seven digits of a second, whatever they are.
    let time = |seconds: i64| rfc3339(seconds).replace('Z', ".0000000Z");
    let message = format!(
        "Client assertion is not within its valid time range. Current time: {}, assertion valid \
         from {}, expiry time of assertion {}. Review the documentation at \
         https://learn.microsoft.com/entra/identity-platform/certificate-credentials .",
        time(now),
        time(seconds(claims.nbf)),
        time(seconds(claims.exp))
    );
    Err(Failure::entra(401, "invalid_client", 700_024, message))
}

fn unregistered(reason: &str, application: &Application) -> Failure {
    let message = format!(
        "The certificate with identifier used to sign the client assertion is not registered on \
         application. [Reason - {reason}, Please visit the Azure Portal, Graph Explorer or \
         directly use MS Graph to see configured keys for app Id '{}'.]",
        application.principal.client_id
    );
    Failure::entra(401, "invalid_client", 700_027, message)
}

/// The vendor's list gives this one number to tokens that cannot be read and to tokens of outside
/// issuers whose signature is wrong.
fn malformed() -> Failure {
    Failure::entra(
        400,
        "invalid_request",
        50_027,
        "JWT token is invalid or malformed.",
    )
}
