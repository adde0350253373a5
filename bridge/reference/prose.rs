//! Descriptions as HTML: the only place where a text of a provider becomes markup.
//!
//! Markdown is rendered, and nothing else: markup in a description is dropped, and what is between its tags is text. So there are
//! no scripts, styles, images or forms by construction, without a parser of HTML, whose tables are larger than all
//! pages of this program. Links lead to the web only. A heading in a description becomes a paragraph, since the outline is the page's.

use std::sync::LazyLock;

use maud::{PreEscaped, html as markup};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

/// Where links may lead to.
const SCHEMES: [&str; 3] = ["https://", "http://", "mailto:"];

/// Markdown as HTML that is safe in a page.
pub(super) fn html(markdown: &str) -> PreEscaped<String> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut links = Vec::new();
    let events = Parser::new_ext(markdown, options).filter_map(|event| plain(event, &mut links));
    let mut html = String::with_capacity(markdown.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut html, events);
    PreEscaped(html)
}

/// An event without markup of the provider, of which the renderer makes tags without attributes. `links` says of each
/// open link whether it is one.
fn plain<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    Some(match event {
        Event::Start(Tag::Heading { .. }) => Event::Html("<p><strong>".into()),
        Event::End(TagEnd::Heading(_)) => Event::Html("</strong></p>\n".into()),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Html(html) => Event::Text(without_tags(&html).into()),
        Event::InlineHtml(tag) if is_break(&tag) => Event::HardBreak,
        Event::InlineHtml(_) => return None,
        Event::Start(Tag::Link { dest_url, .. }) => {
            let scheme = dest_url.trim_start().to_ascii_lowercase();
            links.push(SCHEMES.iter().any(|allowed| scheme.starts_with(allowed)));
            if links.last() != Some(&true) {
                return None;
            }
            let open = markup! { a href=(dest_url) rel="noopener noreferrer" {} }.into_string();
            Event::Html(open.trim_end_matches("</a>").to_owned().into())
        }
        Event::End(TagEnd::Link) if links.pop() == Some(true) => Event::Html("</a>".into()),
        // Its alternative text remains.
        Event::End(TagEnd::Link) | Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => {
            return None;
        }
        Event::Start(Tag::Table(columns)) => Event::Start(Tag::Table(vec![Alignment::None; columns.len()])),
        Event::Start(Tag::CodeBlock(_)) => Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)),
        other => other,
    })
}

/// The text between the tags and comments of a block of markup. It is escaped, so what is taken for a tag changes its look only.
fn without_tags(html: &str) -> String {
    static TAG: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?s)<!--.*?(?:-->|$)|<[/!?a-zA-Z][^>]*(?:>|$)")
            .expect("the pattern of this file is valid")
    });
    TAG.replace_all(html, "").into_owned()
}

fn is_break(tag: &str) -> bool {
    let name = tag.trim_start_matches('<').trim_end_matches(['>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}

/// Markdown as plain text in lines, for terminals.
pub fn text(markdown: &str) -> String {
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

/// The first sentence of a description, as plain text in one line, which is cut off where it is long.
pub(super) fn summary(markdown: &str) -> String {
    const LONGEST: usize = 140;
    let text = text(markdown);
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    // Behind an abbreviation, a sentence goes on with a small letter.
    let is_end = |(at, _): &(usize, &str)| line[at + 2..].starts_with(char::is_uppercase);
    let end = line.match_indices(". ").find(is_end).map_or(line.len(), |(at, _)| at + 1);
    let sentence = &line[..end];
    match sentence.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", sentence[..at].trim_end()),
        None => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence_in_one_line() {
        for (markdown, expected) in [
            (
                "Manages a `pet`,\ne.g. a [dog](https://x). It has a name.\n\n## More",
                "Manages a pet, e.g. a dog.",
            ),
            ("# Title\n\nText", "Title"),
            ("", ""),
        ] {
            assert_eq!(summary(markdown), expected);
        }
        assert_eq!(summary(&"é ".repeat(100)), format!("{}…", "é ".repeat(70).trim_end()));
    }

    #[test]
    fn markdown_is_rendered() {
        assert_eq!(
            html("# A\nUse `b`, *c*, [d](https://x/y).\n\n| e |\n|---|\n| f |").0,
            "<p><strong>A</strong></p>\n<p>Use <code>b</code>, <em>c</em>, <a href=\"https://x/y\" rel=\"noopener noreferrer\">\
             d</a>.</p>\n<table><thead><tr><th>e</th></tr></thead><tbody>\n<tr><td>f</td></tr>\n</tbody></table>\n"
        );
        assert_eq!(html("<span pulumi-lang-nodejs=\"`a`\">`a`</span>").0, "<p><code>a</code></p>\n");
    }

    /// That markup consists of the tags of Markdown, without attributes but those of links to the web.
    fn assert_harmless(shown: &str, of: &str) {
        let tag = Regex::new("<[^>]*>?").expect("a pattern");
        let harmless = Regex::new(
            "^<(?:/?(?:a|blockquote|code|del|em|li|ol|p|pre|strong|table|tbody|td|th|thead|tr|ul)|ol start=\"[0-9]+\"|br /|hr /|\
             a href=\"(?:https?://|mailto:)[^\"<>]*\" rel=\"noopener noreferrer\")>$",
        )
        .expect("a pattern");
        for found in tag.find_iter(shown) {
            assert!(harmless.is_match(found.as_str()), "{:?} in {shown:?} of {of:?}", found.as_str());
        }
    }

    #[test]
    fn nothing_of_a_description_runs_or_loads_or_looks_like_the_page() {
        for (hostile, harmless) in [
            ("<script>alert(1)</script>x", "<p>alert(1)x</p>"),
            ("<img src=x onerror=alert(1)>", "<p></p>"),
            ("![alt](https://tracker/x.png)", "<p>alt</p>"),
            ("<b onclick=\"x()\" style=\"position:fixed\" id=content class=top>b</b>", "<p>b</p>"),
            ("[a](javascript:alert(1)) [b](//x) [c](/y) [d](DATA:text/html,x)", "<p>a b c d</p>"),
            ("<a href=\"data:text/html,x\">a</a>", "<p>a</p>"),
            ("<iframe src=//x></iframe><form action=//x><input></form>", "<p></p>"),
            ("a <li>b</li> <td>c", "<p>a b c</p>"),
            ("<ul><table><tr><td>x\n", "<p>x</p>"),
            ("a<br>b<BR />c", "<p>a<br />\nb<br />\nc</p>"),
        ] {
            let shown = html(hostile).0;
            assert_eq!(shown.trim().replace("\n</p>", "</p>"), harmless, "{hostile}");
            assert_harmless(&shown, hostile);
        }
        for hostile in [
            "<svg><style><a title=\"</style><img onerror=x()>\">",
            "</main></body><p>x",
            "[a](https://x/\"onclick=\"y \"t\")",
            "<https://x/?a=1&b='2>",
            "<!-- <script> -->\n&lt;script&gt;<scr<script>ipt>x",
            "| a |\n|:-:|\n| <b>x |",
            "```html\\\" onload=x\n<script>\n```",
            "7. x\n\n[a]: https://x/ '\"<b>'\n[a]",
        ] {
            assert_harmless(&html(hostile).0, hostile);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_harmless(text in "([<>\"'`|\\[\\]()!#*~:/&;= \n-]|script|a href|https://x|javascript:|<b |</p>|<!--|.){0,60}") {
            assert_harmless(&html(&text).0, &text);
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
