//! YAML of programs: scalars, and keys of mappings.
//!
//! A text is quoted as in JSON, which YAML reads the same way, except for characters that are line
//! breaks to YAML 1.1 (U+0085, U+2028, U+2029) or that its parsers refuse: these are escaped. The
//! rules are those of go-yaml, which both the Pulumi CLI and its YAML host use.

use std::fmt::Write as _;

/// Maximum length of a key on the line of its value, in characters: parsers look no further than
/// 1,024 for its colon.
const LONGEST_SIMPLE_KEY: usize = 1000;

/// A text as a double-quoted scalar.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character if is_raw(character) => out.push(character),
            character => {
                let code = u32::from(character);
                let _ = match code {
                    ..0x100 => write!(out, "\\x{code:02x}"),
                    0x100..0x1_0000 => write!(out, "\\u{code:04x}"),
                    0x1_0000.. => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

/// Whether a character may stand in a line as itself.
fn is_raw(character: char) -> bool {
    match character {
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' => true,
        // The last two of each plane are no characters.
        '\u{10000}'.. => u32::from(character) & 0xfffe != 0xfffe,
        _ => false,
    }
}

/// A text as a key: quoted unless YAML reads it as this text anyway.
pub fn key(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'));
    // Words that YAML reads as something else.
    let is_word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
        .contains(&text.to_ascii_lowercase().as_str());
    if is_plain && !is_word { text.to_owned() } else { quoted(text) }
}

/// What precedes the value of a key, as lines without indentation: the last one ends in a colon.
pub(super) fn before_value(key: &str) -> Vec<String> {
    if key.chars().count() <= LONGEST_SIMPLE_KEY {
        vec![format!("{key}:")]
    } else {
        vec![format!("? {key}"), ":".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// go-yaml's reader and scanner: what a line may contain.
    fn is_accepted(character: char) -> bool {
        let is_break = matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let is_read = matches!(
            u32::from(character),
            0x20..=0x7e | 0xa0..=0xd7ff | 0xe000..=0xfefe | 0xff00..=0xfffd | 0x1_0000..=0x10_ffff
        );
        is_read && !is_break
    }

    /// Texts with many of the characters that need care.
    fn texts() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            '"',
            '\\',
            '\n',
            '\r',
            '\t',
            '\0',
            '\u{7f}',
            '\u{80}',
            '\u{85}',
            '\u{9f}',
            '\u{a0}',
            '\u{2028}',
            '\u{2029}',
            '\u{feff}',
            '\u{fffe}',
            '\u{ffff}',
            '\u{1fffe}',
            '\u{10ffff}',
            '$',
            '{',
            ' ',
            '\'',
            '#',
        ]);
        prop::collection::vec(prop_oneof![odd, any::<char>()], 0..24).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_one_line_that_yaml_reads_as_the_text(text in texts()) {
            let yaml = quoted(&text);
            prop_assert!(yaml.chars().all(is_accepted), "{yaml:?}");
            let read: String = serde_saphyr::from_str(&yaml).expect("a text");
            prop_assert_eq!(read, text);
        }
    }

    #[test]
    fn line_breaks_and_control_characters_are_escaped() {
        let text = "a\u{2028}\u{2029}\u{85}\u{7f}\u{9b}\u{feff}\u{fffe}\u{ffff}\u{1fffe}\0\u{1}é\u{1f600}";
        let expected =
            "\"a\\u2028\\u2029\\x85\\x7f\\x9b\\ufeff\\ufffe\\uffff\\U0001fffe\\x00\\x01é\u{1f600}\"";
        assert_eq!(quoted(text), expected);
    }

    #[test]
    fn a_key_is_quoted_if_yaml_would_read_something_else() {
        for plain in ["a", "random_pet-b", "nothing"] {
            assert_eq!(key(plain), plain);
        }
        for other in ["", "on", "Null", "7", "a.b", "<<", "~", "a b"] {
            assert_eq!(key(other), format!("{other:?}"));
        }
    }

    #[test]
    fn a_long_key_stands_on_a_line_of_its_own() {
        assert_eq!(before_value("a"), ["a:"]);
        let long = "ä".repeat(1001);
        assert_eq!(before_value(&long), [format!("? {long}"), ":".to_owned()]);
    }
}
