//! Descriptions: conversion of Terraform's documentation to Pulumi's.
//!
//! Notes become block quotes, links into Terraform's site get its address, dangling links become
//! plain text, and names in code type become a `span` with the name in every language, from which
//! Pulumi's documentation and generators choose. A name is that of a member of the package, or of a property
//! of the member that the text belongs to; other words in code type are values. Code blocks are unchanged.
//!
//! Pulumi reads every text as Markdown, in which `<name>` is markup. Plain texts are escaped for
//! that, as is whatever would end a comment or a string literal in a generated SDK.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use isthmus_provider::schema::TextKind;
use regex::{Captures, Regex};

use super::super::catalogue::Package;
use super::super::described::Text;
use super::super::function::{FunctionParameter, FunctionShape};
use super::super::shape::{ObjectShape, Shape};
use crate::names::casing::upper_first;
use crate::names::tokens::member_name;

/// The properties of a member at any depth, whose names its descriptions contain.
#[derive(Debug, Default)]
pub struct Names<'a> {
    /// The objects at its top.
    tops: Vec<&'a ObjectShape>,
    /// Pulumi's names by Terraform's.
    nested: OnceCell<HashMap<&'a str, &'a str>>,
    parameters: &'a [FunctionParameter],
    /// What the provider's own documentation says of the member.
    own: Option<&'a Text>,
}

impl<'a> Names<'a> {
    pub fn of(object: &'a ObjectShape) -> Self {
        Self { tops: vec![object], ..Self::default() }
    }

    pub fn of_function(function: &'a FunctionShape) -> Self {
        let parameters = &function.parameters;
        let shapes = parameters.iter().map(|parameter| &parameter.shape).chain([&function.return_shape]);
        Self {
            tops: shapes.filter_map(Shape::object).map(Arc::as_ref).collect(),
            parameters,
            ..Self::default()
        }
    }

    /// The names of a member with a text of its own.
    pub(super) fn with(self, own: Option<&'a Text>) -> Self {
        Self { own, ..self }
    }

    /// The description of the member: the provider's own, or that of the schema.
    pub(super) fn description<'t>(&self, text: &'t str, kind: TextKind) -> (&'t str, TextKind)
    where
        'a: 't,
    {
        match self.own {
            Some(own) if !own.description.is_empty() => (&own.description, TextKind::Markdown),
            Some(_) | None => (text, kind),
        }
    }

    /// The description of a property of the member: that of the schema, or the provider's own.
    pub(super) fn property<'t>(&self, terraform: &str, text: &'t str, kind: TextKind) -> (&'t str, TextKind)
    where
        'a: 't,
    {
        match self.own.and_then(|own| own.properties.get(terraform)) {
            Some(own) if text.is_empty() => (own, TextKind::Markdown),
            Some(_) | None => (text, kind),
        }
    }

    /// The Pulumi name of a property. That of an outer object goes first.
    fn pulumi(&self, terraform: &str) -> Option<&'a str> {
        let parameter = self.parameters.iter().find(|parameter| *parameter.terraform == *terraform);
        if let Some(parameter) = parameter {
            return Some(&parameter.pulumi);
        }
        let outer = self.tops.iter().find_map(|object| object.terraform(terraform));
        outer.map(|field| &*field.pulumi).or_else(|| {
            let nested = self.nested.get_or_init(|| {
                let mut nested = HashMap::new();
                self.tops.iter().for_each(|object| add_nested(object, &mut nested));
                nested
            });
            nested.get(terraform).copied()
        })
    }
}

fn add_nested<'a>(object: &'a ObjectShape, names: &mut HashMap<&'a str, &'a str>) {
    for object in object.fields.iter().filter_map(|field| field.shape.object()) {
        for field in &object.fields {
            names.entry(&field.terraform).or_insert(&field.pulumi);
        }
        add_nested(object, names);
    }
}

/// `text`, converted and trimmed.
pub fn clean(package: &Package, names: &Names<'_>, text: &str, kind: TextKind) -> String {
    let text = printable(text);
    let text = &as_markdown(&text, kind);
    if !text.contains("```") {
        return without_escapes(clean_prose(package, names, text).trim().to_owned());
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = 0;
    for block in CODE_BLOCK.find_iter(text) {
        result.push_str(&clean_prose(package, names, &text[rest..block.start()]));
        result.push_str(block.as_str());
        rest = block.end();
    }
    result.push_str(&clean_prose(package, names, &text[rest..]));
    without_escapes(result.trim().to_owned())
}

/// `text` as Markdown.
pub(super) fn as_markdown(text: &str, kind: TextKind) -> Cow<'_, str> {
    match kind {
        TextKind::Markdown => Cow::Borrowed(text),
        TextKind::Plain if text.contains('<') || text.contains("*/") => {
            let escaped = MARKUP.replace_all(text, |found: &Captures<'_>| match &found[0] {
                // Code is shown literally.
                code if code.starts_with('`') => code.to_owned(),
                markup => format!("&lt;{}", &markup[1..]),
            });
            Cow::Owned(escaped.replace("*/", "*&#47;"))
        }
        TextKind::Plain => Cow::Borrowed(text),
    }
}

/// The deprecation message: the provider's own, if there is one. Generators put it into the middle
/// of a line: some into a comment, Python's into a string literal of three quotation marks, without
/// escaping these or backslashes.
pub(super) fn deprecation(message: &str) -> String {
    let message = printable(&message.replace('\\', "&#92;")).replace("*/", "*&#47;").replace('"', "'");
    let words: Vec<_> = message.split_whitespace().collect();
    if words.is_empty() { DEPRECATED.to_owned() } else { words.join(" ") }
}

/// Removes what ends a comment or a source file in one of the SDK languages: C#'s additional line
/// ends are normalized, NUL and byte order marks are removed.
fn printable(text: &str) -> Cow<'_, str> {
    // Most texts, in a fraction of the pattern's time.
    if text.is_ascii() && !text.contains('\r') && !text.contains('\0') {
        return Cow::Borrowed(text);
    }
    UNPRINTABLE.replace_all(text, |found: &Captures<'_>| match &found[0] {
        "\r\n" => "\r\n",
        "\0" | "\u{feff}" => "",
        _ => "\n",
    })
}

/// `text` without escapes of Java's: it reads `\u002a\u002f` as the end of a comment, unless the
/// backslash is the second of two. The last step, because others join what was apart.
fn without_escapes(text: String) -> String {
    if !text.contains("\\u") {
        return text;
    }
    let doubled = |found: &Captures<'_>| {
        format!("{}{}", if found[0].len().is_multiple_of(2) { "\\" } else { "" }, &found[0])
    };
    UNICODE_ESCAPE.replace_all(&text, doubled).into_owned()
}

/// `text` as a comment: each line terminated, a trailing blank line dropped.
pub(super) fn comment(text: &str) -> String {
    let text = &*printable(text);
    if text.is_empty() {
        return String::new();
    }
    let (before, last) = text.rsplit_once('\n').map_or(("", text), |(before, last)| (before, last));
    without_escapes(match (text.contains('\n'), last.trim().is_empty()) {
        (true, true) => format!("{before}\n"),
        (false, true) => String::new(),
        (_, false) => format!("{text}\n"),
    })
}

fn clean_prose(package: &Package, names: &Names<'_>, text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let text = if text.contains("> ") {
        Cow::Owned(text.replace("-> ", "> ").replace("~> ", "> ").replace("!> ", "> "))
    } else {
        Cow::Borrowed(text)
    };
    let text = text.strip_prefix("\n(Required)\n").unwrap_or(&text);
    let text = text.strip_prefix("\n(Optional)\n").unwrap_or(text);
    // Both patterns start with it.
    if !text.contains('[') {
        return name_references(package, names, text);
    }
    let text = PAGE_REFERENCE.replace_all(text, "${1} https://www.terraform.io${2}");
    let text = LINK.replace_all(&text, |link: &Captures<'_>| match &link[2] {
        address if address.starts_with("http") => link[0].to_owned(),
        address if address.starts_with('/') => format!("[{}](https://www.terraform.io{address})", &link[1]),
        // An anchor, or relative to a missing page.
        _ => link[1].to_owned(),
    });
    name_references(package, names, &text)
}

/// Whether `text` cannot contain notes, links or names. Most texts are plain, and the patterns take
/// far longer than this check.
fn is_plain(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'>' | b'[' | b'`' | b'_' | b'('))
}

/// Replaces every name in code type by its forms in all languages.
fn name_references(package: &Package, names: &Names<'_>, text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = 0;
    for found in CODE_WORD.find_iter(text) {
        // What is around the name is one byte on both sides.
        let matched = found.as_str();
        let (open, behind) = matched.split_at(1);
        let (name, close) = behind.split_at(behind.len() - 1);
        result.push_str(&text[rest..found.start()]);
        match reference(package, names, open, name, close) {
            Some(reference) => result.push_str(&reference),
            None => result.push_str(matched),
        }
        rest = found.end();
    }
    result.push_str(&text[rest..]);
    result
}

/// The forms of a name in all languages; `None` for what is no name.
fn reference(package: &Package, names: &Names<'_>, open: &str, name: &str, close: &str) -> Option<String> {
    let quoted = |text: &str| format!("{open}{text}{close}");
    if let Some(token) = package.resources().token(name) {
        let bare = quoted(member_name(token));
        let full = quoted(&format!("{}.{}", package.identity().name, member_name(token)));
        return Some(span(&full, &full, &bare, &bare, &quoted(name)));
    }
    if let Some(token) = package.data_sources().token(name) {
        let bare = quoted(member_name(token));
        let full = quoted(&format!("{}.{}", package.identity().name, member_name(token)));
        let python = quoted(&python_name(member_name(token)));
        return Some(span(&full, &full, &bare, &python, &quoted(&format!("data.{name}"))));
    }
    let property = names.pulumi(name)?;
    let camel = quoted(property);
    let (dotnet, python) = (quoted(&upper_first(property)), quoted(&python_name(property)));
    Some(span(&camel, &dotnet, &camel, &python, &quoted(name)))
}

/// YAML and Java use the names of Node.js, as do readers without a language.
fn span(node: &str, dotnet: &str, go: &str, python: &str, hcl: &str) -> String {
    format!(
        "<span pulumi-lang-nodejs=\"{node}\" pulumi-lang-dotnet=\"{dotnet}\" pulumi-lang-go=\"{go}\" \
         pulumi-lang-python=\"{python}\" pulumi-lang-yaml=\"{node}\" pulumi-lang-java=\"{node}\" \
         pulumi-lang-hcl=\"{hcl}\">{node}</span>"
    )
}

/// A function's or property's name in Python SDKs: `getPublicKey` is `get_public_key`. A run of capitals is one
/// word, including digits (or one `s`) right after it.
pub fn python_name(name: &str) -> String {
    #[derive(Clone, Copy, PartialEq)]
    enum Before {
        Start,
        Capital,
        Capitals,
        Other,
    }
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before = Before::Start;
    for character in name.chars() {
        let character = if character.is_alphanumeric() { character } else { '_' };
        let capital = character.is_uppercase();
        match (before, capital) {
            (Before::Other, true) => words.push(std::mem::take(&mut word)),
            (Before::Capitals, false) if !character.is_ascii_digit() && character != 's' => {
                let last = word.pop();
                words.push(std::mem::take(&mut word));
                word.extend(last);
            }
            _ => {}
        }
        before = match (before, capital) {
            (Before::Capital | Before::Capitals, true) => Before::Capitals,
            (_, true) => Before::Capital,
            (_, false) => Before::Other,
        };
        word.extend(character.to_lowercase());
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words.join("_")
}

/// The default deprecation message.
const DEPRECATED: &str = "Deprecated";

/// Code, which is skipped, or the start of markup.
static MARKUP: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)```.*?```|`[^`\n]*`|<[A-Za-z/!?]"));

/// White space in Go's patterns.
const BLANK: &str = r"[\t\n\f\r ]";

static CODE_BLOCK: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"(?ms)```[^\n]*?$.*?```{BLANK}*$")));

static UNPRINTABLE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\r\n|[\r\x00\u{85}\u{2028}\u{2029}\u{feff}]"));

/// The beginning of what Java may read as another character.
static UNICODE_ESCAPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\\+u"));

static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"\[([^\]]*)\]\(([^\)]*)\)"));

static PAGE_REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(\[[1-9]+\]:) (/docs/providers(?:/[a-z1-9_]+)+\.[a-z]+)"));

/// Either a snake-case name between blanks, quotation marks, brackets or in code type, or a single
/// word in code type.
static CODE_WORD: LazyLock<Regex> = LazyLock::new(|| {
    let blank = &BLANK[1..BLANK.len() - 1];
    pattern(&format!(r#"[{blank}"`\[](?:[0-9a-z]+_)+[0-9a-z]+[{blank}"`\]]|`[0-9a-z]+`"#))
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns of this file are valid")
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::super::super::shape::IdRule;
    use super::super::super::testing::package;
    use super::*;
    use crate::testing::shapes::{attribute, block, nested, resource};

    /// `text` of a member with a few properties, one of them nested.
    fn described(text: &str, kind: TextKind) -> String {
        let inner = block(vec![attribute("dns_name", Type::list(Type::String))], vec![]);
        let attributes =
            ["a_b", "c_d", "max_length", "end", "x"].map(|name| attribute(name, Type::String)).to_vec();
        let shape =
            resource(block(attributes, vec![nested("host", BlockNesting::Set, 0, inner)]), IdRule::Missing);
        clean(&package(), &Names::of(&shape.object), text, kind)
    }

    fn node(text: &str) -> String {
        // The text for one language.
        let span = Regex::new(r#"<span pulumi-lang-nodejs="([^"]*)"[^>]*>[^<]*</span>"#).unwrap();
        span.replace_all(&described(text, TextKind::Markdown), "<$1>").into_owned()
    }

    #[test]
    fn a_name_in_code_type_is_given_in_every_language() {
        assert_eq!(
            described("Use `max_length`.", TextKind::Plain),
            "Use <span pulumi-lang-nodejs=\"`maxLength`\" pulumi-lang-dotnet=\"`MaxLength`\" \
             pulumi-lang-go=\"`maxLength`\" pulumi-lang-python=\"`max_length`\" pulumi-lang-yaml=\"`maxLength`\" \
             pulumi-lang-java=\"`maxLength`\" pulumi-lang-hcl=\"`max_length`\">`maxLength`</span>."
        );
    }

    #[test]
    fn resources_and_data_sources_are_called_by_their_tokens() {
        let text = described("See `test_pet` and test_broken here", TextKind::Plain);
        assert!(text.contains("pulumi-lang-nodejs=\"`test.Pet`\""), "{text}");
        assert!(text.contains("pulumi-lang-go=\"`Pet`\""), "{text}");
        assert!(text.contains("pulumi-lang-hcl=\" test_broken \"> test.Broken </span>"), "{text}");
    }

    #[test]
    fn only_names_are_touched() {
        assert_eq!(node("`end` but not end, `Name` nor `a-b`"), "<`end`> but not end, `Name` nor `a-b`");
        assert_eq!(node("in a_b text, [c_d] too"), "in< aB >text, <[cD]> too");
        // Values.
        assert_eq!(
            node("`true`, `cert_signing` and no_such here"),
            "`true`, `cert_signing` and no_such here"
        );
        assert_eq!(node("in `host`: `dns_name`"), "in <`hosts`>: <`dnsNames`>");
        assert_eq!(node("a_b"), "a_b");
    }

    #[test]
    fn links_that_lead_nowhere_become_text() {
        assert_eq!(
            node("[a](https://x/y) [b](/docs/b) [c](#c) [d](d.html)"),
            "[a](https://x/y) [b](https://www.terraform.io/docs/b) c d"
        );
        assert_eq!(
            node("[1]: /docs/providers/aws/d/x.html"),
            "[1]: https://www.terraform.io/docs/providers/aws/d/x.html"
        );
    }

    #[test]
    fn notes_are_quotations_and_code_blocks_stay() {
        assert_eq!(
            node("-> note\n~> more\n\n```hcl\n-> `a_b`\n```\n!> `end`"),
            "> note\n> more\n\n```hcl\n-> `a_b`\n```\n> <`end`>"
        );
        assert_eq!(node("\n(Required)\n  text  "), "text");
    }

    #[test]
    fn plain_text_is_no_markup_and_ends_no_comment() {
        let plain = |text| described(text, TextKind::Plain);
        for (text, escaped) in [
            ("set <Name> to <b>x</b>", "set &lt;Name> to &lt;b>x&lt;/b>"),
            ("a < b, 1<2, <- and <=", "a < b, 1<2, <- and <="),
            ("end */ of <!-- it -->", "end *&#47; of &lt;!-- it -->"),
            ("every `*/5 <min>`, `x` <y>", "every `*&#47;5 <min>`, `x` &lt;y>"),
            ("```\n<a>\n```\n<b>", "```\n<a>\n```\n&lt;b>"),
            ("an open ` and <b>", "an open ` and &lt;b>"),
        ] {
            let spanless = plain(text).replace(&plain("`x`"), "`x`");
            assert_eq!(spanless, escaped, "{text}");
            assert_eq!(described(&text.replace("`x`", ""), TextKind::Markdown), text.replace("`x`", ""));
        }
    }

    #[test]
    fn the_message_of_a_deprecation_is_one_line_and_ends_no_comment_and_no_string() {
        assert_eq!(deprecation(" Use\n `b`, not */. "), "Use `b`, not *&#47;.");
        assert_eq!(deprecation("a\0\"\"\" + b() + \"\"\"\\"), "a''' + b() + '''&#92;");
        // The characters that are removed separate none of what is escaped.
        assert_eq!(deprecation("*\0/ \\\0u002a"), "*&#47; &#92;u002a");
        assert_eq!(deprecation("\n"), "Deprecated");
    }

    #[test]
    fn what_no_source_file_can_hold_is_gone() {
        assert_eq!(node("a\0b\u{feff}c\u{85}d\u{2028}e\u{2029}f\rg\r\nh"), "abc\nd\ne\nf\ng\r\nh");
        assert_eq!(comment("a\u{2028}b"), "a\nb\n");
        assert_eq!(comment("\t é\u{1}"), "\t é\u{1}\n");
    }

    #[test]
    fn java_reads_no_other_characters_than_there_are() {
        assert_eq!(
            comment(r"\u002a\u002f \\u002f C:\\\users \n"),
            format!("{}\n", r"\\u002a\\u002f \\u002f C:\\\\users \n")
        );
        assert_eq!(node("*\\\0u002f [\\](x)u002f"), r"*\\u002f \\u002f");
    }

    #[test]
    fn comments_end_each_line() {
        for (text, lines) in
            [("", ""), ("a", "a\n"), ("a\n", "a\n"), ("a\n\nb", "a\n\nb\n"), ("a\n\n", "a\n\n"), (" ", "")]
        {
            assert_eq!(comment(text), lines, "{text:?}");
        }
    }

    #[test]
    fn python_splits_words_before_capitals() {
        for (name, python) in [
            ("getPublicKey", "get_public_key"),
            ("getIPs", "get_ips"),
            ("getSHA256Hash", "get_sha256_hash"),
            ("getHTTPServer", "get_http_server"),
            ("getX", "get_x"),
        ] {
            assert_eq!(python_name(name), python);
        }
    }
}
