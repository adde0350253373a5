//! Descriptions as HTML: the only place where a text of a provider becomes markup.
//!
//! Markdown is rendered, and what comes of it is sanitised by a list of what is allowed: no scripts, styles, images or forms, and
//! no links but to the web. A heading in a description becomes a paragraph, since the outline is the page's.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use maud::PreEscaped;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

/// Tags that a description may use.
const TAGS: [&str; 25] = [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "hr",
    "i",
    "b",
    "kbd",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Markdown as HTML that is safe in a page.
pub(super) fn html(markdown: &str) -> PreEscaped<String> {
    PreEscaped(SANITISER.clean(&rendered(markdown)).to_string())
}

/// Markdown as plain text in lines, for terminals.
pub(super) fn text(markdown: &str) -> String {
    let mut text = String::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak => text.push(' '),
            Event::HardBreak
            | Event::Rule
            | Event::End(TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead) => {
                text.push('\n');
            }
            Event::Start(Tag::Item) => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str("- ");
            }
            Event::End(TagEnd::TableCell) => text.push_str("  "),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::List(_)) => {
                text.push_str("\n\n");
            }
            _ => {}
        }
    }
    text.trim().to_owned()
}

fn rendered(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(markdown, options).filter_map(|event| match event {
        Event::Start(Tag::Heading { .. }) => Some(Event::Html("<p><strong>".into())),
        Event::End(TagEnd::Heading(_)) => Some(Event::Html("</strong></p>\n".into())),
        Event::Html(markup) => Some(Event::Html(without_structure(&markup).into())),
        Event::InlineHtml(markup) => Some(Event::InlineHtml(without_structure(&markup).into())),
        // Its alternative text remains.
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        other => Some(other),
    });
    let mut html = String::with_capacity(markdown.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut html, events);
    html
}

/// Markup without the tags of lists and tables. A browser closes what is around an item that has no list of its own, and so what
/// is around the description; Markdown has lists and tables too.
fn without_structure(markup: &str) -> String {
    static TAGS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)</?(?:li|ul|ol|dl|dd|dt|table|thead|tbody|tr|th|td)\b[^>]*(?:>|$)")
            .expect("the pattern of this file is valid")
    });
    TAGS.replace_all(markup, " ").into_owned()
}

static SANITISER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from(TAGS))
        .clean_content_tags(HashSet::from(["script", "style", "iframe", "object", "template", "svg", "math"]))
        .tag_attributes(HashMap::from([("a", HashSet::from(["href"])), ("ol", HashSet::from(["start"]))]))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer"));
    builder
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_rendered() {
        assert_eq!(
            html("# A\nUse `b`, *c*, [d](https://x/y).\n\n| e |\n|---|\n| f |").0,
            "<p><strong>A</strong></p>\n<p>Use <code>b</code>, <em>c</em>, <a href=\"https://x/y\" rel=\"noopener noreferrer\">\
             d</a>.</p>\n<table><thead><tr><th>e</th></tr></thead><tbody>\n<tr><td>f</td></tr>\n</tbody></table>\n"
        );
        assert_eq!(html("<span pulumi-lang-nodejs=\"`a`\">`a`</span>").0, "<p><code>a</code></p>\n");
    }

    #[test]
    fn nothing_of_a_description_runs_or_loads_or_looks_like_the_page() {
        for (hostile, harmless) in [
            ("<script>alert(1)</script>x", "x"),
            ("<img src=x onerror=alert(1)>", ""),
            ("![alt](https://tracker/x.png)", "<p>alt</p>\n"),
            ("<b onclick=\"x()\" style=\"position:fixed\" id=content class=top>b</b>", "<p><b>b</b></p>\n"),
            ("[a](javascript:alert(1))", "<p><a rel=\"noopener noreferrer\">a</a></p>\n"),
            ("<a href=\"data:text/html,x\">a</a>", "<p><a rel=\"noopener noreferrer\">a</a></p>\n"),
            ("<iframe src=//x></iframe><form action=//x><input></form>", ""),
            ("<svg><style><a title=\"</style><img onerror=x()>\">", "<p></p>"),
            ("</main></body><p>x", "<p>x</p>"),
            ("a <li>b</li> <td>c", "<p>a  b   c</p>"),
            ("<ul><table><tr><td>x\n", "x"),
        ] {
            let shown = html(hostile).0;
            assert_eq!(shown.trim(), harmless.trim(), "{hostile}");
        }
    }

    #[test]
    fn text_has_no_markup() {
        assert_eq!(
            text("Use `a` and **b**:\n\n* c\n* d\n\nEnd <span x=\"y\">`e`</span>."),
            "Use a and b:\n\n- c\n- d\n\n\nEnd e."
        );
    }
}
