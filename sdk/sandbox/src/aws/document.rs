//! Documents of the query protocol: one tree, written as XML or, for who accepts it, as JSON.

use http::StatusCode;
use http::header::HeaderName;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::failure::Failure;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::clock::rfc3339;

const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

#[derive(Debug, Clone)]
pub(crate) enum Node {
    Text(String),
    Number(i64),
    /// Seconds since the epoch: ISO 8601 in XML, a number in JSON.
    Time(i64),
    Branch(Vec<(&'static str, Node)>),
}

impl Node {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn xml(&self, into: &mut String) {
        match self {
            Self::Text(text) => escape(text, into),
            Self::Number(number) => into.push_str(&number.to_string()),
            Self::Time(seconds) => into.push_str(&rfc3339(*seconds)),
            Self::Branch(fields) => {
                for (name, node) in fields {
                    into.push_str(&format!("<{name}>"));
                    node.xml(into);
                    into.push_str(&format!("</{name}>"));
                }
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
            Self::Time(seconds) => (*seconds as f64).into(),
            Self::Branch(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, node)| ((*name).to_owned(), node.json()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

/// A result in its `…Response`/`…Result` envelope.
pub(crate) fn success(action: &str, result: &Node, call: &Call) -> Answer {
    let request = Uuid::new_v4().to_string();
    let answer = if accepts_json(call) {
        let body = json!({
            format!("{action}Response"): {
                format!("{action}Result"): result.json(),
                "ResponseMetadata": {"RequestId": request},
            },
        });
        answer::json(StatusCode::OK, &body)
    } else {
        let mut inner = String::new();
        result.xml(&mut inner);
        let body = format!(
            "<{action}Response xmlns=\"{NAMESPACE}\"><{action}Result>{inner}</{action}Result>\
             <ResponseMetadata><RequestId>{request}</RequestId></ResponseMetadata></{action}Response>"
        );
        answer::content(StatusCode::OK, "text/xml", body)
    };
    answer::with_header(
        answer,
        HeaderName::from_static("x-amzn-requestid"),
        &request,
    )
}

pub(crate) fn failure(failure: &Failure, call: &Call, request: &str) -> Answer {
    let kind = if failure.status.is_server_error() {
        "Receiver"
    } else {
        "Sender"
    };
    let Failure {
        status,
        code,
        message,
    } = failure;
    if accepts_json(call) {
        let error = json!({"Code": code, "Message": message, "Type": kind});
        return answer::json(*status, &json!({"Error": error, "RequestId": request}));
    }
    let error = Node::Branch(vec![
        ("Type", Node::text(kind)),
        ("Code", Node::text(code)),
        ("Message", Node::text(message)),
    ]);
    let document = Node::Branch(vec![("Error", error), ("RequestId", Node::text(request))]);
    let mut inner = String::new();
    document.xml(&mut inner);
    let body = format!("<ErrorResponse xmlns=\"{NAMESPACE}\">{inner}</ErrorResponse>");
    answer::content(*status, "text/xml", body)
}

fn accepts_json(call: &Call) -> bool {
    call.header("accept")
        .is_some_and(|accept| accept.starts_with("application/json"))
}

fn escape(text: &str, into: &mut String) {
    for character in text.chars() {
        match character {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&apos;"),
            other => into.push(other),
        }
    }
}
