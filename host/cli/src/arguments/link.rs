//! A link of a chain, as `--link` writes it.

use gatepass::AccessRequest;
use std::fmt;
use std::str::FromStr;

/// What one further link asks for: `NAME=VALUE` pairs with commas between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link(pub(crate) AccessRequest);

impl FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut link = AccessRequest::default();
        for pair in pairs(text) {
            let (name, value) = pair
                .split_once('=')
                .filter(|(name, _)| !name.is_empty())
                .ok_or_else(|| {
                    format!(
                        "'{pair}' must be written NAME=VALUE, and a comma in a value as backslash and comma"
                    )
                })?;
            let value = value.to_owned();
            let earlier = match name {
                "region" => link.region.replace(value),
                "endpoint" => link.endpoint.replace(value),
                "scope" => {
                    link.scopes.push(value);
                    None
                }
                name => link.parameters.insert(name.to_owned(), value),
            };
            if earlier.is_some() {
                return Err(format!("{name} is given twice in one link"));
            }
        }
        Ok(Self(link))
    }
}

impl fmt::Display for Link {
    /// As [`from_str`](Self::from_str) reads it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(link) = self;
        let scopes = link.scopes.iter().map(|scope| ("scope", scope));
        let parameters = link.parameters.iter();
        let region = link.region.iter().map(|region| ("region", region));
        let endpoint = link.endpoint.iter().map(|endpoint| ("endpoint", endpoint));
        let all = region
            .chain(endpoint)
            .chain(scopes)
            .chain(parameters.map(|(name, value)| (name.as_str(), value)));
        let escaped = |text: &str| text.replace('\\', r"\\").replace(',', r"\,");
        let written = all.map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
        formatter.write_str(&written.collect::<Vec<_>>().join(","))
    }
}

/// The parts between commas. A backslash takes the comma or the backslash after it for itself; before
/// anything else it is one, as in the JSON of a policy.
fn pairs(text: &str) -> Vec<String> {
    let mut pairs = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = match character {
            '\\' => characters.next_if(|next| matches!(next, ',' | '\\')),
            _ => None,
        };
        match (character, escaped, pairs.last_mut()) {
            (',', None, _) => pairs.push(String::new()),
            (character, escaped, Some(pair)) => pair.push(escaped.unwrap_or(character)),
            (_, _, None) => {}
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(text: &str) -> Vec<(String, String)> {
        let Link(link) = text.parse().unwrap();
        link.parameters.into_iter().collect()
    }

    #[test]
    fn pairs_are_told_apart_and_values_keep_their_commas() {
        for (text, expected) in [
            ("a=b", &[("a", "b")][..]),
            ("a=b,c=d=e", &[("a", "b"), ("c", "d=e")]),
            (r"a=b\,c", &[("a", "b,c")]),
            (r"a=b\\,c=d", &[("a", r"b\"), ("c", "d")]),
            (r#"a={"x":"\""}"#, &[("a", r#"{"x":"\""}"#)]),
            ("a=", &[("a", "")]),
            (r"a=b\", &[("a", r"b\")]),
        ] {
            let expected: Vec<_> = expected
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(parameters(text), expected, "{text}");
        }
    }

    #[test]
    fn region_endpoint_and_scopes_are_the_links_own() {
        let Link(link) = "region=r,endpoint=https://e.example,scope=a,scope=b,role-arn=x"
            .parse()
            .unwrap();
        assert_eq!(link.region.as_deref(), Some("r"));
        assert_eq!(link.endpoint.as_deref(), Some("https://e.example"));
        assert_eq!(link.scopes, ["a", "b"]);
        assert_eq!(link.parameters.len(), 1);
    }

    #[test]
    fn what_is_no_pair_or_comes_twice_is_refused() {
        for (text, words) in [
            ("", "NAME=VALUE"),
            ("a", "'a'"),
            ("=a", "'=a'"),
            ("a=b,", "''"),
            ("a=b,a=c", "a is given twice"),
            ("region=b,region=c", "region is given twice"),
        ] {
            let error = text.parse::<Link>().unwrap_err();
            assert!(error.contains(words), "{error} lacks {words}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = r"region=r,scope=a\,b,policy={\\\\x\,y},role-arn=arn:x";
        let link: Link = text.parse().unwrap();
        assert_eq!(link.to_string().parse::<Link>().unwrap(), link);
        assert_eq!(link.to_string(), text);
    }
}
