//! Numbers with their nouns.

use std::fmt::Display;

/// A number with its noun: `1 session`, `2 sessions`. The noun is in the singular, and its last word makes a regular plural.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end)) => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_singular_and_every_other_number_the_plural() {
        assert_eq!(counted(1_u64, "provider process"), "1 provider process");
        for (noun, plural) in [
            ("session", "0 sessions"),
            ("provider process", "0 provider processes"),
            ("entry", "0 entries"),
            ("key", "0 keys"),
            ("match", "0 matches"),
        ] {
            assert_eq!(counted(0_usize, noun), plural);
        }
        assert_eq!(counted(2_u32, "byte"), "2 bytes");
    }
}
