//! Texts of others, as they may be printed on a terminal, and in errors and warnings: a registry, a mirror or a file
//! determines how long they are, and an error is for a reader.

use std::borrow::Cow;
use std::fmt::{Debug, Display};

/// Items that are listed at most.
const LISTED: usize = 10;

/// Characters of one item that are shown at most: more than a checksum, an address or a URN has.
const LONGEST_ITEM: usize = 500;

/// `text` with [misleading](is_misleading) characters escaped. Line ends and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_escaped = |character: char| is_misleading(character) && !matches!(character, '\n' | '\t');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_line_end = character == '\r' && characters.peek() == Some(&'\n');
        if is_escaped(character) && !is_line_end {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// A text of a user in quotes, with one backslash for each of its own: on Windows, backslashes separate directories.
pub fn quoted(text: impl Debug) -> String {
    format!("{text:?}").replace(r"\\", r"\")
}

/// Whether a terminal obeys the character, or a reader sees another text than there is:
///
/// - control characters, which could hide or forge what is printed;
/// - controls of the writing direction, which reorder what stands around them: "Trojan Source",
///   CVE-2021-42574;
/// - separators of lines and paragraphs, which some programs show as line ends;
/// - spaces and joiners without width, by which two names look the same.
///
/// Not the joiners U+200C and U+200D, which words of Persian and of Indian languages and emoji are
/// written with, nor letters that are written from right to left.
pub fn is_misleading(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            // The Arabic letter mark, and the marks, embeddings, overrides and isolates of both directions.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                // Separators of lines and paragraphs.
                | '\u{2028}' | '\u{2029}'
                // The space, the joiner and the byte order mark without width.
                | '\u{200b}' | '\u{2060}' | '\u{feff}'
        )
}

/// The first items of a list, joined by commas, and the number of the others.
pub fn listed<Item: Display>(items: impl IntoIterator<Item = Item>) -> String {
    let mut items = items.into_iter();
    let shown =
        items.by_ref().take(LISTED).map(|item| shortened(&item.to_string(), LONGEST_ITEM).into_owned());
    let text = shown.collect::<Vec<_>>().join(", ");
    match items.count() {
        0 => text,
        more => format!("{text}, and {more} more"),
    }
}

/// The first characters of a text, with `…` in place of the others.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_lines_stay() {
        for (text, shown) in [
            ("a\tb\r\nc\n", "a\tb\r\nc\n"),
            ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("forged\rtext", "forged\\rtext"),
            ("\u{9b}1m\u{7}\0", "\\u{9b}1m\\u{7}\\u{0}"),
            ("élan \u{1f512}", "élan \u{1f512}"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn what_reorders_or_hides_text_is_escaped() {
        for character in
            "\u{61c}\u{200b}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2028}\u{2029}\u{2060}\
                          \u{2066}\u{2067}\u{2068}\u{2069}\u{feff}"
                .chars()
        {
            let escaped = format!("a\\u{{{:x}}}b", u32::from(character));
            assert_eq!(printable(&format!("a{character}b")), escaped);
        }
        assert_eq!(
            printable("is admin \u{202e}\u{2066}// \u{2069}"),
            "is admin \\u{202e}\\u{2066}// \\u{2069}"
        );
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in [
            // A family, joined; a flag of two letters; a heart with a variation selector.
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{1f1e9}\u{1f1ea} \u{2764}\u{fe0f}",
            // Persian with a joiner, Arabic, Hebrew, Hindi with a joiner.
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            "\u{645}\u{631}\u{62d}\u{628}\u{627} \u{5e9}\u{5dc}\u{5d5}\u{5dd}",
            "\u{915}\u{94d}\u{200d}\u{937}",
            // A combining accent, a space that does not break, a hyphen that may.
            "e\u{301} 5\u{a0}km co\u{ad}operate",
        ] {
            assert!(matches!(printable(text), Cow::Borrowed(_)), "{text:?}");
        }
    }

    #[test]
    fn a_list_of_any_length_has_ten_items_and_a_count() {
        assert_eq!(listed([""; 0]), "");
        assert_eq!(listed(1..=10), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
        assert_eq!(listed(1..=200_000), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, and 199990 more");
        assert_eq!(listed(["x".repeat(1_000)]).chars().count(), 501);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äöü…");
    }
}
