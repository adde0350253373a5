//! The forms in which a text may quote a secret.
//!
//! Providers are Go programs: they put values into texts by `%s`, `%v` and `%q`, as JSON (of requests and answers, sometimes
//! within another JSON text), in URLs, and as base64 (of bodies, and of `Authorization` headers, where the value stands behind
//! something else).

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// Forms shorter than this, in bytes, stand in texts by chance.
const SHORTEST_FRAGMENT: usize = 8;

/// All forms of `text`, itself first, each once.
pub(super) fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned()];
    let mut add = |form: String| {
        if !form.is_empty() && !forms.contains(&form) {
            forms.push(form);
        }
    };
    for escape in [json, html_safe_json, go_quoted] {
        let escaped = escape(text);
        if escaped != text {
            // JSON within JSON, and what is quoted once more.
            add(json(&escaped));
        }
        add(escaped);
    }
    for reserved in [QUERY, PATH_SEGMENT, USER_INFORMATION] {
        add(percent_encoded(text, reserved));
    }
    add(percent_encoded(text, QUERY).replace('+', "%20"));
    for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
        add(engine.encode(text));
    }
    for before in 0..3 {
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let fragment = within_base64(text, before, engine);
            if fragment.len() >= SHORTEST_FRAGMENT {
                add(fragment);
            }
        }
    }
    forms
}

/// The characters of base64 that depend on nothing but `text`, where it begins `before` bytes after a multiple of three.
fn within_base64(text: &str, before: usize, engine: &base64::engine::GeneralPurpose) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(text.as_bytes());
    let encoded = engine.encode(&bytes);
    // Of six bits each; what shares one with the bytes around the text is left out.
    let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded.get(first..end).unwrap_or_default().to_owned()
}

/// The inside of a JSON string.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The same, as Go's encoder writes it unless told otherwise.
fn html_safe_json(text: &str) -> String {
    let mut escaped = String::new();
    for character in json(text).chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_unicode_escape(&mut escaped, character),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The inside of a text as Go's `%q` writes it.
fn go_quoted(text: &str) -> String {
    let mut quoted = String::new();
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            other if other < ' ' || other == '\u{7f}' => {
                write!(quoted, "\\x{:02x}", u32::from(other)).expect("a string takes everything");
            }
            // What is not printable to Rust's own formatting is not to Go's.
            other if other.escape_debug().len() > 1 && other != '\'' => {
                push_unicode_escape(&mut quoted, other);
            }
            other => quoted.push(other),
        }
    }
    quoted
}

fn push_unicode_escape(text: &mut String, character: char) {
    let number = u32::from(character);
    let written =
        if number > 0xffff { write!(text, "\\U{number:08x}") } else { write!(text, "\\u{number:04x}") };
    written.expect("a string takes everything");
}

/// What stands for itself in a part of a URL, besides letters, digits and `-_.~`; by Go's package `net/url`.
#[derive(Clone, Copy)]
struct Unescaped(&'static [u8], /* a blank is a plus sign */ bool);

const QUERY: Unescaped = Unescaped(b"", true);
const PATH_SEGMENT: Unescaped = Unescaped(b"$&+=:@", false);
const USER_INFORMATION: Unescaped = Unescaped(b"$&+,;=", false);

fn percent_encoded(text: &str, unescaped: Unescaped) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte == b' ' && unescaped.1 {
            encoded.push('+');
        } else if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || unescaped.0.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a string takes everything");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_among_the_forms() {
        let forms = forms("a\"b <&>\n/?é+x");
        for expected in [
            "a\"b <&>\n/?é+x",
            r#"a\"b <&>\n/?é+x"#,
            r#"a\"b \u003c\u0026\u003e\n/?é+x"#,
            r#"a\\\"b <&>\\n/?é+x"#,
            "a%22b+%3C%26%3E%0A%2F%3F%C3%A9%2Bx",
            "a%22b%20%3C%26%3E%0A%2F%3F%C3%A9%2Bx",
            "a%22b%20%3C&%3E%0A%2F%3F%C3%A9+x",
            "YSJiIDwmPgovP8OpK3g=",
            "YSJiIDwmPgovP8OpK3g",
            "YSJiIDwmPgovP8OpK3g=",
        ] {
            assert!(forms.contains(&expected.to_owned()), "{expected} is not among {forms:#?}");
        }
    }

    #[test]
    fn what_go_escapes_is_escaped_as_go_does() {
        // By `strconv.Quote`.
        assert_eq!(go_quoted("\u{0}\u{7}\u{1b}\u{7f}'\u{200b}é\u{e000}"), r"\x00\a\x1b\x7f'\u200bé\ue000");
    }

    #[test]
    fn base64_is_known_wherever_the_text_stands_in_it() {
        let secret = "sesame-sesame";
        for around in ["", "u:", "user:", "someone:", "k=v&user="] {
            for behind in ["", "x", "&more"] {
                let encoded = STANDARD.encode(format!("{around}{secret}{behind}"));
                let found = forms(secret).iter().any(|form| encoded.contains(form.as_str()));
                assert!(found, "{around}|{behind}: {encoded} has none of {:#?}", forms(secret));
            }
        }
    }
}
