//! Texts as values of a stack's configuration.
//!
//! The YAML host takes the type of a configuration value from its text, whatever type the program
//! declares: one that reads as an integer, a boolean, a number or any other JSON, in this order, is
//! that, and anything else a text (`pulumi-language-yaml`, `Run`). A text that it would take for
//! something else is written as a JSON string, which it reads as the text.

/// The value that the YAML host reads as this text: the text itself, or its JSON form.
pub(super) fn configured_text(text: &str) -> String {
    if is_surely_text(text) {
        text.to_owned()
    } else {
        serde_json::to_string(text).expect("a text has a JSON form")
    }
}

/// Whether the host surely reads it as a text. Go's numbers and JSON are not parsed here but excluded
/// by how they begin and what they consist of.
fn is_surely_text(text: &str) -> bool {
    // JSON's white space; other white space begins nothing but a text.
    let value = text.trim_matches([' ', '\t', '\n', '\r']);
    let Some(first) = value.bytes().next() else { return false };
    if matches!(first, b'{' | b'[' | b'"') {
        return false;
    }
    let digits = value.strip_prefix(['+', '-']).unwrap_or(value);
    let is_word = ["t", "f", "true", "false", "null", "nan", "inf", "infinity"]
        .iter()
        .any(|word| digits.eq_ignore_ascii_case(word));
    // Every number of Go consists of these, in any base, and has a digit.
    let is_of_number = |byte: u8| byte.is_ascii_hexdigit() || b"xXoOpP+-._".contains(&byte);
    let is_number = digits.bytes().all(is_of_number) && digits.bytes().any(|byte| byte.is_ascii_digit());
    !is_word && !is_number
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What the YAML host reads, as far as Rust's parsers accept what Go's do; `None` if no text.
    fn read(value: &str) -> Option<String> {
        let is_number = value.parse::<i64>().is_ok() || value.parse::<f64>().is_ok();
        let is_boolean =
            ["t", "T", "f", "F", "true", "TRUE", "True", "false", "FALSE", "False"].contains(&value);
        if value.len() > 1 && value.starts_with('0') && !value.starts_with("0.") {
            return Some(value.to_owned());
        }
        if is_number || is_boolean {
            return None;
        }
        match serde_json::from_str(value) {
            Ok(serde_json::Value::String(text)) => Some(text),
            Ok(_) => None,
            Err(_) => Some(value.to_owned()),
        }
    }

    proptest! {
        #[test]
        fn every_text_is_read_as_itself(
            text in prop_oneof![
                ".*",
                "[ \t\n]?[-+]?[0-9]{0,25}[._]?[0-9]{0,3}([eExX][-+]?[0-9a-f]{1,3})?[ \n]?",
                "[ \n]?[\\[{\"]?[a-z0-9\": ,]{0,6}[\\]}\"]?[ \n]?",
                "[-+]?(?i:nan|inf|infinity|true|false|t|f|null)",
            ],
        ) {
            prop_assert_eq!(read(&configured_text(&text)), Some(text));
        }
    }

    #[test]
    fn plain_texts_are_readable() {
        for text in
            ["hush", "p@ss w0rd", "-----BEGIN KEY-----\nx\n", "--x", "${x}", "~", "truely", "1 a", "feed"]
        {
            assert_eq!(configured_text(text), text);
        }
        for text in [
            "", " ", "1e5", " 1", "1_000", "0x1p-2", "-.5", "+Inf", "t", "null", "{", "[1,2]", "\"q\"", "007",
        ] {
            assert_ne!(configured_text(text), text);
        }
        assert_eq!(configured_text("{\"a\":1}"), r#""{\"a\":1}""#);
    }
}
