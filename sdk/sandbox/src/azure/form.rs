//! Parameters of a form that was posted.

use crate::call::Call;

/// The parameters of one request, in the order sent.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// The body of a POST; another content type is an empty form.
    pub(crate) fn read(call: &Call) -> Self {
        if call.media_type() != "application/x-www-form-urlencoded" {
            return Self(Vec::new());
        }
        Self::parse(&call.body)
    }

    /// The query.
    pub(crate) fn query(call: &Call) -> Self {
        Self::parse(call.query.as_bytes())
    }

    fn parse(text: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(text);
        Self(
            pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// A parameter's value; an empty one counts as missing.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }
}
