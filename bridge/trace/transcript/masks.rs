//! What is secret beyond the schema: the program's marks, by path, and the known secrets of the session, by their text.

use isthmus_cty::{AttributePath, PathStep};
use isthmus_known_secrets::KnownSecrets;

use super::Shown;

/// Decides what of a value is not shown.
#[derive(Clone, Debug)]
pub struct Masks {
    paths: Vec<Vec<Step>>,
    known: KnownSecrets,
}

/// A step of a path. Attributes and keys of maps are the same in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Name(String),
    Index(usize),
}

impl Masks {
    pub fn new(known: KnownSecrets) -> Self {
        Self { paths: Vec::new(), known }
    }

    /// Also masks what these paths lead to.
    pub fn add_paths(&mut self, paths: &[AttributePath]) {
        self.paths.extend(paths.iter().map(|path| path.0.iter().map_while(step).collect()));
    }

    /// Whether the value at a path is secret.
    pub fn is_secret(&self, path: &[Step]) -> bool {
        self.paths.iter().any(|secret| path.starts_with(secret))
    }

    /// Whether anything at or below a path is secret: a set is masked as a whole then, because no path leads into it.
    pub fn is_partly_secret(&self, path: &[Step]) -> bool {
        self.is_secret(path) || self.paths.iter().any(|secret| secret.starts_with(path))
    }

    /// A text, without known secrets.
    pub fn text(&self, text: &str) -> Shown {
        let redacted = self.known.redact(text);
        if redacted == "[secret]" && text != "[secret]" {
            Shown::Secret
        } else {
            Shown::Text(redacted.into_owned())
        }
    }

    /// A number by its decimal text, unless it is a known secret.
    pub fn number(&self, decimal: String) -> Shown {
        if self.known.redact(&decimal) == decimal { Shown::Number(decimal) } else { Shown::Secret }
    }

    /// A text of a failure, without known secrets.
    pub fn redacted(&self, text: &str) -> String {
        self.known.redact(text).into_owned()
    }
}

/// A path that goes into a set ends at the set.
fn step(step: &PathStep) -> Option<Step> {
    match step {
        PathStep::Attribute(name) | PathStep::Key(name) => Some(Step::Name(name.to_string())),
        PathStep::Index(index) => Some(Step::Index(*index)),
        PathStep::Element(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use isthmus_known_secrets::Retention;

    use super::*;

    #[test]
    fn a_path_masks_what_is_below_it() {
        let mut masks = Masks::new(KnownSecrets::default());
        masks.add_paths(&[AttributePath(vec![PathStep::attribute("tags"), PathStep::key("k")])]);
        let path =
            |names: &[&str]| names.iter().map(|name| Step::Name((*name).to_owned())).collect::<Vec<_>>();
        assert!(masks.is_secret(&path(&["tags", "k"])) && masks.is_secret(&path(&["tags", "k", "x"])));
        assert!(!masks.is_secret(&path(&["tags"])) && masks.is_partly_secret(&path(&["tags"])));
        assert!(!masks.is_partly_secret(&path(&["tag"])));
    }

    #[test]
    fn known_secrets_are_masked_wherever_they_are() {
        let known = KnownSecrets::default();
        known.learn("open-sesame", Retention::Usual);
        known.learn_number("31337", Retention::Usual);
        let masks = Masks::new(known);
        assert_eq!(masks.text("open-sesame"), Shown::Secret);
        assert_eq!(masks.text("say open-sesame"), Shown::text("say [secret]"));
        assert_eq!(masks.number("31337".to_owned()), Shown::Secret);
        assert_eq!(masks.number("31338".to_owned()), Shown::Number("31338".to_owned()));
    }
}
