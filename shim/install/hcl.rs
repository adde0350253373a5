//! The files of Terraform and OpenTofu that isthmus reads itself: the CLI configuration, with its
//! JSON form, and the dependency lock file.
//!
//! Both tools still read the CLI configuration by HCL 1. It is looser than HCL 2, and files of users
//! need that: quoted names (`"hashicorp/random" = "/dir"`), blocks and several arguments in one line.
//! Parsers of HCL 2 refuse these, and Rust has none of HCL 1. The dependency lock file is in HCL 2,
//! but its possible contents are the same in both.
//!
//! The result is a tree of named items with their positions, without interpretation. A file's first
//! character decides between the two forms (`{` is JSON), whatever the file is called.

mod json;
mod native;

use std::borrow::Cow;
use std::fmt;

/// Size limit of a file.
const LONGEST: usize = 1 << 18;

/// Maximum nesting; valid settings have a depth of four.
const DEEPEST: usize = 32;

/// A position in a text, counted in characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// The start of a text.
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    fn behind(self, text: &str) -> Self {
        match text.rsplit_once('\n') {
            Some((before, line)) => {
                Self { line: self.line + before.matches('\n').count() + 1, column: line.chars().count() + 1 }
            }
            None => Self { column: self.column + text.chars().count(), ..self },
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// The contents of a block or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) items: Vec<Item>,
}

/// A named item: an argument or a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: Key,
    /// Labels between the name and the value, such as a host.
    pub(crate) labels: Vec<Key>,
    /// Whether it is `name = value`. In JSON it is unknown, and `false` for all items.
    pub(crate) is_assigned: bool,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) position: Position,
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) position: Position,
    pub(crate) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    /// A whole number, as in the file.
    Number(String),
    /// Another number, which no setting is.
    Fraction,
    /// Templates in it are as in the file.
    String(String),
    List(Vec<Value>),
    Body(Body),
}

impl Content {
    /// Its kind, for an error.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Fraction => "a number with a fraction or an exponent",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Body(_) => "a block",
        }
    }
}

/// A syntax error, without anything that is in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {reason}")]
pub struct SyntaxError {
    position: Position,
    reason: Cow<'static, str>,
}

impl SyntaxError {
    fn new(position: Position, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { position, reason: reason.into() }
    }

    fn too_deep(position: Position) -> Self {
        Self::new(position, format!("there are more than {DEEPEST} blocks or lists in each other"))
    }
}

/// What some editors of Windows put before a text.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Parses a file.
pub(crate) fn parse(bytes: &[u8]) -> Result<Body, SyntaxError> {
    if bytes.len() > LONGEST {
        return Err(SyntaxError::new(Position::START, format!("the file is longer than {LONGEST} bytes")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        SyntaxError::new(Position::START.behind(valid), "the file is not in UTF-8 here")
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        return Err(SyntaxError::new(
            Position::START,
            "the file starts with a byte order mark, which OpenTofu refuses as well: save it as UTF-8 without one",
        ));
    }
    if text.trim_start().starts_with('{') { json::parse(text) } else { native::parse(text) }
}

/// The position in a text that is read from its start to its end, so that no part is counted twice.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    position: Position,
}

impl<'t> Cursor<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, position: Position::START }
    }

    /// The position of a byte; of the last one if that is behind it.
    fn position(&mut self, offset: usize) -> Position {
        self.position = self.position.behind(self.text.get(self.at..offset).unwrap_or_default());
        self.at = self.at.max(offset);
        self.position
    }
}

/// A number as in the file; `None` if it is none.
fn number(text: &str) -> Option<Content> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let is_whole = match hexadecimal {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => digits.bytes().all(|byte| byte.is_ascii_digit()),
    };
    // Neither a sign alone nor the names that Rust has for infinity.
    let is_number = digits.starts_with(|digit: char| digit.is_ascii_digit());
    match is_number && is_whole {
        true => Some(Content::Number(text.to_owned())),
        false => text.parse::<f64>().ok().filter(|_| is_number).map(|_| Content::Fraction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree in one line: `name[label](...)` for blocks, `name=value` for the rest.
    fn shown(body: &Body) -> String {
        let items = body.items.iter().map(|item| {
            let labels: String = item.labels.iter().map(|label| format!("[{}]", label.text)).collect();
            let sign = if item.is_assigned { "=" } else { "" };
            format!("{}{labels}{sign}{}", item.name.text, shown_value(&item.value))
        });
        format!("({})", items.collect::<Vec<_>>().join(" "))
    }

    fn shown_value(value: &Value) -> String {
        match &value.content {
            Content::Null => "null".to_owned(),
            Content::Bool(value) => value.to_string(),
            Content::Number(text) => format!("#{text}"),
            Content::String(text) => format!("{text:?}"),
            Content::List(values) => {
                format!("[{}]", values.iter().map(shown_value).collect::<Vec<_>>().join(","))
            }
            Content::Body(body) => shown(body),
            Content::Fraction => "#fraction".to_owned(),
        }
    }

    fn read(bytes: &[u8]) -> String {
        parse(bytes).map_or_else(|error| error.to_string(), |body| shown(&body))
    }

    #[test]
    fn files_of_users_are_read() {
        for (text, expected) in [
            ("", "()"),
            ("  \n\t# nothing\r\n// at /* all\n/* or\n * more */", "()"),
            ("plugin_cache_dir = \"$HOME/é\"", r#"(plugin_cache_dir="$HOME/é")"#),
            ("a = 1 b = true c = -1.5e3 d = 0x1F e = 0012", "(a=#1 b=true c=#fraction d=#0x1F e=#0012)"),
            ("a = [\n  \"x\", # why\n  \"y\",\n]", r#"(a=["x","y"])"#),
            ("a = [1, [2], {b = 3}, []]", "(a=[#1,[#2],(b=#3),[]])"),
            ("credentials \"h\" {\n  token = \"t\"\n}", r#"(credentials[h](token="t"))"#),
            ("credentials = { \"h\" = { token = \"t\" } }", r#"(credentials=(h=(token="t")))"#),
            (
                "p { dev_overrides { \"a/null\" = \"/x\", \"b\" = \"/y\" } direct { exclude = [\"c/*\"] } }",
                r#"(p(dev_overrides(a/null="/x" b="/y") direct(exclude=["c/*"])))"#,
            ),
            (
                "host \"h\" { services { \"providers.v1\" = \"https://h/\" } }",
                r#"(host[h](services(providers.v1="https://h/")))"#,
            ),
            (
                "host \"h\" { services = { providers.v1 = \"https://h/\", b = \"/\", }, }",
                r#"(host[h](services=(providers.v1="https://h/" b="/")))"#,
            ),
            ("\"a-b\".c_1 = \"\"\r\nb = \"x\"\r\n", "1:6: this character has no meaning here"),
            ("a-b.c_1 = \"\"\r\nb = \"x\"\r\n", r#"(a-b.c_1="" b="x")"#),
            (r#"a = "q\"\\\n\t\u00e9\U0001F600\101\x41""#, r#"(a="q\"\\\n\té😀AA")"#),
            (r#"a = "${ x }/x-$${y}-${"y"}""#, r#"(a="${ x }/x-$${y}-${\"y\"}")"#),
            ("a = \"${\n{}}\"", "(a=\"${\\n{}}\")"),
            ("a = <<EOF\nx\n  y\nEOF\nb = 1", r#"(a="x\n  y\n" b=#1)"#),
            ("a = <<-EOF\r\n  x\r\n    y\r\n  EOF\r\n", r#"(a="x\n  y\n")"#),
            ("a = <<-EOF\n x\n   y\n  EOF", r#"(a=" x\n   y\n")"#),
            ("a = <<EOF\nEOF\n", r#"(a="")"#),
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_json_form_is_json() {
        for (text, expected) in [
            ("{}", "()"),
            (" \n{ \"a\":\n 1, \"b\"\n: [true, null, \"x\"] }\n", r#"(a#1 b[true,null,"x"])"#),
            (
                r#"{"credentials": {"h": {"token": "\u00e9\ud83d\ude00\/${x}%{y}$${z}"}}}"#,
                r#"(credentials(h(token"é😀/${x}%{y}$${z}")))"#,
            ),
            // A list of blocks is several blocks, and a name may occur more than once.
            (
                r#"{"p": [{"direct": [{}, {"include": []}], "m": {"a": 1}, "m": {"a": 2}}]}"#,
                "(p(direct() direct(include[]) m(a#1) m(a#2)))",
            ),
            (r#"{"a": -1.5E+3, "b": 0, "c": "", "d": 1e400}"#, r#"(a#fraction b#0 c"" d#fraction)"#),
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{text}");
        }
        let body = parse("{\n \"é\": { \"b\":\n  [ 1,  2 ] } }".as_bytes())
            .unwrap_or_else(|error| panic!("{error}"));
        let Content::Body(inner) = &body.items[0].value.content else { panic!("{body:?}") };
        let Content::List(values) = &inner.items[0].value.content else { panic!("{body:?}") };
        let positions = [body.items[0].name.position, inner.items[0].name.position, values[1].position];
        assert_eq!(positions.map(|position| position.to_string()), ["2:2", "2:9", "3:9"]);
    }

    #[test]
    fn a_byte_order_mark_is_named() {
        for text in ["\u{feff}a = 1", "\u{feff}{}"] {
            let error = read(text.as_bytes());
            assert!(error.starts_with("1:1: the file starts with a byte order mark"), "{error}");
        }
    }

    #[test]
    fn errors_have_their_position() {
        const ESCAPE: &str = "a backslash cannot be followed by this; write \\\\ for a backslash itself";
        for (text, expected) in [
            ("a", "1:2: found the end of the file, where = or { should be"),
            ("a = ", "1:5: found the end of the file, where a value should be"),
            ("a = b", "1:5: found a word without quotes, where a value should be"),
            ("a {\n  b = 1\n", "3:1: found the end of the file, where } should be"),
            ("\n  }", "2:3: found }, where a name should be"),
            ("a = [1 2]", "1:8: found a number, where , or ] should be"),
            ("a = [1,", "1:8: found the end of the file, where a value or ] should be"),
            ("a b = 1", "1:5: found =, where { of a block should be"),
            ("true = 1", "1:1: found a word without quotes, where a name should be"),
            ("a { {} }", "1:5: found {, where a name should be"),
            ("a = 1\nb = 2\n\"a\" = 3", "3:1: this was already set at 1:1; it can be set once only"),
            ("a = \"x", "1:5: this string has no end"),
            ("a = \"x\ny\"", "1:5: this string has no end"),
            ("a = \"${x\"", "1:5: this string has no end"),
            ("é = /* ", "1:5: this comment has no end"),
            ("a = <<EOF\nx", "1:5: this heredoc has no end"),
            ("a = <EOF\nx", "1:5: a heredoc starts with << and a name, and nothing else in its line"),
            ("a = << \nx", "1:5: a heredoc starts with << and a name, and nothing else in its line"),
            (r#"a = "\q""#, &format!("1:6: {ESCAPE}")),
            (r#"a = "\ud800""#, &format!("1:6: {ESCAPE}")),
            (r#"a = "\xff""#, &format!("1:6: {ESCAPE}")),
            (r#"a = "\u+123""#, &format!("1:6: {ESCAPE}")),
            ("a = 0x", "1:5: this is not a number"),
            ("a = 1.2.3", "1:5: this is not a number"),
            ("a = -", "1:5: this is not a number"),
            ("a = -inf", "1:5: this is not a number"),
            ("a = ;", "1:5: this character has no meaning here"),
            ("a = 1\n\u{feff}b = 1", "2:1: this character has no meaning here"),
            ("\n\n{\"é\" 1}", "3:6: expected `:`"),
            ("{\"a\": 1", "1:7: EOF while parsing an object"),
            ("{\"a\": 1,}", "1:9: expected a name in quotes; JSON has no comma behind the last member"),
            ("{\"a\": x}", "1:7: expected value"),
            ("{\"a\": \"\\ud800\"}", "1:7: unexpected end of hex escape"),
            ("{} x", "1:4: trailing characters"),
            ("\n{} == {}", "2:4: trailing characters"),
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{text}");
        }
        let name = format!("{{\"{}\": []}}", "a".repeat(1025));
        assert_eq!(read(name.as_bytes()), "1:2: this name is longer than 1024 bytes");
        assert_eq!(read(b"a = \"\n\xff"), "2:1: the file is not in UTF-8 here");
        assert_eq!(read(&vec![b' '; LONGEST + 1]), "1:1: the file is longer than 262144 bytes");
    }

    #[test]
    fn nesting_has_a_limit_in_both_forms() {
        for (start, open, close, end) in [
            ("", "a {", "}", ""),
            ("", "a = {", "}", ""),
            ("a = ", "[", "]", ""),
            ("{\"a\": ", "[", "]", "}"),
        ] {
            let nested =
                |depth| read(format!("{start}{}{}{end}", open.repeat(depth), close.repeat(depth)).as_bytes());
            assert!(nested(DEEPEST).starts_with('('), "{}", nested(DEEPEST));
            assert!(nested(5000).contains("more than 32"), "{}", nested(5000));
        }
    }

    /// A parser that compares each name with all others takes 9 s.
    #[test]
    fn the_longest_file_is_read_at_once() {
        let names = |one: fn(usize) -> String, sign| (0..20_000).map(one).collect::<Vec<_>>().join(sign);
        for text in [
            format!("a = {{ {} }}", names(|index| format!("n{index}=1"), " ")),
            names(|index| format!("n{index}{{}}"), " "),
            format!("{{{}}}", names(|index| format!("\"n{index}\":1"), ",")),
        ] {
            let start = std::time::Instant::now();
            assert!(read(text.as_bytes()).starts_with('('), "{} bytes", text.len());
            assert!(start.elapsed() < std::time::Duration::from_secs(4), "{:?}", start.elapsed());
        }
    }
}
