//! The parameters of a token request.

use super::failure::Failure;
use crate::call::Call;

/// A form, in the order sent.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    pub(crate) fn read(call: &Call) -> Result<Self, Failure> {
        if call.media_type() != "application/x-www-form-urlencoded" {
            let message = "The body must be application/x-www-form-urlencoded.";
            return Err(Failure::oauth("invalid_request", message));
        }
        let pairs = form_urlencoded::parse(&call.body);
        Ok(Self(pairs.into_owned().collect()))
    }

    /// The one value of a parameter; RFC 6749 §3.2 forbids a second, and treats an empty one as none.
    pub(crate) fn value(&self, name: &str) -> Result<Option<&str>, Failure> {
        let mut values = self.0.iter().filter(|(key, _)| key == name);
        let value = values.next().map(|(_, value)| value.as_str());
        if values.next().is_some() {
            let message = format!("OAuth 2 parameters can only have a single value: {name}");
            return Err(Failure::oauth("invalid_request", message));
        }
        Ok(value.filter(|value| !value.is_empty()))
    }
}
