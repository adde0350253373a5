//! Paths into a value, as in diagnostics and `requires_replace`.

use std::fmt;
use std::sync::Arc;

use super::Value;

/// A path in a value; the empty path is the value itself.
///
/// `Display` has Terraform's form: `rule[0].port`, `tags["a b"]`. An element of a set is `[…]`,
/// because it is only identified by its value, which may be secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttributePath(pub Vec<PathStep>);

/// One step of an [`AttributePath`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStep {
    /// An attribute of an object.
    Attribute(Arc<str>),
    /// An element of a map (or of an object that represents a map of blocks).
    Key(Arc<str>),
    /// An element of a list or tuple, counted from 0.
    Index(usize),
    /// An element of a set, identified by its value. The protocol does not support it.
    Element(Box<Value>),
}

impl AttributePath {
    /// The path of the value itself.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Whether it is the path of the value itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no steps.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends a step.
    pub fn push(&mut self, step: PathStep) {
        self.0.push(step);
    }

    /// Removes the last step and returns it.
    pub fn pop(&mut self) -> Option<PathStep> {
        self.0.pop()
    }

    /// The path with one more step.
    #[must_use]
    pub fn join(&self, step: PathStep) -> Self {
        self.iter().cloned().chain([step]).collect()
    }

    /// The path without its last step; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        self.0.split_last().map(|(_, before)| Self(before.to_vec()))
    }

    /// The last step.
    pub fn last(&self) -> Option<&PathStep> {
        self.0.last()
    }

    /// Whether `prefix` is this path or an ancestor.
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// The steps from the root.
    pub fn iter(&self) -> std::slice::Iter<'_, PathStep> {
        self.0.iter()
    }
}

impl PathStep {
    /// A step to an attribute.
    pub fn attribute(name: impl Into<Arc<str>>) -> Self {
        Self::Attribute(name.into())
    }

    /// A step to an element of a map.
    pub fn key(key: impl Into<Arc<str>>) -> Self {
        Self::Key(key.into())
    }
}

impl FromIterator<PathStep> for AttributePath {
    fn from_iter<I: IntoIterator<Item = PathStep>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl From<Vec<PathStep>> for AttributePath {
    fn from(steps: Vec<PathStep>) -> Self {
        Self(steps)
    }
}

impl IntoIterator for AttributePath {
    type Item = PathStep;
    type IntoIter = std::vec::IntoIter<PathStep>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a AttributePath {
    type Item = &'a PathStep;
    type IntoIter = std::slice::Iter<'a, PathStep>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for AttributePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.iter().enumerate() {
            match step {
                PathStep::Attribute(name) if index == 0 => formatter.write_str(name)?,
                _ => step.fmt(formatter)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for PathStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attribute(name) => write!(formatter, ".{name}"),
            Self::Key(key) => write!(formatter, "[{key:?}]"),
            Self::Index(index) => write!(formatter, "[{index}]"),
            Self::Element(_) => formatter.write_str("[…]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule_port() -> AttributePath {
        [PathStep::attribute("rule"), PathStep::Index(0), PathStep::attribute("port")].into_iter().collect()
    }

    #[test]
    fn paths_read_like_terraforms() {
        assert_eq!(rule_port().to_string(), "rule[0].port");
        let tag = AttributePath(vec![PathStep::attribute("tags"), PathStep::key("a \"b\"")]);
        assert_eq!(tag.to_string(), r#"tags["a \"b\""]"#);
        assert_eq!(AttributePath::root().to_string(), "");
    }

    #[test]
    fn an_element_of_a_set_is_not_shown() {
        let secret = PathStep::Element(Box::new(Value::string("hunter2")));
        assert_eq!(AttributePath::root().join(secret).to_string(), "[…]");
    }

    #[test]
    fn a_path_starts_with_every_path_on_the_way_to_it() {
        let path = rule_port();
        let rule = path.parent().unwrap();
        assert!(
            path.starts_with(&rule) && path.starts_with(&path) && path.starts_with(&AttributePath::root())
        );
        assert!(!rule.starts_with(&path));
        assert!(!path.starts_with(&AttributePath(vec![PathStep::key("rule")])));
        assert_eq!(AttributePath::root().parent(), None);
    }
}
