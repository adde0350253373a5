//! The language of CLI configuration files, HCL 1 and its JSON form, as far as its syntax goes.
//!
//! Terraform and OpenTofu still read `.terraformrc` by the first version of their configuration language. It is looser than
//! the second one, and what people have in these files needs that: quoted keys (`"hashicorp/random" = "/dir"`), several
//! arguments in a line, numbers as strings. Readers of the second version refuse it, hence one of our own. The dependency
//! lock file is of the second version, but all that it may contain is read alike by both.
//!
//! The result is a tree of named items with their places in the text; what they mean is the business of those who ask.
//! A file's first character decides between the two forms (`{` is JSON), whatever the file is called.

mod json;
mod lexer;
mod native;

use std::fmt;

/// The longest file that is read. People write these by hand.
const LONGEST: usize = 1 << 20;

/// How deep things may be nested in each other; what has a meaning is four deep.
const DEEPEST: usize = 32;

/// A place in a text, counted in characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl Position {
    /// Where a text starts.
    const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// What is between two braces, or in a whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) position: Position,
    pub(super) items: Vec<Item>,
}

/// Something with a name: an argument or a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The name.
    pub(super) name: Key,
    /// What stands between the name and the value, such as a host.
    pub(super) labels: Vec<Key>,
    /// The equals sign of `name = value`. In JSON there is no telling, and all items have none.
    pub(super) is_assigned: bool,
    pub(super) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) position: Position,
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) position: Position,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Only in JSON.
    Null,
    Bool(bool),
    /// As it was written.
    Number(String),
    String(String),
    List(Vec<Value>),
    Body(Body),
}

impl Content {
    /// What it is, for an error.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Body(_) => "a block",
        }
    }
}

/// A text is not in the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) position: Position,
    pub(super) fault: SyntaxFault,
}

/// What is wrong with the syntax of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxFault {
    /// Nobody writes so much.
    #[error("the file is longer than {LONGEST} bytes")]
    TooLong,
    /// Nothing has a meaning there.
    #[error("there are more than {DEEPEST} blocks or lists in each other")]
    TooDeep,
    /// Bytes that are no text.
    #[error("the file is not in UTF-8 here")]
    Encoding,
    /// A character that nothing starts with.
    #[error("the character {0:?} has no meaning here")]
    Character(char),
    /// A string, comment or heredoc without its end.
    #[error("this {0} has no end")]
    Unterminated(&'static str),
    /// A backslash with something behind it that it does not go with.
    #[error("a backslash cannot be followed by this; write \\\\ for a backslash itself")]
    Escape,
    /// A number that is none.
    #[error("this is not a number")]
    Number,
    /// `<` without what makes it a heredoc.
    #[error("a heredoc starts with << and a name, and nothing else in its line")]
    Heredoc,
    /// Something else was to be there.
    #[error("found {found}, where {expected} should be")]
    Expected {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// An argument that is given twice.
    #[error("{name:?} was already set at {first}; it can be set once only")]
    Twice {
        /// The argument.
        name: String,
        /// Where it was set first.
        first: Position,
    },
}

/// Reads a file.
///
/// # Errors
/// When it is not in the language.
pub(super) fn parse(bytes: &[u8]) -> Result<Body, SyntaxError> {
    if bytes.len() > LONGEST {
        return Err(SyntaxError { position: Position::START, fault: SyntaxFault::TooLong });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        SyntaxError { position: end_of(valid), fault: SyntaxFault::Encoding }
    })?;
    if text.trim_start().starts_with('{') { json::parse(text) } else { native::parse(text) }
}

/// The place behind a text.
fn end_of(text: &str) -> Position {
    text.chars().fold(Position::START, |position, character| position.behind(character))
}

impl Position {
    fn behind(self, character: char) -> Self {
        if character == '\n' {
            Self { line: self.line + 1, column: 1 }
        } else {
            Self { column: self.column + 1, ..self }
        }
    }
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
        }
    }

    fn read(text: &str) -> String {
        match parse(text.as_bytes()) {
            Ok(body) => shown(&body),
            Err(SyntaxError { position, fault }) => format!("{position} {fault}"),
        }
    }

    #[test]
    fn what_people_have_in_their_files_is_read() {
        for (text, expected) in [
            ("", "()"),
            ("  \n\t# nothing\n// at /* all\n/* or\n * more */", "()"),
            ("plugin_cache_dir = \"$HOME/x\"", r#"(plugin_cache_dir="$HOME/x")"#),
            ("a = 1 b = true c = -1.5e3 d = 0x1F", "(a=#1 b=true c=#-1.5e3 d=#0x1F)"),
            ("a = [\"x\", \"y\",]", r#"(a=["x","y"])"#),
            ("a = [1, [2], {b = 3}, []]", "(a=[#1,[#2],(b=#3),[]])"),
            (
                "credentials \"app.terraform.io\" {\n  token = \"t\"\n}",
                r#"(credentials[app.terraform.io](token="t"))"#,
            ),
            ("credentials = { \"h\" = { token = \"t\" } }", r#"(credentials=(h=(token="t")))"#),
            (
                "provider_installation { dev_overrides { \"hashicorp/null\" = \"/x\" } direct {} }",
                r#"(provider_installation(dev_overrides(hashicorp/null="/x") direct()))"#,
            ),
            (
                "host \"h\" { services = { \"providers.v1\" = \"https://h/\" }, }",
                r#"(host[h](services=(providers.v1="https://h/")))"#,
            ),
            ("a-b.c_1 = \"\"\r\nb = \"x\"\r\n", r#"(a-b.c_1="" b="x")"#),
            (r#"a = "q\"\\\n\t\u00e9\U0001F600\101\x41""#, r#"(a="q\"\\\n\té😀AA")"#),
            (r#"a = "${hostname}/x-${"y"}""#, r#"(a="${hostname}/x-${\"y\"}")"#),
            ("a = \"${\n}\"", "(a=\"${\\n}\")"),
            ("a = <<EOF\nx\n  y\nEOF\nb = 1", r#"(a="x\n  y\n" b=#1)"#),
            ("a = <<-EOF\n  x\n    y\n  EOF\n", r#"(a="x\n  y\n")"#),
            ("a = <<-EOF\n x\n   y\n  EOF", r#"(a=" x\n   y\n")"#),
            ("a = <<EOF\nEOF\n", r#"(a="")"#),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn the_json_form_comes_to_the_same_tree() {
        for (text, expected) in [
            ("{}", "()"),
            (" \n{ \"a\": 1, \"b\": [true, null, \"x\"] }", r#"(a#1 b[true,null,"x"])"#),
            (
                r#"{"credentials": {"h": {"token": "\u00e9\ud83d\ude00\/"}}}"#,
                r#"(credentials(h(token"é😀/")))"#,
            ),
            // A list of blocks is several blocks, and a name may come more than once.
            (
                r#"{"p": [{"direct": [{}, {"include": []}], "m": {"a": 1}, "m": {"a": 2}}]}"#,
                "(p(direct() direct(include[]) m(a#1) m(a#2)))",
            ),
            (r#"{"a": -1.5E+3, "b": 0, "c": ""}"#, r#"(a#-1.5E+3 b#0 c"")"#),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, expected) in [
            ("a", "1:2 found the end of the file, where = or { should be"),
            ("a = ", "1:5 found the end of the file, where a value should be"),
            ("a = b", "1:5 found \"b\", where a value should be"),
            ("a {\n  b = 1\n", "3:1 found the end of the file, where } should be"),
            ("\n  }", "2:3 found }, where a name should be"),
            ("a = [1 2]", "1:8 found a number, where , or ] should be"),
            ("a = [1,", "1:8 found the end of the file, where a value or ] should be"),
            ("a b = 1", "1:5 found =, where { of a block should be"),
            ("= 1", "1:1 found =, where a name should be"),
            ("{{}}", "1:2 found {, where a name in quotes or } should be"),
            ("a { {} }", "1:5 found {, where a name should be"),
            ("a = 1\nb = 2\na = 3", "3:1 \"a\" was already set at 1:1; it can be set once only"),
            ("a = \"x", "1:5 this string has no end"),
            ("a = \"x\ny\"", "1:5 this string has no end"),
            ("a = \"${x\"", "1:5 this string has no end"),
            ("é = /* ", "1:5 this comment has no end"),
            ("a = <<EOF\nx", "1:5 this heredoc has no end"),
            ("a = <EOF\nx", "1:5 a heredoc starts with << and a name, and nothing else in its line"),
            ("a = << \nx", "1:5 a heredoc starts with << and a name, and nothing else in its line"),
            (r#"a = "\q""#, "1:6 a backslash cannot be followed by this; write \\\\ for a backslash itself"),
            (
                r#"a = "\ud800""#,
                "1:6 a backslash cannot be followed by this; write \\\\ for a backslash itself",
            ),
            (
                r#"a = "\xff""#,
                "1:6 a backslash cannot be followed by this; write \\\\ for a backslash itself",
            ),
            ("a = 0x", "1:5 this is not a number"),
            ("a = 1.2.3", "1:5 this is not a number"),
            ("a = ;", "1:5 the character ';' has no meaning here"),
            ("\u{feff}a = 1", "1:1 the character '\\u{feff}' has no meaning here"),
            ("a = 1\0", "1:6 the character '\\0' has no meaning here"),
            ("{\"a\": 1", "1:8 found the end of the file, where , or } should be"),
            ("{\"a\" 1}", "1:6 found a number, where : should be"),
            ("{\"a\": 1,}", "1:9 found }, where a name in quotes should be"),
            ("{\"a\": [1,]}", "1:10 found ], where a value should be"),
            ("{\"a\": x}", "1:7 found \"x\", where a value should be"),
            ("{\"a\": 01}", "1:7 this is not a number"),
            (
                "{\"a\": \"\\a\"}",
                "1:8 a backslash cannot be followed by this; write \\\\ for a backslash itself",
            ),
            ("{} x", "1:4 found \"x\", where the end of the file should be"),
            ("{ # c\n}", "1:3 the character '#' has no meaning here"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert_eq!(parse(b"a = \"\n\xff").expect_err("no text").position, Position { line: 2, column: 1 });
        assert_eq!(parse(&vec![b' '; LONGEST + 1]).expect_err("too long").fault, SyntaxFault::TooLong);
    }

    #[test]
    fn nesting_has_a_limit_in_both_forms() {
        for (open, close) in [("a {", "}"), ("a = [", "]"), ("a = {", "}")] {
            let text = format!("{}{}", open.repeat(5000), close.repeat(5000));
            assert!(!read(&text).starts_with('('), "{open}");
        }
        assert!(read(&"a {".repeat(5000)).contains("more than 32"));
        assert!(read(&format!("a = {}", "[".repeat(5000))).contains("more than 32"));
        assert!(read(&format!("{{\"a\": {}", "[".repeat(5000))).contains("more than 32"));
        assert!(read(&"{\"a\":".repeat(5000)).contains("more than 32"));
        let deep = format!("{}{}", "a {".repeat(DEEPEST - 1), "}".repeat(DEEPEST - 1));
        assert!(read(&deep).starts_with('('), "{}", read(&deep));
    }

    const SAMPLE: &str = "plugin_cache_dir = \"$HOME/é\" # c\ncredentials \"h\" {\n token = <<-E\n x\n E\n}\n\
                          provider_installation {\n dev_overrides { \"a/b\" = \"/x\" }\n network_mirror {\n url = \"u${t}\"\n \
                          include = [\"a/*\", 0x1, -2.5e1, true]\n }\n}\n/* end */";
    const JSON: &str =
        r#"{"a": {"h": {"t": "\u00e9\ud83d\ude00"}}, "b": [{"c": [true, null, -1.5e3]}, {}], "a": "é"}"#;

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
                prop_assert!(error.position.line as usize <= lines + 1);
            }
        }

        #[test]
        fn any_text_is_answered(text in "[-a{}\\[\\]\",=<:$\\\\#/*0-9.eE\n é\u{0}]{0,40}") {
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn a_string_that_was_written_down_is_read_back(text in "\\PC{0,20}") {
            prop_assume!(!text.contains("${"));
            let quoted = serde_json::to_string(&text).expect("a string");
            let both = [format!("a = {quoted}"), format!("{{\"a\": {quoted}}}")];
            for file in both {
                let body = parse(file.as_bytes()).expect("it is one");
                prop_assert_eq!(&body.items[0].value.content, &Content::String(text.clone()));
            }
        }
    }
}
