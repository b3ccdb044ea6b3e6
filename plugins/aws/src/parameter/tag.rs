//! Session tags, as they stand in one parameter.

use gatepass_sdk::Error;
use std::collections::BTreeSet;

/// Tags of one session (STS `Tags`, `TransitiveTagKeys`).
const MAX_TAGS: usize = 50;

/// Longest key in characters (STS `tagKeyType`).
const MAX_KEY: usize = 128;

/// Longest value in characters (STS `tagValueType`).
const MAX_VALUE: usize = 256;

/// The beginning of keys that AWS keeps for itself, in any case.
const RESERVED: &str = "aws:";

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) key: String,
    pub(crate) value: String,
}

/// Reads `KEY=VALUE,KEY=VALUE`. A comma is legal in no tag of AWS, so it separates without being
/// escaped; the first equals sign ends the key, unless it is written `\=`. A value may be empty
/// and hold equals signs as they are.
///
/// # Errors
///
/// `invalid-configuration` naming the tag and the rule.
pub(crate) fn tags(list: &str) -> Result<Vec<Tag>, Error> {
    let tags: Vec<Tag> = list.split(',').map(tag).collect::<Result<_, _>>()?;
    at_most("tags", tags.len())?;
    unique("tags", tags.iter().map(|tag| tag.key.as_str()))?;
    Ok(tags)
}

/// Reads the keys that are passed on along a chain.
///
/// # Errors
///
/// `invalid-configuration` if one is not among `tags`: STS refuses it too.
pub(crate) fn transitive(list: &str, tags: &[Tag]) -> Result<Vec<String>, Error> {
    let keys: Vec<String> = list.split(',').map(str::to_owned).collect();
    unique("transitive-tags", keys.iter().map(String::as_str))?;
    match keys
        .iter()
        .find(|key| !tags.iter().any(|tag| tag.key == **key))
    {
        None => Ok(keys),
        Some(key) => Err(Error::invalid_configuration(format!(
            "parameter transitive-tags: '{}' is not a key of parameter tags: add it there, or remove it here",
            key.escape_debug()
        ))),
    }
}

fn tag(text: &str) -> Result<Tag, Error> {
    split(text)
        .filter(|tag| is_key(&tag.key) && is_value(&tag.value))
        .ok_or_else(|| {
            Error::invalid_configuration(format!(
                "parameter tags: '{}' must be KEY=VALUE, a key of 1 to {MAX_KEY} and a value of at most {MAX_VALUE} letters, digits, spaces and signs of _.:/=+-@, where = in a key is written \\=, and no key begins with {RESERVED}",
                text.escape_debug()
            ))
        })
}

/// A backslash that is not before an equals sign stays, and is then no character of a key.
fn split(text: &str) -> Option<Tag> {
    let mut key = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('=')?;
        rest = after;
        let Some(escaped) = before.strip_suffix('\\') else {
            key.push_str(before);
            break;
        };
        key.push_str(escaped);
        key.push('=');
    }
    Some(Tag {
        key,
        value: rest.into(),
    })
}

fn is_key(text: &str) -> bool {
    let reserved = text
        .get(..RESERVED.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(RESERVED));
    !reserved && (1..=MAX_KEY).contains(&text.chars().count()) && text.chars().all(is_legal)
}

fn is_value(text: &str) -> bool {
    text.chars().count() <= MAX_VALUE && text.chars().all(is_legal)
}

/// `[\p{L}\p{Z}\p{N}_.:/=+\-@]`, as STS has it.
fn is_legal(character: char) -> bool {
    let space = character.is_whitespace() && !character.is_control();
    character.is_alphanumeric() || space || "_.:/=+-@".contains(character)
}

fn at_most(name: &str, count: usize) -> Result<(), Error> {
    if count <= MAX_TAGS {
        return Ok(());
    }
    Err(Error::invalid_configuration(format!(
        "parameter {name} holds {count} tags, and STS accepts {MAX_TAGS}"
    )))
}

/// STS compares keys without regard to case.
fn unique<'a>(name: &str, keys: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for key in keys {
        if !seen.insert(key.to_lowercase()) {
            return Err(Error::invalid_configuration(format!(
                "parameter {name}: the key '{}' stands twice, and STS does not tell cases apart: remove one",
                key.escape_debug()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_pairs_separated_by_commas() {
        for (text, expected) in [
            (
                "company=acme industries,product=x",
                vec![("company", "acme industries"), ("product", "x")],
            ),
            ("empty=", vec![("empty", "")]),
            ("a=b=c", vec![("a", "b=c")]),
            (r"a\=b=c", vec![("a=b", "c")]),
            (r"a\=\=b=c=d", vec![("a==b", "c=d")]),
            ("größe=多い", vec![("größe", "多い")]),
            ("a:b/c=+-@_.", vec![("a:b/c", "+-@_.")]),
        ] {
            let read: Vec<(String, String)> = tags(text)
                .unwrap()
                .into_iter()
                .map(|tag| (tag.key, tag.value))
                .collect();
            let read: Vec<(&str, &str)> = read
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect();
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn what_sts_would_refuse_is_refused_before() {
        let many: Vec<String> = (0..51).map(|number| format!("k{number}=v")).collect();
        for text in [
            "",
            "a",
            "=b",
            r"a\=b",
            "a=b,",
            ",a=b",
            "a=b,,c=d",
            "a=b\n",
            "a\\b=c",
            r"a=b\c",
            "a=b;c",
            "aws:a=b",
            "AWS:a=b",
            "a=1,A=2",
            &format!("{}=v", "k".repeat(129)),
            &format!("k={}", "v".repeat(257)),
            &many.join(","),
        ] {
            let error = tags(text).unwrap_err();
            assert!(error.message().starts_with("parameter tags"), "{error}");
        }
        let longest = format!("{}={}", "k".repeat(128), "v".repeat(256));
        assert_eq!(tags(&longest).unwrap().len(), 1);
        assert_eq!(tags(&many[..50].join(",")).unwrap().len(), 50);
    }

    #[test]
    fn transitive_keys_are_among_the_tags() {
        let all = tags(r"a=1,b\=c=2").unwrap();
        assert_eq!(transitive("b=c,a", &all).unwrap(), ["b=c", "a"]);
        for text in ["", "c", "a,", "a,a", "A", r"b\=c"] {
            assert!(transitive(text, &all).is_err(), "{text}");
        }
    }
}
