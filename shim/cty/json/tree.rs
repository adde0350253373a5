//! A JSON tree that preserves the text of numbers and the order of members.
//!
//! serde_json would convert numbers to doubles, unless a feature were enabled that changes its
//! behaviour for the whole program. This parser accepts exactly RFC 8259, to a bounded depth.

use std::fmt;

/// Maximum depth of arrays and objects.
const MAXIMUM_DEPTH: usize = 512;

/// A JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number's text.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Self>),
    /// An object's members in their order, including duplicates.
    Object(Vec<(String, Self)>),
}

/// Why bytes are not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON at byte {offset}: {reason}")]
pub struct JsonSyntaxError {
    /// Position in bytes.
    pub offset: usize,
    /// The reason.
    pub reason: &'static str,
}

impl Json {
    /// Parses one document with optional white space around it.
    ///
    /// # Errors
    /// When the bytes are not UTF-8, not JSON, or nested deeper than 512 levels.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonSyntaxError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| JsonSyntaxError { offset: error.valid_up_to(), reason: "not UTF-8" })?;
        let mut parser = Parser { text, bytes: text.as_bytes(), position: 0 };
        let document = parser.value(0)?;
        parser.skip_blanks();
        if parser.position < parser.bytes.len() {
            return Err(parser.error("something follows the document"));
        }
        Ok(document)
    }

    /// The last member of that name; `None` also if this is no object.
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Appends the document in Go's form: without spaces, and with `<`, `>`, `&`, U+2028 and U+2029
    /// escaped.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(text) => out.push_str(text),
            Self::String(text) => write_string(text, out),
            Self::Array(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text);
        formatter.write_str(&text)
    }
}

/// Appends a JSON string with Go's escapes.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(may_begin_escaped) {
        out.push_str(&rest[..at]);
        let mut characters = rest[at..].chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\u{c}') => out.push_str("\\f"),
            Some(other @ ('\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}')) => {
                out.push_str(&format!("\\u{:04x}", u32::from(other)));
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Whether a character that is escaped may begin with this byte, as U+2028 and U+2029 do with the last one.
fn may_begin_escaped(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2)
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, JsonSyntaxError> {
        if depth > MAXIMUM_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        self.skip_blanks();
        match self.peek() {
            None => Err(self.error("the document ends where a value is expected")),
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'"') => self.string().map(Json::String),
            Some(b'[') => self.array(depth),
            Some(b'{') => self.object(depth),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            Some(_) => Err(self.error("a value is expected")),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonSyntaxError> {
        self.position += 1;
        let mut elements = Vec::new();
        self.skip_blanks();
        if self.take(b']') {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Json::Array(elements));
            }
            if !self.take(b',') {
                return Err(self.error("',' or ']' is expected"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonSyntaxError> {
        self.position += 1;
        let mut members = Vec::new();
        self.skip_blanks();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                return Err(self.error("a member's name is expected"));
            }
            let name = self.string()?;
            self.skip_blanks();
            if !self.take(b':') {
                return Err(self.error("':' is expected"));
            }
            members.push((name, self.value(depth + 1)?));
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.take(b',') {
                return Err(self.error("',' or '}' is expected"));
            }
        }
    }

    fn number(&mut self) -> Result<String, JsonSyntaxError> {
        let start = self.position;
        self.take(b'-');
        if self.take(b'0') {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.error("a number must not start with a zero"));
            }
        } else {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(self.text[start..self.position].to_owned())
    }

    fn digits(&mut self) -> Result<(), JsonSyntaxError> {
        let start = self.position;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.position += 1;
        }
        if self.position == start { Err(self.error("a digit is expected")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, JsonSyntaxError> {
        self.position += 1;
        let mut string = String::new();
        loop {
            let rest = &self.bytes[self.position..];
            let run = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let start = self.position;
            self.position += run.unwrap_or(rest.len());
            // Only ASCII ends a run, so both ends are character boundaries.
            string.push_str(&self.text[start..self.position]);
            match self.peek() {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(string);
                }
                Some(b'\\') => {
                    self.position += 1;
                    let character = self.escape()?;
                    string.push(character);
                }
                Some(_) => return Err(self.error("a control character must be escaped")),
                None => return Err(self.error("the document ends within a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonSyntaxError> {
        let letter = self.peek();
        self.position += 1;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => self.unicode_escape()?,
            _ => {
                self.position -= 1;
                return Err(self.error("unknown escape"));
            }
        })
    }

    /// A `\uXXXX`, or two that form a surrogate pair. A lone surrogate becomes U+FFFD, as in Go.
    fn unicode_escape(&mut self) -> Result<char, JsonSyntaxError> {
        let first = self.four_hex_digits()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        if first < 0xdc00 && self.bytes[self.position..].starts_with(b"\\u") {
            let after_first = self.position;
            self.position += 2;
            let second = self.four_hex_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let combined = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(combined).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.position = after_first;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn four_hex_digits(&mut self) -> Result<u32, JsonSyntaxError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.error("four hexadecimal digits are expected"));
            };
            code = code * 16 + digit;
            self.position += 1;
        }
        Ok(code)
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, JsonSyntaxError> {
        if !self.bytes[self.position..].starts_with(word.as_bytes()) {
            return Err(self.error("a value is expected"));
        }
        self.position += word.len();
        Ok(value)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.position += usize::from(taken);
        taken
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn error(&self, reason: &'static str) -> JsonSyntaxError {
        JsonSyntaxError { offset: self.position, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> String {
        Json::parse(text.as_bytes()).unwrap().to_string()
    }

    #[test]
    fn numbers_keep_their_text_and_members_their_order() {
        let text = r#"{"z":1.50,"a":[-0,1E+400,123456789012345678901234567890]}"#;
        assert_eq!(rewritten(text), text);
    }

    #[test]
    fn strings_are_unescaped_and_escaped_as_go_does() {
        let parsed = Json::parse(br#""\u00e9\ud83d\ude00\/\b\n\u0001""#).unwrap();
        assert_eq!(parsed, Json::String("é😀/\u{8}\n\u{1}".to_owned()));
        assert_eq!(parsed.to_string(), "\"é😀/\\b\\n\\u0001\"");
        assert_eq!(Json::parse(br#""\ud800x""#).unwrap(), Json::String("\u{fffd}x".to_owned()));
        assert_eq!(Json::String("<&>\u{2029}".to_owned()).to_string(), r#""\u003c\u0026\u003e\u2029""#);
    }

    #[test]
    fn what_is_not_json_is_refused_where_it_goes_wrong() {
        for (text, offset) in [
            ("", 0),
            ("[1,]", 3),
            ("{\"a\" 1}", 5),
            ("{a:1}", 1),
            ("01", 1),
            ("1.", 2),
            ("nul", 0),
            ("\"a", 2),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 5),
            ("\"\n\"", 1),
            ("1 2", 2),
            ("[1", 2),
            ("+1", 0),
        ] {
            let error = Json::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.offset, offset, "{text}: {error}");
        }
        assert_eq!(Json::parse(b"\"\xff\"").unwrap_err().offset, 1);
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(nested(500).as_bytes()).is_ok());
        assert_eq!(Json::parse(nested(100_000).as_bytes()).unwrap_err().reason, "nested too deeply");
    }

    #[test]
    fn of_a_repeated_member_the_last_counts() {
        let object = Json::parse(br#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(object.member("a"), Some(&Json::Number("2".to_owned())));
        assert_eq!(object.member("b"), None);
    }
}
