//! Forms in which texts quote secrets.
//!
//! Providers are Go programs: they format values by `%s`, `%v`, `%q` and `%+q`, as JSON (of requests and
//! responses, sometimes within another JSON text), in URLs, as base64 (of bodies, and of
//! `Authorization` headers, after a prefix), and in hexadecimal (`%x`). Servers escape differently: many escape all of JSON
//! that is not ASCII, with hexadecimal digits in upper or lower case. Providers and servers in Rust escape as `{:?}` does.
//!
//! Of a text without anything to escape, all these are one form.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use isthmus_cty::is_printable_in_go;

use super::stretches;

/// All distinct forms of `text`, itself first.
pub(super) fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned()];
    let mut add = |form: String| {
        if !form.is_empty() && !forms.contains(&form) {
            forms.push(form);
        }
    };
    let json_forms = [json(text), html_safe_json(text)];
    let ascii_forms = json_forms.each_ref().map(|escaped| ascii_json(escaped));
    // PHP's encoder escapes the slashes too.
    let slashed = [&json_forms[0], &ascii_forms[0]].map(|escaped| escaped.replace('/', "\\/"));
    let in_lower_case = json_forms.into_iter().chain(ascii_forms).chain(slashed);
    let in_both_cases = in_lower_case.flat_map(|escaped| [upper_case_unicode_escapes(&escaped), escaped]);
    let quoted = [go_quoted(text, GoQuoting::Printable), go_quoted(text, GoQuoting::Ascii)];
    for escaped in in_both_cases.chain(quoted).chain(rust_escaped(text)) {
        if escaped != text {
            // Nested JSON and quoting.
            add(json(&escaped));
        }
        add(escaped);
    }
    // A name in a property path of Pulumi's.
    add(text.replace('"', "\\\""));
    for digits in [UPPER_CASE, LOWER_CASE] {
        for reserved in [QUERY, PATH_SEGMENT, USER_INFORMATION] {
            add(percent_encoded(text, reserved, digits));
        }
        add(percent_encoded(text, QUERY, digits).replace('+', "%20"));
    }
    // That of longer texts is decoded.
    for engine in [&STANDARD_NO_PAD, &STANDARD, &URL_SAFE_NO_PAD, &URL_SAFE] {
        let encoded = engine.encode(text);
        if encoded.trim_end_matches('=').len() < stretches::SHORTEST {
            add(encoded);
        }
    }
    for digits in [UPPER_CASE, LOWER_CASE] {
        add(hexadecimal(text, digits));
    }
    forms
}

/// The contents of a JSON string.
fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("a text has a JSON form");
    quoted[1..quoted.len() - 1].to_owned()
}

/// As Go's encoder with its default escaping.
fn html_safe_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in json(text).chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_unicode_escape(&mut escaped, character),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The contents of a JSON string with all characters beyond ASCII escaped, as by encoders of Python
/// and Java.
fn ascii_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(escaped, "\\u{unit:04x}").expect("a string takes everything");
            }
        }
    }
    escaped
}

/// The contents of a JSON string with upper-case digits in escapes.
fn upper_case_unicode_escapes(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    let mut characters = json.chars();
    while let Some(character) = characters.next() {
        escaped.push(character);
        if character != '\\' {
            continue;
        }
        // A backslash escapes the next character, also a backslash.
        let Some(kind) = characters.next() else { break };
        escaped.push(kind);
        if kind == 'u' {
            escaped.extend(characters.by_ref().take(4).map(|digit| digit.to_ascii_uppercase()));
        }
    }
    escaped
}

/// What Go's quoting leaves as it is, beyond ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GoQuoting {
    /// Printable characters: `%q`, `strconv.Quote`.
    Printable,
    /// Nothing: `%+q`, `strconv.QuoteToASCII`.
    Ascii,
}

/// The contents of a string as by Go's `%q` or `%+q`.
fn go_quoted(text: &str, quoting: GoQuoting) -> String {
    let mut quoted = String::with_capacity(text.len());
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
            ascii if ascii.is_ascii() => quoted.push(ascii),
            other if quoting == GoQuoting::Ascii || !is_printable_in_go(other) => {
                push_unicode_escape(&mut quoted, other);
            }
            other => quoted.push(other),
        }
    }
    quoted
}

/// The contents of a string as by `{:?}`, `escape_debug` and `escape_default` of Rust: they differ in
/// single quotes, combining characters, and those beyond ASCII.
fn rust_escaped(text: &str) -> [String; 3] {
    let debug = format!("{text:?}");
    [debug[1..debug.len() - 1].to_owned(), text.escape_debug().to_string(), text.escape_default().to_string()]
}

fn push_unicode_escape(text: &mut String, character: char) {
    let number = u32::from(character);
    let written =
        if number > 0xffff { write!(text, "\\U{number:08x}") } else { write!(text, "\\u{number:04x}") };
    written.expect("a string takes everything");
}

/// Unescaped characters in a part of a URL, besides letters, digits and `-_.~`; by Go's package
/// `net/url`.
#[derive(Clone, Copy)]
struct Unescaped(&'static [u8], /* a blank is a plus sign */ bool);

const QUERY: Unescaped = Unescaped(b"", true);
const PATH_SEGMENT: Unescaped = Unescaped(b"$&+=:@", false);
const USER_INFORMATION: Unescaped = Unescaped(b"$&+,;=", false);

/// Hexadecimal digits in upper case, as of URL escapes in Go,
const UPPER_CASE: &[u8; 16] = b"0123456789ABCDEF";
/// and in lower case, as of Go's `%x` and of URL escapes in other programs.
const LOWER_CASE: &[u8; 16] = b"0123456789abcdef";

fn percent_encoded(text: &str, unescaped: Unescaped, digits: &[u8; 16]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte == b' ' && unescaped.1 {
            encoded.push('+');
        } else if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || unescaped.0.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.extend(in_hexadecimal(byte, digits));
        }
    }
    encoded
}

fn hexadecimal(text: &str, digits: &[u8; 16]) -> String {
    text.bytes().flat_map(|byte| in_hexadecimal(byte, digits)).collect()
}

fn in_hexadecimal(byte: u8, digits: &[u8; 16]) -> [char; 2] {
    [byte >> 4, byte & 0xf].map(|digit| char::from(digits[usize::from(digit)]))
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
            "a%22b+%3c%26%3e%0a%2f%3f%c3%a9%2bx",
            "a%22b%20%3c%26%3e%0a%2f%3f%c3%a9%2bx",
            "a%22b%20%3c&%3e%0a%2f%3f%c3%a9+x",
            "612262203c263e0a2f3fc3a92b78",
            "612262203C263E0A2F3FC3A92B78",
        ] {
            assert!(forms.contains(&expected.to_owned()), "{expected} is not among {forms:#?}");
        }
    }

    #[test]
    fn what_servers_escape_in_json_is_among_the_forms() {
        let forms = forms("é<ß>\u{1b}\\u00e9\u{1f512}x");
        for expected in [
            // By Python's `json.dumps`.
            r"\u00e9<\u00df>\u001b\\u00e9\ud83d\udd12x",
            // By Jackson with `ESCAPE_NON_ASCII`.
            r"\u00E9<\u00DF>\u001B\\u00e9\uD83D\uDD12x",
            // By Jackson with its default.
            "é<ß>\\u001B\\\\u00e9\u{1f512}x",
            // By both with HTML characters escaped.
            r"\u00e9\u003c\u00df\u003e\u001b\\u00e9\ud83d\udd12x",
            r"\u00E9\u003C\u00DF\u003E\u001B\\u00e9\uD83D\uDD12x",
            // Nested JSON.
            r"\\u00e9<\\u00df>\\u001b\\\\u00e9\\ud83d\\udd12x",
        ] {
            assert!(forms.contains(&expected.to_owned()), "{expected} is not among {forms:#?}");
        }
    }

    #[test]
    fn a_name_in_a_property_path_is_among_the_forms() {
        let path = "keepers[\"a \\\"key\\\"\nof\\two lines\"]";
        let found = forms("a \"key\"\nof\\two lines").into_iter().any(|form| path.contains(&form));
        assert!(found, "{path:?}");
    }

    #[test]
    fn slashes_that_php_escapes_are_among_the_forms() {
        // By `json_encode`, with its default and with `JSON_UNESCAPED_UNICODE`.
        for expected in [r"k\u00e9y\/+\/", r"kéy\/+\/"] {
            assert!(forms("kéy/+/").contains(&expected.to_owned()), "{expected}");
        }
    }

    #[test]
    fn what_go_escapes_is_escaped_as_go_does() {
        // By `strconv.Quote`.
        let printable = |text| go_quoted(text, GoQuoting::Printable);
        assert_eq!(printable("\u{0}\u{7}\u{1b}\u{7f}'\u{200b}é\u{e000}"), r"\x00\a\x1b\x7f'\u200bé\ue000");
        let text =
            "é\u{301}\u{ad}\u{a0}\u{1f512}\u{7}\u{8}\u{c}\u{b}\u{7f}\u{85}\u{2028}'\"\\e\u{301}\u{e0041}";
        assert_eq!(
            printable(text),
            "é\u{301}\\u00ad\\u00a0\u{1f512}\\a\\b\\f\\v\\x7f\\u0085\\u2028'\\\"\\\\e\u{301}\\U000e0041"
        );
        // By `strconv.QuoteToASCII`.
        assert_eq!(
            go_quoted(text, GoQuoting::Ascii),
            r#"\u00e9\u0301\u00ad\u00a0\U0001f512\a\b\f\v\x7f\u0085\u2028'\"\\e\u0301\U000e0041"#
        );
    }

    #[test]
    fn what_rust_and_go_escape_is_among_the_forms() {
        let forms = forms("it's\0 é\u{1b}\u{2028}\u{1f512}\u{8}");
        for expected in [
            // By `{:?}` of a text, and by `escape_debug`, which escapes single quotes as well.
            "it's\\0 é\\u{1b}\\u{2028}\u{1f512}\\u{8}",
            "it\\'s\\0 é\\u{1b}\\u{2028}\u{1f512}\\u{8}",
            // By `escape_default`.
            r"it\'s\u{0} \u{e9}\u{1b}\u{2028}\u{1f512}\u{8}",
            // By `%q` and `%+q`.
            "it's\\x00 é\\x1b\\u2028\u{1f512}\\b",
            r"it's\x00 \u00e9\x1b\u2028\U0001f512\b",
            // The same within JSON.
            "it's\\\\0 é\\\\u{1b}\\\\u{2028}\u{1f512}\\\\u{8}",
            r"it's\\x00 \\u00e9\\x1b\\u2028\\U0001f512\\b",
        ] {
            assert!(forms.contains(&expected.to_owned()), "{expected} is not among {forms:#?}");
        }
    }

    #[test]
    fn a_text_without_anything_to_escape_has_few_forms() {
        let texts = ["sesame-sesame", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "two words"];
        for text in texts {
            let count = forms(text).len();
            assert!(count <= 16, "{text} has {count}");
        }
    }
}
