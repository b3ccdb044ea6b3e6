//! Whose keys these are: `GetCallerIdentity`, which needs no permission.

use super::fields::Fields;
use crate::arn::is_account;
use crate::fault;
use crate::terms::Terms;
use gatepass_sdk::{AwsKeys, Error, Host};
use serde::Deserialize;

/// The account of the keys.
///
/// # Errors
///
/// What [`fault`] makes of AWS's refusals; `unavailable` if its answer names no account.
pub(super) fn account(keys: &AwsKeys, terms: &Terms, host: &dyn Host) -> Result<String, Error> {
    let fields = Fields::of("GetCallerIdentity");
    let request = terms.sign(keys, &fields.encode(), host.now())?;
    let doing = format!("asking {} whose keys these are", terms.sts_host);
    let response = host.send(request)?;
    if response.status() != 200 {
        return Err(fault::classify(&doing, &response));
    }
    let answer = response.xml::<Answer>().ok();
    answer
        .map(|answer| answer.outcome.account)
        .filter(|account| is_account(account))
        .ok_or_else(|| Error::unavailable(format!("{doing}: the answer names no account")))
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "GetCallerIdentityResult")]
    outcome: Outcome,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(rename = "Account")]
    account: String,
}
