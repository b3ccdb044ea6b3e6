//! What the AWS tools read from a `credential_process`
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html>).

use super::time::rfc3339;
use crate::answer::Issue;
use gatepass::{Material, Secret};
use serde_json::json;

/// Version 1, the only one; `None` for what are no AWS keys.
pub(crate) fn render(issue: &Issue<'_>) -> Option<Secret> {
    let Material::Aws(keys) = issue.material else {
        return None;
    };
    let mut object = json!({
        "Version": 1,
        "AccessKeyId": keys.access_key_id,
        "SecretAccessKey": keys.secret_access_key.expose(),
        "Expiration": rfc3339(issue.expires_at),
    });
    if let (Some(token), Some(fields)) = (&keys.session_token, object.as_object_mut()) {
        fields.insert("SessionToken".into(), token.expose().into());
    }
    Some(Secret::from(format!("{object}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Place;
    use crate::output::sample;

    #[test]
    fn the_fields_are_those_of_version_1() {
        let material = sample::aws();
        let text = render(&sample::issue(&material, Place::Anywhere)).unwrap();
        let value: serde_json::Value = serde_json::from_str(text.expose()).unwrap();
        let expected = json!({
            "Version": 1,
            "AccessKeyId": "ASIAEXAMPLE",
            "SecretAccessKey": "canary'secret",
            "SessionToken": "canary/session+token==",
            "Expiration": "2026-11-20T18:00:00Z",
        });
        assert_eq!(value, expected);
    }
}
