//! HTTP for providers: what they may send, and how the host sends it.
//!
//! The policy half ([`AllowedHost`], [`address`]) takes values and returns values; the sending
//! half (`send`) obeys it.

pub mod address;
mod allowed_host;
mod connect_to;
pub(crate) mod send;

pub use allowed_host::AllowedHost;
pub use connect_to::ConnectTo;

use crate::secret::Secret;
use std::fmt;
use std::time::Duration;
use zeroize::Zeroizing;

/// Bounds on what one call of a plugin may send and receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressLimits {
    /// Requests in one call. 8 if not set: the longest chain of a cloud's token exchange is four.
    pub max_requests: u32,
    /// Bytes of one request's body. 256 KiB if not set: the largest token is 20,000 bytes.
    pub max_request_bytes: usize,
    /// Bytes of one answer's body. 1 MiB if not set: a kubeconfig or JWKS is a few KiB.
    pub max_response_bytes: usize,
    /// One request from name look-up to the last byte. 10 s if not set.
    pub request_timeout: Duration,
}

impl Default for EgressLimits {
    fn default() -> Self {
        Self {
            max_requests: 8,
            max_request_bytes: 256 * 1024,
            max_response_bytes: 1024 * 1024,
            request_timeout: Duration::from_secs(10),
        }
    }
}

/// A piece of a header value or of a body, as a provider wrote it.
#[derive(Clone)]
pub(crate) enum Segment {
    Bytes(Zeroizing<Vec<u8>>),
    SubjectToken,
}

/// A request as a provider wrote it: nothing in it is checked yet.
pub(crate) struct Outgoing {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<Segment>)>,
    pub(crate) body: Vec<Segment>,
    pub(crate) timeout: Option<Duration>,
}

/// An answer.
pub(crate) struct Incoming {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Incoming {
    /// The answer with a placeholder wherever it quotes the subject token: services that echo what they
    /// were sent must not be a way around the segment.
    pub(crate) fn without(mut self, token: Option<&Secret>) -> Self {
        let Some(token) = token.map(Secret::expose).filter(|token| !token.is_empty()) else {
            return self;
        };
        for (_, value) in &mut self.headers {
            if value.contains(token) {
                *value = value.replace(token, WITHHELD);
            }
        }
        if memmem(&self.body, token.as_bytes()).is_some() {
            self.body = replaced(&self.body, token.as_bytes());
        }
        self
    }
}

/// What stands for the token in an answer that quotes it.
const WITHHELD: &str = "[subject-token]";

fn memmem(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

fn replaced(mut text: &[u8], word: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut whole = Zeroizing::new(Vec::with_capacity(text.len() + WITHHELD.len()));
    while let Some((before, after)) = memmem(text, word)
        .and_then(|place| Some((text.get(..place)?, text.get(place + word.len()..)?)))
    {
        whole.extend_from_slice(before);
        whole.extend_from_slice(WITHHELD.as_bytes());
        text = after;
    }
    whole.extend_from_slice(text);
    whole
}

/// Why a request was not sent, or had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotGranted,
    InvalidRequest,
    BudgetExceeded,
    Unreachable,
    TimedOut,
    TooLarge,
}

/// A refusal in words. It names host and rule; never a query, a header's value or a body.
#[derive(Clone, Debug)]
pub(crate) struct EgressError {
    pub(crate) refusal: Refusal,
    pub(crate) message: String,
}

impl EgressError {
    pub(crate) fn new(refusal: Refusal, message: impl Into<String>) -> Self {
        Self {
            refusal,
            message: message.into(),
        }
    }

    pub(crate) fn not_granted(message: impl Into<String>) -> Self {
        Self::new(Refusal::NotGranted, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Refusal::InvalidRequest, message)
    }
}

impl fmt::Display for EgressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for EgressError {}

/// Puts segments together, up to `budget` bytes. The token stands for itself only where it needs no
/// escaping, so that no token can end a form field or a JSON string early.
pub(crate) fn assemble(
    segments: &[Segment],
    token: Option<&Secret>,
    budget: usize,
) -> Result<Zeroizing<Vec<u8>>, EgressError> {
    let mut whole = Zeroizing::new(Vec::new());
    for segment in segments {
        let bytes = match segment {
            Segment::Bytes(bytes) => bytes.as_slice(),
            Segment::SubjectToken => token
                .map_or_else(|| Err(no_token()), plain_token)?
                .as_bytes(),
        };
        // Checked before it is copied: a segment of the token costs the guest nothing.
        if whole.len() + bytes.len() > budget {
            return Err(EgressError::new(
                Refusal::BudgetExceeded,
                format!("a request of more than {budget} bytes is not sent"),
            ));
        }
        whole.extend_from_slice(bytes);
    }
    Ok(whole)
}

fn no_token() -> EgressError {
    EgressError::invalid("there is no subject token in this call to put into a request")
}

/// The characters of a JWT in compact form (RFC 7515 §3.1), which every token of Kubernetes has.
fn plain_token(token: &Secret) -> Result<&str, EgressError> {
    let text = token.expose();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !text.is_empty() && text.bytes().all(plain) {
        return Ok(text);
    }
    Err(EgressError::invalid(
        "the subject token is not a JWT in compact form, and might need escaping where the provider puts it",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Segment {
        Segment::Bytes(Zeroizing::new(text.as_bytes().to_vec()))
    }

    #[test]
    fn the_token_stands_where_its_segment_is() {
        let token = Secret::from("a.b-c_d");
        let body = assemble(
            &[bytes("x="), Segment::SubjectToken, bytes("&y=1")],
            Some(&token),
            100,
        )
        .unwrap();
        assert_eq!(body.as_slice(), b"x=a.b-c_d&y=1");
    }

    #[test]
    fn a_token_that_needs_escaping_is_refused_and_not_quoted() {
        for text in ["", "a&b", "a\"b", "a b", "a\nb", "a%b", "ä"] {
            let error =
                assemble(&[Segment::SubjectToken], Some(&Secret::from(text)), 100).unwrap_err();
            assert_eq!(error.refusal, Refusal::InvalidRequest, "{text:?}");
            assert!(text.is_empty() || !error.message.contains(text), "{error}");
        }
    }

    #[test]
    fn a_token_that_is_repeated_is_counted_each_time() {
        let token = Secret::from("abc");
        let many = vec![Segment::SubjectToken; 1_000_000];
        let error = assemble(&many, Some(&token), 1024).unwrap_err();
        assert_eq!(error.refusal, Refusal::BudgetExceeded);
        assert!(assemble(&many[..4], Some(&token), 12).is_ok());
    }

    #[test]
    fn an_answer_that_quotes_the_token_is_given_without_it() {
        let token = Secret::from("e.y.J");
        let answer = |body: &str| Incoming {
            status: 400,
            headers: vec![("www-authenticate".into(), "Bearer e.y.J".into())],
            body: Zeroizing::new(body.as_bytes().to_vec()),
        };
        let quoted = answer("{\"got\":\"e.y.J\",\"again\":\"e.y.J\"}").without(Some(&token));
        let told = String::from_utf8(quoted.body.to_vec()).unwrap();
        let expected = "{\"got\":\"[subject-token]\",\"again\":\"[subject-token]\"}";
        assert_eq!(told, expected);
        assert_eq!(quoted.headers[0].1, "Bearer [subject-token]");
        let other = answer("e.y.K").without(Some(&token));
        assert_eq!(other.body.as_slice(), b"e.y.K");
        let none = answer("e.y.J").without(None);
        assert_eq!(none.body.as_slice(), b"e.y.J");
    }

    #[test]
    fn a_call_without_a_token_cannot_send_one() {
        let error = assemble(&[Segment::SubjectToken], None, 100).unwrap_err();
        assert_eq!(error.refusal, Refusal::InvalidRequest);
    }
}
