//! Environment variables as a value: those of this process, or of an engine whose calls another process passes on.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use isthmus_platform::IS_WINDOWS;

/// Environment variables. Clones share them.
///
/// Empty ones count as not set where they are read; a child process gets them as they are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Arc<BTreeMap<OsString, OsString>>);

impl Environment {
    /// This process's.
    pub fn current() -> Self {
        std::env::vars_os().collect()
    }

    /// This, with a variable set.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        Arc::make_mut(&mut self.0).insert(stored(name.into()), value.into());
        self
    }

    /// All variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// A variable's value.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        let found = if IS_WINDOWS { self.0.get(&stored(name.into())) } else { self.0.get(OsStr::new(name)) };
        found.map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A variable's text; `None` if it is not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.value(name)?.to_str()
    }

    /// A variable as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from)
    }

    /// The variables with this prefix, which is removed from their names.
    pub fn starting_with(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        self.iter()
            .filter_map(move |(name, value)| Some((name.to_str()?.strip_prefix(prefix)?, value.to_str()?)))
            .filter(|(_, value)| !value.is_empty())
    }
}

impl<Name: Into<OsString>, Value: Into<OsString>> FromIterator<(Name, Value)> for Environment {
    fn from_iter<Pairs: IntoIterator<Item = (Name, Value)>>(pairs: Pairs) -> Self {
        Self(Arc::new(pairs.into_iter().map(|(name, value)| (stored(name.into()), value.into())).collect()))
    }
}

/// A name as it is kept: its letters have no case on Windows.
fn stored(name: OsString) -> OsString {
    if IS_WINDOWS { name.to_ascii_uppercase() } else { name }
}

/// A text of a user that stands for names of variables, with its letters as an [`Environment`] has them.
pub fn variable_names(text: &str) -> String {
    if IS_WINDOWS { text.to_ascii_uppercase() } else { text.to_owned() }
}

/// Omits the values, which include credentials.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Prefix of this program's variables, which child processes do not inherit. They include the key of the
/// state store and the password in its address; providers, credentials helpers and the Pulumi CLI do not need them.
pub const OWN_VARIABLES: &str = "ISTHMUS_";

/// Whether child processes may inherit a variable, by its name as an [`Environment`] has it.
pub fn is_for_others(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(OWN_VARIABLES.as_bytes())
}

/// Names of this program's variables in the environment, to be removed for child processes.
pub fn own_variables() -> impl Iterator<Item = OsString> {
    let names = std::env::vars_os().map(|(name, _)| stored(name));
    names.filter(|name| !is_for_others(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_not_set_and_is_passed_on() {
        let environment = Environment::from_iter([("A_1", "x"), ("A_2", "")]);
        assert_eq!(environment.text("A_1"), Some("x"));
        assert_eq!(environment.text("A_2"), None);
        assert_eq!(environment.starting_with("A_").collect::<Vec<_>>(), [("1", "x")]);
        let names: Vec<_> = environment.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["A_1", "A_2"]);
    }

    #[test]
    fn values_are_not_printed() {
        let environment = Environment::default().with("TOKEN", "s3cret");
        assert_eq!(format!("{environment:?}"), r#"{"TOKEN"}"#);
    }
}
