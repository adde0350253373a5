//! Environment variables as a value, so that tests need not change the process's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Environment variables. Empty ones count as not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// This process's.
    pub fn current() -> Self {
        Self::from_pairs(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))),
        )
    }

    /// From pairs.
    pub(crate) fn from_pairs(
        pairs: impl IntoIterator<Item = (impl Into<String>, impl Into<OsString>)>,
    ) -> Self {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { variables: pairs.filter(|(_, value): &(String, OsString)| !value.is_empty()).collect() }
    }

    /// A variable's text; `None` if it is not UTF-8.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name)?.to_str()
    }

    /// A variable as a path.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).map(PathBuf::from)
    }

    /// The variables with this prefix, which is removed from their names.
    pub(crate) fn starting_with(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.to_str()?)))
    }

    /// Replaces `$NAME` and `${NAME}` by variables' values, or by nothing if they are not set.
    pub(super) fn expand(&self, text: &str) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('$') {
            expanded.push_str(before);
            let is_name = |character: char| character == '_' || character.is_ascii_alphanumeric();
            let (name, next) = match behind.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
                Some(braced) => braced,
                None => behind.split_at(behind.find(|character| !is_name(character)).unwrap_or(behind.len())),
            };
            if name.is_empty() {
                expanded.push('$');
            }
            expanded.push_str(self.text(name).unwrap_or_default());
            rest = next;
        }
        expanded.push_str(rest);
        expanded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_in_a_path() {
        let environment = Environment::from_pairs([("HOME", "/h"), ("A_1", "x"), ("EMPTY", "")]);
        for (text, expected) in [
            ("$HOME/.x", "/h/.x"),
            ("${HOME}x$A_1-$A_1", "/hxx-x"),
            ("$MISSING/$EMPTY/y", "//y"),
            ("a$", "a$"),
            ("${HOME", "${HOME"),
            ("no", "no"),
        ] {
            assert_eq!(environment.expand(text), expected, "{text}");
        }
        assert_eq!(environment.text("EMPTY"), None);
        assert_eq!(environment.starting_with("A_").collect::<Vec<_>>(), [("1", "x")]);
    }
}
