//! The syntax of CLI configuration files: HCL 1 and its JSON form.
//!
//! Terraform and OpenTofu still parse `.terraformrc` by HCL 1. It is looser than HCL 2, as existing
//! files require: quoted keys (`"hashicorp/random" = "/dir"`), several arguments in a line, numbers
//! as strings. HCL 2 parsers refuse these. The dependency lock file is in HCL 2, but its possible
//! contents are the same in both.
//!
//! The result is a tree of named items with their positions, without interpretation. A file's first
//! character decides between the two forms (`{` is JSON), whatever the file is called.

mod lexer;
mod parser;
mod tree;

use lexer::Form;
pub(crate) use tree::{Body, Content, Item, Key, Value};
use tree::{LONGEST, SyntaxError};
pub(crate) use tree::{Position, SyntaxFault};

/// Parses a file.
pub(crate) fn parse(bytes: &[u8]) -> Result<Body, SyntaxError> {
    if bytes.len() > LONGEST {
        return Err(SyntaxError { position: Position::START, fault: SyntaxFault::TooLong });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        SyntaxError {
            position: valid.chars().fold(Position::START, Position::behind),
            fault: SyntaxFault::Encoding,
        }
    })?;
    let form = if text.trim_start().starts_with('{') { Form::Json } else { Form::Native };
    parser::parse(text, form)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use tree::DEEPEST;

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
            // A list of blocks is several blocks, and a name may occur more than once.
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
    fn errors_have_their_position() {
        for (text, expected) in [
            ("a", "1:2 found the end of the file, where = or { should be"),
            ("a = ", "1:5 found the end of the file, where a value should be"),
            ("a = b", "1:5 found a word without quotes, where a value should be"),
            ("a {\n  b = 1\n", "3:1 found the end of the file, where } should be"),
            ("\n  }", "2:3 found }, where a name should be"),
            ("a = [1 2]", "1:8 found a number, where , or ] should be"),
            ("a = [1,", "1:8 found the end of the file, where a value or ] should be"),
            ("a b = 1", "1:5 found =, where { of a block should be"),
            ("= 1", "1:1 found =, where a name should be"),
            ("{{}}", "1:2 found {, where a name in quotes or } should be"),
            ("a { {} }", "1:5 found {, where a name should be"),
            ("a = 1\nb = 2\na = 3", "3:1 this was already set at 1:1; it can be set once only"),
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
            ("a = ;", "1:5 this character has no meaning here"),
            ("\u{feff}a = 1", "1:1 this character has no meaning here"),
            ("a = 1\0", "1:6 this character has no meaning here"),
            ("{\"a\": 1", "1:8 found the end of the file, where , or } should be"),
            ("{\"a\" 1}", "1:6 found a number, where : should be"),
            ("{\"a\": 1,}", "1:9 found }, where a name in quotes should be"),
            ("{\"a\": [1,]}", "1:10 found ], where a value should be"),
            ("{\"a\": x}", "1:7 found a word without quotes, where a value should be"),
            ("{\"a\": 01}", "1:7 this is not a number"),
            (
                "{\"a\": \"\\a\"}",
                "1:8 a backslash cannot be followed by this; write \\\\ for a backslash itself",
            ),
            ("{} x", "1:4 found a word without quotes, where the end of the file should be"),
            ("{ # c\n}", "1:3 this character has no meaning here"),
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
