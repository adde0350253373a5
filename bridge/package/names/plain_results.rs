//! Functions whose results have no secrets, by the user's choice.
//!
//! The plain form of a function returns values instead of an output, so it has no place for a mark: the library for Go
//! fails with one, those for Node.js and Python drop it. The Go bridge marks nothing, and programs rely on that. An engine
//! does not say which form a program has called.

use serde::{Deserialize, Serialize};

use super::MemberKind;

/// Every data source and provider function.
const ALL: &str = "*";

/// The functions, by Terraform's references.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct PlainResults(Vec<String>);

/// It is no function.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "invalid function {0:?}: it must be a data source (`data.acme_user`), a provider function (`function.parse`), an ephemeral \
     resource (`ephemeral.acme_token`), or `*` for all of the first two"
)]
pub struct NotAFunction(String);

impl PlainResults {
    /// Parses references that are separated by commas; `none` is none.
    pub fn parse(text: &str) -> Result<Self, NotAFunction> {
        if text.eq_ignore_ascii_case("none") {
            return Ok(Self::default());
        }
        text.split(',').map(|reference| reference.trim().to_owned()).collect::<Vec<_>>().try_into()
    }

    /// Whether the result of a function has no secrets. An ephemeral resource must be named, because nothing of it may be
    /// stored in the clear.
    pub fn contains(&self, kind: MemberKind, terraform: &str) -> bool {
        let reference = kind.reference(terraform);
        let is_covered = matches!(kind, MemberKind::DataSource | MemberKind::Function);
        self.0.iter().any(|named| *named == reference || (is_covered && named == ALL))
    }

    /// The functions that are named.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str).filter(|reference| *reference != ALL)
    }
}

impl TryFrom<Vec<String>> for PlainResults {
    type Error = NotAFunction;

    fn try_from(references: Vec<String>) -> Result<Self, NotAFunction> {
        let kinds = [MemberKind::DataSource, MemberKind::Function, MemberKind::EphemeralResource];
        let is_function = |reference: &str| {
            let mut names = kinds.iter().filter_map(|kind| reference.strip_prefix(&kind.reference("")));
            reference == ALL || names.any(|name| !name.is_empty())
        };
        let other = references.iter().find(|reference| !is_function(reference)).cloned();
        other.map_or(Ok(Self(references)), |other| Err(NotAFunction(other)))
    }
}

impl From<PlainResults> for Vec<String> {
    fn from(results: PlainResults) -> Self {
        results.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_chosen_by_name_or_all_but_ephemeral_ones() {
        use MemberKind::{DataSource, EphemeralResource, Function};
        for (text, chosen) in [
            ("none", [false; 4]),
            ("*", [true, true, true, false]),
            ("data.a", [true, false, false, false]),
            ("data.a, function.b,ephemeral.c", [true, false, true, true]),
        ] {
            let results = PlainResults::parse(text).expect(text);
            let found = [(DataSource, "a"), (DataSource, "b"), (Function, "b"), (EphemeralResource, "c")]
                .map(|(kind, terraform)| results.contains(kind, terraform));
            assert_eq!(found, chosen, "{text}");
        }
        for text in ["a", "data.", "action.a", "data.a,", "resource.a", "**"] {
            let error = PlainResults::parse(text).expect_err(text).to_string();
            assert!(error.starts_with("invalid function "), "{error}");
        }
    }
}
