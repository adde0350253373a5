//! Refinements of unknown values.
//!
//! Only providers that use go-cty directly send them; those on the official frameworks ignore them
//! and send none.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::Number;

/// Refinements of an unknown value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinements {
    /// `Some(false)`: definitely not null.
    pub null: Option<bool>,
    /// Prefix of a string.
    pub string_prefix: Option<Arc<str>>,
    /// Minimum, and whether it is included.
    pub number_minimum: Option<(Number, bool)>,
    /// Maximum, and whether it is included.
    pub number_maximum: Option<(Number, bool)>,
    /// Minimum length of a collection.
    pub length_minimum: Option<u64>,
    /// Maximum length of a collection.
    pub length_maximum: Option<u64>,
}

impl Refinements {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether no value satisfies them.
    pub(crate) fn is_contradictory(&self) -> bool {
        let numbers = match (&self.number_minimum, &self.number_maximum) {
            (Some((minimum, from)), Some((maximum, to))) => {
                minimum > maximum || minimum == maximum && !(*from && *to)
            }
            _ => false,
        };
        let lengths =
            matches!((self.length_minimum, self.length_maximum), (Some(least), Some(most)) if least > most);
        numbers || lengths
    }
}

/// Truncates a prefix at `longest` bytes and then to a boundary that following characters cannot
/// change: the last grapheme cluster is removed, unless it is a delimiter that never combines.
pub(super) fn shorten_prefix(prefix: &str, longest: usize) -> &str {
    let cut = &prefix[..prefix.floor_char_boundary(longest)];
    match cut.grapheme_indices(true).next_back() {
        Some((_, last)) if last.len() == 1 && last.contains(never_combines) => cut,
        Some((start, _)) => &cut[..start],
        None => cut,
    }
}

fn never_combines(character: char) -> bool {
    matches!(character, '\t' | ' '..='~')
        && !matches!(character, '0'..='9' | 'A'..='Z' | 'a'..='z' | '<' | '=' | '>' | '`')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::from_decimal(text).unwrap()
    }

    #[test]
    fn contradictions_are_seen() {
        let between = |low: &str, high: &str, inclusive| Refinements {
            number_minimum: Some((number(low), inclusive)),
            number_maximum: Some((number(high), inclusive)),
            ..Refinements::default()
        };
        assert!(between("2", "1", true).is_contradictory() && between("1", "1", false).is_contradictory());
        assert!(!between("1", "1", true).is_contradictory());
    }

    #[test]
    fn prefixes_are_cut_where_nothing_can_combine() {
        assert_eq!(shorten_prefix("foo", 3), "fo");
        assert_eq!(shorten_prefix("foo-", 4), "foo-");
        assert_eq!(shorten_prefix("aé", 2), "");
        assert_eq!(shorten_prefix("a🇩🇪", 9), "a");
        assert_eq!(shorten_prefix("ae\u{301}x", 4), "a");
        assert_eq!(shorten_prefix("", 10), "");
    }
}
