//! What depends on the version of Unicode in Go's standard library.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether Go's `strconv.IsPrint` holds for a character beyond ASCII, so that `%q` writes it as it is:
/// letters, marks, numbers, punctuation and symbols.
///
/// Go has had Unicode 15.0 since its release 1.21. Rust's own table is that of a later version, in which
/// there are more characters: sets with one of those would be in another order than Terraform's.
pub fn is_printable_in_go(character: char) -> bool {
    !matches!(
        get_general_category(character),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::PrivateUse
            | GeneralCategory::SpaceSeparator
            | GeneralCategory::Surrogate
            | GeneralCategory::Unassigned
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `strconv.IsPrint` of Go 1.26 says.
    #[test]
    fn what_unicode_15_has_is_printable() {
        for (character, expected) in [
            ('\u{e9}', true),
            ('\u{301}', true),
            ('\u{1f512}', true),
            ('\u{a0}', false),
            ('\u{ad}', false),
            ('\u{e094}', false),
            ('\u{2028}', false),
            // Of Unicode 15.0, 15.1, 16.0 and 17.0.
            ('\u{1fae8}', true),
            ('\u{2ffc}', false),
            ('\u{13600}', false),
            ('\u{1faea}', false),
        ] {
            assert_eq!(is_printable_in_go(character), expected, "{character:?}");
        }
        // As many as there.
        assert_eq!(
            ('\u{80}'..=char::MAX).filter(|character| is_printable_in_go(*character)).count(),
            148_903
        );
    }
}
