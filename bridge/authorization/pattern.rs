//! Patterns of names in a policy: `*` stands for any characters.

use serde::Deserialize;

/// A pattern, which is compared with a whole name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Pattern(String);

impl Pattern {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else { return self.0 == name };
        let Some(mut name) = name.strip_prefix(first) else { return false };
        let mut parts: Vec<&str> = rest.split('*').collect();
        let last = parts.pop().unwrap_or_default();
        // The leftmost place of each part leaves the most for the next one.
        for part in parts {
            let Some(at) = name.find(part) else { return false };
            name = &name[at + part.len()..];
        }
        name.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_the_rest_for_itself() {
        let matches = |pattern: &str, name: &str| Pattern::new(pattern).matches(name);
        assert!(matches("token:build", "token:build"));
        assert!(!matches("token:build", "token:builds"));
        assert!(matches("*", ""));
        assert!(matches("token:*", "token:build"));
        assert!(matches("*.example.org", "a.b.example.org"));
        assert!(!matches("*.example.org", "example.org"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*b*c", "a-c-b"));
        assert!(!matches("aba*ba", "aba"), "parts do not overlap");
        assert!(matches("a**b", "ab"));
    }
}
