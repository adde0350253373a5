//! Texts and lists of others in errors and warnings. A registry, a mirror or a file determines how long they are, and an
//! error is for a reader.

use std::borrow::Cow;
use std::fmt::Display;

/// Items that are listed at most.
const LISTED: usize = 10;

/// Characters of one item that are shown at most: more than a checksum, an address or a URN has.
const LONGEST_ITEM: usize = 500;

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
