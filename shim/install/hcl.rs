//! The files of Terraform and OpenTofu that isthmus reads itself: the CLI configuration, with its
//! JSON form, and the dependency lock file.
//!
//! `hcl-edit` parses them; the result is a tree of named items with their positions, without
//! interpretation. Both tools still read the CLI configuration by HCL 1, whose only documented
//! syntax that HCL 2 lacks is the quoted names in `dev_overrides`. As an object, HCL 2 has them too,
//! so that block is parsed as one. A file's first character decides between the two forms (`{` is
//! JSON), whatever the file is called.

use std::borrow::Cow;
use std::fmt;

use hcl_edit::Span;
use hcl_edit::expr::{Array, Expression, Object, ObjectKey};
use hcl_edit::structure::{self, BlockLabel, Structure};
use hcl_edit::template::{Element, Template};

/// Size limit of a file. The parser compares each name in an object with all others.
const LONGEST: usize = 1 << 18;

/// What HCL 1 does not require.
const FORM: &str = " (each argument and each block needs a line of its own, and names have no quotes)";

/// The block whose names are in quotes.
const QUOTED_NAMES: &str = "dev_overrides";

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
    Number(String),
    /// Templates in it are as in the file.
    String(String),
    List(Vec<Value>),
    Body(Body),
    Expression,
}

impl Content {
    /// Its kind, for an error.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Body(_) => "a block",
            Self::Expression => "an expression without quotes",
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

/// Parses a file.
pub(crate) fn parse(bytes: &[u8]) -> Result<Body, SyntaxError> {
    if bytes.len() > LONGEST {
        let reason = format!("the file is longer than {LONGEST} bytes").into();
        return Err(SyntaxError { position: Position::START, reason });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        let reason = "the file is not in UTF-8 here".into();
        SyntaxError { position: Position::START.behind(valid), reason }
    })?;
    let content = text.trim_start();
    let is_json = content.starts_with('{');
    let (before, text) = if is_json {
        (&text[..text.len() - content.len()], content.trim_end().into())
    } else {
        ("", as_hcl_2(text))
    };
    let start = Position::START.behind(before);
    let mut reader = Reader { text: &text, at: 0, position: start, is_json };
    let parsed = if is_json {
        hcl_edit::parser::parse_expr(&text).map(|value| Some(reader.object(value.as_object()?)))
    } else {
        hcl_edit::parser::parse_body(&text).map(|body| Some(reader.body(&body)))
    };
    let body = parsed.map_err(|error| {
        // All of the message is the parser's own.
        let position = start.behind(text.get(..error.location().offset()).unwrap_or(&text));
        let message = error.message();
        let is_form = !is_json && ["newline", "expected `=`"].iter().any(|part| message.contains(part));
        let form = if is_form { FORM } else { "" };
        SyntaxError { position, reason: format!("{message}{form}").into() }
    })?;
    body.ok_or(SyntaxError { position: start, reason: "the file is not a JSON object".into() })
}

/// A text of HCL 1 in which the block with quoted names is an object.
fn as_hcl_2(text: &str) -> Cow<'_, str> {
    let mut parts = text.split(QUOTED_NAMES);
    let mut parsed = Cow::Borrowed(parts.next().unwrap_or_default());
    for part in parts {
        let is_block = part.trim_start().starts_with('{');
        let sign = if is_block { "=" } else { "" };
        // The sign takes the place of a space, so that positions stay.
        let behind = if is_block { part.strip_prefix([' ', '\t']).unwrap_or(part) } else { part };
        parsed.to_mut().extend([QUOTED_NAMES, sign, behind]);
    }
    parsed
}

/// Converts what the parser returns, in the order of the text.
struct Reader<'t> {
    text: &'t str,
    /// The offset of the last position.
    at: usize,
    position: Position,
    is_json: bool,
}

impl<'t> Reader<'t> {
    fn position(&mut self, node: &impl Span) -> Position {
        let offset = node.span().unwrap_or_default().start;
        self.position = self.position.behind(self.text.get(self.at..offset).unwrap_or_default());
        self.at = self.at.max(offset);
        self.position
    }

    /// The text of a node, as it is in the file.
    fn source(&self, node: &impl Span) -> &'t str {
        self.text.get(node.span().unwrap_or_default()).unwrap_or_default().trim()
    }

    fn key(&mut self, node: &impl Span, text: &str) -> Key {
        Key { position: self.position(node), text: text.to_owned() }
    }

    fn body(&mut self, body: &structure::Body) -> Body {
        let items = body.iter().map(|structure| match structure {
            Structure::Attribute(attribute) => {
                let name = self.key(&attribute.key, &attribute.key);
                Item { name, labels: Vec::new(), is_assigned: true, value: self.value(&attribute.value) }
            }
            Structure::Block(block) => {
                let name = self.key(&block.ident, &block.ident);
                let labels = block.labels.iter().map(|label| match label {
                    BlockLabel::Ident(label) => self.key(label, label),
                    BlockLabel::String(label) => self.key(label, label),
                });
                let labels = labels.collect();
                let position = self.position(&block.body);
                let value = Value { position, content: Content::Body(self.body(&block.body)) };
                Item { name, labels, is_assigned: false, value }
            }
        });
        Body { items: items.collect() }
    }

    /// In JSON, a list of objects represents several blocks of one name.
    fn object(&mut self, object: &Object) -> Body {
        let mut items = Vec::new();
        for (key, value) in object.iter() {
            let name = match key {
                ObjectKey::Ident(name) => self.key(name, name),
                ObjectKey::Expression(Expression::String(name)) => self.key(name, name),
                // A name with dots is an expression to the parser.
                ObjectKey::Expression(other) => self.key(other, self.source(other)),
            };
            let values = match value.expr() {
                Expression::Array(blocks) if self.is_json && is_blocks(blocks) => {
                    blocks.iter().map(|block| self.value(block)).collect()
                }
                value => vec![self.value(value)],
            };
            items.extend(values.into_iter().map(|value| Item {
                name: name.clone(),
                labels: Vec::new(),
                is_assigned: !self.is_json,
                value,
            }));
        }
        Body { items }
    }

    fn value(&mut self, value: &Expression) -> Value {
        let position = self.position(value);
        let content = match value {
            Expression::Null(_) => Content::Null,
            Expression::Bool(value) => Content::Bool(**value),
            Expression::Number(_) => Content::Number(self.source(value).to_owned()),
            Expression::String(text) => Content::String(escaped(text)),
            Expression::StringTemplate(template) => Content::String(self.template(template)),
            Expression::Array(values) => {
                Content::List(values.iter().map(|value| self.value(value)).collect())
            }
            Expression::Object(object) => Content::Body(self.object(object)),
            _ => Content::Expression,
        };
        Value { position, content }
    }

    fn template(&self, template: &Template) -> String {
        let elements = template.iter().map(|element| match element {
            Element::Literal(text) => Cow::Owned(escaped(text)),
            other => Cow::Borrowed(self.text.get(other.span().unwrap_or_default()).unwrap_or_default()),
        });
        elements.collect()
    }
}

/// A literal as HCL 1 has it, where `$${` has no meaning of its own.
fn escaped(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

fn is_blocks(values: &Array) -> bool {
    !values.is_empty() && values.iter().all(Expression::is_object)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            Content::Expression => "?".to_owned(),
        }
    }

    fn read(bytes: &[u8]) -> String {
        parse(bytes).map_or_else(|error| error.to_string(), |body| shown(&body))
    }

    #[test]
    fn files_of_users_are_read_in_both_forms() {
        for (text, expected) in [
            ("", "()"),
            ("  \n\t# nothing\r\n// at /* all\n/* or\n * more */", "()"),
            ("a = 1.5\nb = true\nc = -1\nd = word", "(a=#1.5 b=true c=#-1 d=?)"),
            ("a = [\n  \"x\", # why\n  \"$HOME/é\",\n]", r#"(a=["x","$HOME/é"])"#),
            ("credentials \"h\" {\n  token = \"t\"\n}", r#"(credentials[h](token="t"))"#),
            ("s = {\n providers.v1 = 0012\n n = 1.50\n}", "(s=(providers.v1=#0012 n=#1.50))"),
            ("credentials = { \"h\" = { token = \"t\" } }", r#"(credentials=(h=(token="t")))"#),
            (
                "p {\n  dev_overrides {\n    \"a/null\" = \"/x\"\n\n    \"b\" = \"/y\"\n  }\n  direct {}\n}",
                r#"(p(dev_overrides=(a/null="/x" b="/y") direct()))"#,
            ),
            ("dev_overrides{ \"a\" = \"/x\" }\r\n", r#"(dev_overrides=(a="/x"))"#),
            (r#"a = "q\"\\\n\t\u00e9""#, r#"(a="q\"\\\n\té")"#),
            (r#"a = "${ x }/x-$${y}""#, r#"(a="${ x }/x-$${y}")"#),
            (" \n{ \"a\": 1,\n \"b\": [true, null, \"x\"] }\n", r#"(a#1 b[true,null,"x"])"#),
            (r#"{"credentials": {"h": {"token": "\u00e9"}}}"#, r#"(credentials(h(token"é")))"#),
            // A list of blocks is several blocks.
            (r#"{"p": [{"direct": [{}, {"include": []}]}]}"#, "(p(direct() direct(include[])))"),
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn errors_have_their_position() {
        for (text, expected) in [
            (
                "a = 1 b = 2",
                "1:7: expected newline or eof (each argument and each block needs a line of its own",
            ),
            ("p { direct {} }", "1:12: invalid attribute; expected `=` (each argument and each block needs"),
            ("p {\n é = 1\n \"x\" = 2\n}", "3:2: invalid block body; expected `}`, newline or identifier ("),
            ("a {\n  b = 1\n", "2:8: invalid block body; expected `}`, newline"),
            ("a = 1\nb = 2\na = 3", "3:1: invalid attribute; expected unique attribute key"),
            ("\n\n{\"é\" 1}", "3:7: invalid object value assignment; expected `=` or `:`"),
            ("{} x", "1:3: unexpected token"),
            ("\n{} == {}", "2:1: the file is not a JSON object"),
            ("\u{feff}a = 1", "1:1: unexpected token"),
        ] {
            let error = read(text.as_bytes());
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert_eq!(read(b"a = \"\n\xff"), "2:1: the file is not in UTF-8 here");
        assert_eq!(read(&vec![b' '; LONGEST + 1]), "1:1: the file is longer than 262144 bytes");
        for open in ["a {\n", "a = [", "{\"a\":"] {
            let error = read(open.repeat(5000).as_bytes());
            assert!(!error.starts_with('('), "{open}: {error}");
        }
    }

    const SAMPLE: &str = "plugin_cache_dir = \"$HOME/é\" # c\ncredentials \"h\" {\n token = \"t\"\n}\nprovider_installation {\n \
                          dev_overrides { \"a/b\" = \"/x\" }\n network_mirror {\n url = \"u${t}\"\n include = [\"a/*\", -2.5e1, \
                          true]\n }\n}\n/* end */";
    const JSON: &str = r#"{"a": {"h": {"t": "\u00e9"}}, "b": [{"c": [true, null, -1.5e3]}, {}], "d": "é"}"#;

    proptest! {
        #[test]
        fn damaged_bytes_are_answered(
            sample in prop::sample::select(vec![SAMPLE, JSON]),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 0..6),
        ) {
            let mut bytes = sample.as_bytes().to_vec();
            for (place, byte, kind) in damage {
                if bytes.is_empty() { break; }
                let place = place.index(bytes.len());
                match kind {
                    0 => bytes[place] = byte,
                    1 => { bytes.remove(place); }
                    2 => bytes.insert(place, byte),
                    _ => bytes.truncate(place),
                }
            }
            if let Err(error) = parse(&bytes) {
                let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
                prop_assert!(error.position.line <= lines + 1);
            }
        }
    }
}
