//! Texts of others, as they may be printed on a terminal.

use std::borrow::Cow;

/// `text` with control characters escaped, which a terminal would obey: it could hide or forge what
/// is printed. Line ends and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_line_end = character == '\r' && characters.peek() == Some(&'\n');
        if obeyed(character) && !is_line_end {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
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
}
