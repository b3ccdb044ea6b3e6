//! HTTP requests that the host sends, and their answers.

use crate::Error as ProviderError;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;
use zeroize::Zeroizing;

/// A piece of a header value or of a body.
#[derive(Clone, PartialEq, Eq)]
pub enum Segment {
    /// The provider's own bytes.
    Bytes(Zeroizing<Vec<u8>>),
    /// The ServiceAccount token, put in by the host as it sends.
    SubjectToken,
}

impl fmt::Debug for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(formatter, "[{} bytes]", bytes.len()),
            Self::SubjectToken => formatter.write_str("subject-token"),
        }
    }
}

/// One HTTP request. `Debug` shows neither header values nor the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, Vec<Segment>)>,
    body: Vec<Segment>,
    timeout: Option<Duration>,
}

impl Request {
    /// Begins a request with any of the methods that the host sends.
    pub fn builder(method: impl Into<String>, url: impl Into<String>) -> RequestBuilder {
        RequestBuilder {
            request: Self {
                method: method.into(),
                url: url.into(),
                headers: Vec::new(),
                body: Vec::new(),
                timeout: None,
            },
            form: false,
        }
    }

    /// Begins a GET.
    pub fn get(url: impl Into<String>) -> RequestBuilder {
        Self::builder("GET", url)
    }

    /// Begins a POST.
    pub fn post(url: impl Into<String>) -> RequestBuilder {
        Self::builder("POST", url)
    }

    /// Begins a PUT.
    pub fn put(url: impl Into<String>) -> RequestBuilder {
        Self::builder("PUT", url)
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Headers, in the order they were added.
    #[must_use]
    pub fn headers(&self) -> &[(String, Vec<Segment>)] {
        &self.headers
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[Segment] {
        &self.body
    }

    /// A limit below the host's own.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

/// Builds a [`Request`].
#[derive(Clone, Debug)]
pub struct RequestBuilder {
    request: Request,
    form: bool,
}

impl RequestBuilder {
    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let value = vec![bytes(value.into().into_bytes())];
        self.request.headers.push((name.into(), value));
        self
    }

    /// Adds `Authorization: Bearer` with the ServiceAccount token.
    #[must_use]
    pub fn bearer_subject_token(mut self) -> Self {
        let value = vec![bytes(b"Bearer ".to_vec()), Segment::SubjectToken];
        self.request.headers.push(("authorization".into(), value));
        self
    }

    /// Adds `Authorization: Bearer` with a token.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// Adds a field to a form body, encoded as `application/x-www-form-urlencoded`.
    #[must_use]
    pub fn form(mut self, name: &str, value: &str) -> Self {
        let field = form_urlencoded::Serializer::new(String::new())
            .append_pair(name, value)
            .finish();
        self.begin_field();
        self.append(field.into_bytes());
        self
    }

    /// Adds a field to a form body whose value is the ServiceAccount token.
    #[must_use]
    pub fn form_token(mut self, name: &str) -> Self {
        let field = form_urlencoded::Serializer::new(String::new())
            .append_pair(name, "")
            .finish();
        self.begin_field();
        self.append(field.into_bytes());
        self.request.body.push(Segment::SubjectToken);
        self
    }

    fn begin_field(&mut self) {
        if self.form {
            self.append(b"&".to_vec());
            return;
        }
        self.form = true;
        self.request.headers.push((
            "content-type".into(),
            vec![bytes(b"application/x-www-form-urlencoded".to_vec())],
        ));
    }

    /// Neighbouring bytes are one segment, so that equal requests are equal values.
    fn append(&mut self, more: Vec<u8>) {
        if let Some(Segment::Bytes(last)) = self.request.body.last_mut() {
            last.extend_from_slice(&more);
            return;
        }
        self.request.body.push(bytes(more));
    }

    /// Sets a JSON body and its content type.
    #[must_use]
    pub fn json(self, value: &serde_json::Value) -> Self {
        self.header("content-type", "application/json")
            .body(value.to_string().into_bytes())
    }

    /// Appends bytes to the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.append(body.into());
        self
    }

    /// Appends the ServiceAccount token to the body, as it stands: inside a JSON string, say.
    #[must_use]
    pub fn body_token(mut self) -> Self {
        self.request.body.push(Segment::SubjectToken);
        self
    }

    /// Lowers the host's own time limit for this request.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.request.timeout = Some(timeout);
        self
    }

    /// Ends.
    #[must_use]
    pub fn build(self) -> Request {
        self.request
    }
}

fn bytes(bytes: Vec<u8>) -> Segment {
    Segment::Bytes(Zeroizing::new(bytes))
}

/// An answer. `Debug` does not show the body, which may hold a credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Zeroizing<Vec<u8>>,
}

impl Response {
    /// An answer without headers, as tests want it.
    #[must_use]
    pub fn new(status: u16, body: &[u8]) -> Self {
        Self::with_headers(status, Vec::new(), body.to_vec())
    }

    /// An answer; header names in lower case.
    #[must_use]
    pub fn with_headers(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Self {
        Self {
            status,
            headers,
            body: Zeroizing::new(body),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_ascii_lowercase(), value.into()));
        self
    }

    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first value of a header.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// `Retry-After` in its form of seconds (RFC 9110 §10.2.3).
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header_value("retry-after")?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body, read as JSON.
    ///
    /// # Errors
    ///
    /// `unavailable`: the other side's answer is cut off or not what it documents. Neither the body
    /// nor the parser's words enter the message, since both may quote a credential.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ProviderError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            self.unreadable(&format!(
                "JSON (line {}, column {})",
                error.line(),
                error.column()
            ))
        })
    }

    /// The body, read as XML.
    ///
    /// # Errors
    ///
    /// As [`json`](Self::json).
    pub fn xml<T: DeserializeOwned>(&self) -> Result<T, ProviderError> {
        let text = std::str::from_utf8(&self.body).map_err(|_| self.unreadable("UTF-8"))?;
        quick_xml::de::from_str(text).map_err(|_| self.unreadable("the expected XML"))
    }

    fn unreadable(&self, what: &str) -> ProviderError {
        ProviderError::unavailable(format!(
            "an answer with status {} and {} bytes is not {what}",
            self.status,
            self.body.len()
        ))
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Response")
            .field("status", &self.status)
            .field("body", &format_args!("[{} bytes]", self.body.len()))
            .finish_non_exhaustive()
    }
}

/// Why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// The operator's grant does not hold this host.
    NotGranted,
    /// The request breaks a rule of the host.
    InvalidRequest,
    /// The call has used up its requests or bytes.
    BudgetExceeded,
    /// No connection, no TLS session, or a broken answer.
    Unreachable,
    /// No answer in time.
    TimedOut,
    /// The answer is larger than the host accepts.
    TooLarge,
}

/// Why no answer came, in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What went wrong.
    pub code: ErrorCode,
    /// One sentence.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// What a failed request means for the verb. The host reports a missing grant as its operator's
/// to mend, whatever the provider answers.
impl From<Error> for ProviderError {
    fn from(error: Error) -> Self {
        match error.code {
            ErrorCode::Unreachable | ErrorCode::TimedOut | ErrorCode::TooLarge => {
                Self::unavailable(error.message)
            }
            ErrorCode::NotGranted => Self::denied(error.message),
            ErrorCode::InvalidRequest | ErrorCode::BudgetExceeded => Self::internal(error.message),
        }
    }
}
