//! Patterns with `*`, as trust policies and fault rules use them.

/// Whether `text` fits `pattern`, where each `*` stands for any run of characters, also none.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(rest) = text.strip_prefix(head) else {
        return false;
    };
    let starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts
        .filter_map(|at| rest.get(at..))
        .any(|rest| fits(tail, rest))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "b", false),
            ("*", "", true),
            ("sts.*.amazonaws.com", "sts.us-east-1.amazonaws.com", true),
            ("sts.*.amazonaws.com", "sts.amazonaws.com", false),
            (
                "system:serviceaccount:*:app",
                "system:serviceaccount:a:app",
                true,
            ),
            (
                "system:serviceaccount:*:app",
                "system:serviceaccount:a:apps",
                false,
            ),
            ("*a*", "bab", true),
            ("*a*", "bbb", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} against {text}");
        }
    }
}
