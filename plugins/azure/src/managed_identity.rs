//! The managed identity of the machine, from its metadata service.

use crate::discover::variable;
use crate::fault::{self, Service};
use crate::identity::Terms;
use crate::principal::ClientId;
use crate::token;
use gatepass_sdk::egress::{self, ErrorCode};
use gatepass_sdk::{Credential, Error, Host};
use std::time::Duration;

/// The metadata service's address: plain HTTP by design, since it does not leave the machine.
pub(crate) const HOST: &str = "http://169.254.169.254";

/// The version of the protocol that every machine speaks
/// (learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token).
const API_VERSION: &str = "2018-02-01";

/// Chooses among the identities of a machine that has several.
pub(crate) const CLIENT_VARIABLE: &str = "AZURE_CLIENT_ID";

/// Where there is no metadata service, nobody answers; where there is one, it does so at once.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Why there is no token of a managed identity.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Nobody answers: this is no machine of Azure, or the service is not granted.
    Absent(egress::Error),
    Failed(Error),
}

/// Asks for a token.
///
/// # Errors
///
/// [`Trouble`]; the metadata service's refusals are sorted by [`fault`].
pub(crate) fn credential(terms: &Terms, host: &dyn Host) -> Result<Credential, Trouble> {
    let client = variable(host, CLIENT_VARIABLE)
        .map(|text| ClientId::parse(CLIENT_VARIABLE, &text))
        .transpose()
        .map_err(Trouble::Failed)?;
    let doing = match &client {
        Some(client) => format!("getting a token for managed identity {client}"),
        None => "getting a token for the machine's managed identity".into(),
    };
    let asked_at = host.now();
    let response = host
        .send(request(terms.audience(), client.as_ref()))
        .map_err(silent)?;
    if response.status() != 200 {
        let error = fault::classify(Service::Metadata, &doing, &response);
        return Err(Trouble::Failed(error));
    }
    let credential = token::read(&doing, &response, asked_at).map_err(Trouble::Failed)?;
    Ok(match client {
        Some(client) => credential.attribute("client-id", client.as_str()),
        None => credential,
    })
}

/// What no answer means.
fn silent(error: egress::Error) -> Trouble {
    match error.code {
        ErrorCode::Unreachable | ErrorCode::TimedOut | ErrorCode::NotGranted => {
            Trouble::Absent(error)
        }
        ErrorCode::InvalidRequest | ErrorCode::BudgetExceeded | ErrorCode::TooLarge => {
            Trouble::Failed(error.into())
        }
    }
}

fn request(audience: &str, client: Option<&ClientId>) -> egress::Request {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("api-version", API_VERSION)
        .append_pair("resource", audience);
    if let Some(client) = client {
        query.append_pair("client_id", client.as_str());
    }
    let query = query.finish();
    egress::Request::get(format!("{HOST}/metadata/identity/oauth2/token?{query}"))
        .header("metadata", "true")
        .timeout(TIMEOUT)
        .build()
}
