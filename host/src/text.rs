//! Text of others, which must not steer what shows it.

/// The characters that Unicode 16 calls format characters (general category Cf): they show nothing, and
/// turn the order of what stands beside them, join it or hide in it
/// (<https://www.unicode.org/Public/16.0.0/ucd/extracted/DerivedGeneralCategory.txt>,
/// <https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing>).
const FORMAT: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    // Line and paragraph separator (Zl, Zp): no format characters, but some viewers break lines there.
    ('\u{2028}', '\u{2029}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

/// Whether a character steers a terminal or a viewer in place of being shown: control characters, format
/// characters, and the separators of lines and paragraphs.
///
/// ```
/// assert!(gatepass::text::steers('\u{1b}'), "begins a terminal's commands");
/// assert!(gatepass::text::steers('\u{202e}'), "turns the order of what follows");
/// assert!(!gatepass::text::steers('ß'));
/// ```
#[must_use]
pub fn steers(character: char) -> bool {
    let within = |(first, last): &(char, char)| (*first..=*last).contains(&character);
    character.is_control() || FORMAT.iter().any(within)
}

/// At most `longest` characters of a text in one line, with a space for each that [`steers`].
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    let harmless = |character| if steers(character) { ' ' } else { character };
    text.chars().take(longest).map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_known_and_nothing_else() {
        for steering in [
            '\0',
            '\n',
            '\r',
            '\t',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{206f}',
            '\u{feff}',
            '\u{fffb}',
            '\u{e0041}',
            '\u{e007f}',
        ] {
            assert!(steers(steering), "{:?}", steering.escape_unicode());
        }
        for shown in [
            ' ', 'a', '~', 'ß', '\u{2010}', '\u{2027}', '\u{202f}', '\u{2070}', '本', '🔑',
        ] {
            assert!(!steers(shown), "{:?}", shown.escape_unicode());
        }
    }

    #[test]
    fn the_ranges_ascend_and_do_not_overlap() {
        for (first, last) in FORMAT {
            assert!(first <= last, "{:?}", first.escape_unicode());
        }
        for pair in FORMAT.windows(2) {
            let [(_, last), (first, _)] = pair else {
                continue;
            };
            assert!(last < first, "{:?}", first.escape_unicode());
        }
    }

    #[test]
    fn one_line_is_short_and_harmless() {
        assert_eq!(one_line("a\u{202e}b\nc\u{2066}d\u{61c}", 100), "a b c d ");
        assert_eq!(one_line("größer", 3), "grö");
    }
}
