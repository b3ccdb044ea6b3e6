//! `gatepass workload-api jwt`.

use super::client::Client;
use super::svid::{self, Svid};
use super::{client, refusal};
use crate::arguments::{Format, Global, JwtSvid as Flags};
use crate::failure::Failure;
use crate::output;
use gatepass::{Material, Secret};
use spiffe::{JwtSvid, SpiffeId};
use std::time::SystemTime;

const FORMATS: &[Format] = &[
    Format::Table,
    Format::Json,
    Format::Token,
    Format::ExecCredential,
];

/// Gets a token and prints it.
pub(super) async fn run(global: &Global, flags: &Flags) -> Result<(), Failure> {
    let format = output::choose(global.output, FORMATS, "workload-api jwt")?;
    let client = client(&flags.endpoint)?;
    let svid = fetch(&client, &flags.audience, flags.spiffe_id.as_ref()).await?;
    let socket = client.socket().to_string();
    output::print(format, &svid.issue(&socket))
}

/// Gets a token that is what was asked for.
pub(super) async fn fetch(
    client: &Client,
    audiences: &[String],
    id: Option<&SpiffeId>,
) -> Result<Svid, Failure> {
    let answered = client.jwt(audiences, id).await?;
    check(&answered, audiences, id, SystemTime::now())
        .map_err(|rule| refusal::malformed(&format!("a JWT-SVID: {rule}"), client.socket()))
}

/// The agent is believed who signed what; that it answered this question is seen here.
fn check(
    svid: &JwtSvid,
    audiences: &[String],
    id: Option<&SpiffeId>,
    now: SystemTime,
) -> Result<Svid, &'static str> {
    if !svid.token().bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it holds characters that no token has");
    }
    if id.is_some_and(|id| id != svid.spiffe_id()) {
        return Err("it is another identity's");
    }
    if !audiences
        .iter()
        .all(|audience| svid.audience().contains(audience))
    {
        return Err("it is not for every audience that was asked for");
    }
    let mut attributes = vec![("audience".to_owned(), svid.audience().join(","))];
    attributes.extend(svid.hint().map(|hint| ("hint".to_owned(), hint.to_owned())));
    Ok(Svid {
        identity: svid.spiffe_id().to_string(),
        material: Material::Bearer(Secret::from(svid.token())),
        expires_at: svid::end(svid.expiry().unix_timestamp(), now)?,
        attributes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};
    use std::time::{Duration, UNIX_EPOCH};

    const ID: &str = "spiffe://example.org/app";

    fn token(claims: &Value) -> JwtSvid {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({ "alg": "ES256", "kid": "k" });
        let text = format!("{}.{}.canary", part(&header), part(claims));
        text.parse().unwrap()
    }

    fn checked(claims: &Value, audience: &str, id: Option<&str>) -> Result<Svid, &'static str> {
        let id = id.map(|id| SpiffeId::new(id).unwrap());
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        check(&token(claims), &[audience.to_owned()], id.as_ref(), now)
    }

    #[test]
    fn a_token_is_what_was_asked_for() {
        let claims = json!({ "sub": ID, "aud": ["a", "b"], "exp": 2_000 });
        for (audience, id, fits) in [
            ("a", None, true),
            ("b", Some(ID), true),
            ("c", None, false),
            ("A", None, false),
            ("a", Some("spiffe://example.org/other"), false),
        ] {
            let svid = checked(&claims, audience, id);
            assert_eq!(svid.is_ok(), fits, "{audience} {id:?}");
            if let Ok(svid) = svid {
                assert_eq!(svid.identity, ID);
                assert!(!format!("{svid:?}").contains("canary"), "{svid:?}");
            }
        }
    }

    #[test]
    fn a_token_without_time_left_is_refused() {
        for expiry in [0, 999, 1_000] {
            let claims = json!({ "sub": ID, "aud": "a", "exp": expiry });
            assert!(checked(&claims, "a", None).is_err(), "{expiry}");
        }
    }
}
