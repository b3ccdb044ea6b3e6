//! The format of AWS's shared files (AWS SDKs and Tools Reference Guide, "Shared config and
//! credentials files").

use gatepass_sdk::Secret;
use std::collections::BTreeMap;

/// The properties of one section, by their name in lower case.
pub(super) type Section = BTreeMap<String, Secret>;

/// Reads sections by their heading. A section that stands twice is one, and of a property that
/// does the last value holds. Lines that are indented beneath a property belong to it, and none
/// that is read here has such lines.
///
/// # Errors
///
/// The number of the first line that is none of this format, and what it should be. The line
/// itself may hold a key, and is not quoted.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, Section>, String> {
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let mut heading: Option<String> = None;
    let mut nests = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let number = index + 1;
        let content = line.trim();
        let indented = line.starts_with(char::is_whitespace);
        if content.is_empty() || content.starts_with(['#', ';']) || (indented && nests) {
            continue;
        }
        if let Some(rest) = content.strip_prefix('[') {
            let name = rest.split_once(']').map(|(name, _)| name.trim());
            let name = name.ok_or_else(|| format!("line {number}: a heading ends in ]"))?;
            sections.entry(name.into()).or_default();
            heading = Some(name.into());
            nests = false;
            continue;
        }
        let (key, value) = property(content)
            .ok_or_else(|| format!("line {number}: it must be NAME = VALUE or [HEADING]"))?;
        let section = heading.as_ref().and_then(|name| sections.get_mut(name));
        let section = section.ok_or_else(|| format!("line {number}: no [HEADING] is before it"))?;
        section.insert(key, value);
        nests = true;
    }
    Ok(sections)
}

/// A comment at the end of a line begins after white space.
fn property(content: &str) -> Option<(String, Secret)> {
    let (key, value) = content.split_once('=')?;
    let key = key.trim().to_ascii_lowercase();
    let comment = value
        .char_indices()
        .zip(value.chars().skip(1))
        .find(|((_, before), character)| before.is_whitespace() && "#;".contains(*character));
    let end = comment.map_or(value.len(), |((at, _), _)| at);
    let value = value.get(..end)?.trim();
    (!key.is_empty()).then(|| (key, value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_hold_properties() {
        let text = "\u{feff}# comment\r\n[default]\r\nRegion = us-east-1 # here\r\n\n[profile a b] ; x\ns3 =\n  max = 1\nrole_arn=x#y\nkey = a=b;c\nempty =\n[default]\nregion = eu-west-1\n";
        let sections = parse(text).unwrap();
        let value = |heading: &str, name: &str| sections[heading][name].expose().to_owned();
        assert_eq!(value("default", "region"), "eu-west-1");
        assert_eq!(value("profile a b", "role_arn"), "x#y");
        assert_eq!(value("profile a b", "key"), "a=b;c");
        assert_eq!(value("profile a b", "empty"), "");
        assert!(!sections["profile a b"].contains_key("max"));
        assert_eq!(parse("").unwrap().len(), 0);
    }

    #[test]
    fn the_first_property_of_a_section_may_be_indented() {
        let sections = parse("[default]\n  region = us-east-1\n").unwrap();
        assert_eq!(sections["default"]["region"].expose(), "us-east-1");
    }

    #[test]
    fn a_line_that_is_none_is_told_by_its_number() {
        for (text, line) in [
            ("key = secret", "line 1"),
            ("[default]\nsecret", "line 2"),
            ("[default]\n = secret", "line 2"),
            ("\n\n[default", "line 3"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(line), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
