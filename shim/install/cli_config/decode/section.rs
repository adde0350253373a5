//! Access to arguments and blocks of a parsed file.
//!
//! Names of arguments are compared without regard to case, as in Terraform's library.

use crate::cli_config::ConfigFault;
use crate::hcl::{Body, Content, Item, Key, Position, Value};

/// An error and its position in the file.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) position: Position,
    pub(super) fault: ConfigFault,
}

pub(super) type Decoded<T> = Result<T, Located>;

impl Body {
    /// An argument; in JSON the last one. Null counts as missing.
    pub(super) fn argument(&self, name: &str) -> Option<&Value> {
        let item = self.items.iter().rfind(|item| item.name.is(name) && item.labels.is_empty())?;
        Some(&item.value).filter(|value| value.content != Content::Null)
    }

    pub(super) fn text(&self, name: &str) -> Decoded<Option<&str>> {
        self.argument(name).map(|value| value.text(name)).transpose()
    }

    /// As [`text`](Self::text), without empty ones.
    pub(super) fn some_text(&self, name: &str) -> Decoded<Option<&str>> {
        Ok(self.text(name)?.filter(|text| !text.is_empty()))
    }

    pub(super) fn texts(&self, name: &str) -> Decoded<Option<Vec<(Position, &str)>>> {
        let Some(value) = self.argument(name) else { return Ok(None) };
        let Content::List(values) = &value.content else {
            return Err(value.wrong(name, "a list of strings"));
        };
        values.iter().map(|value| Ok((value.position, value.text(name)?))).collect::<Decoded<_>>().map(Some)
    }

    pub(super) fn flag(&self, name: &str) -> Decoded<Option<bool>> {
        match self.argument(name) {
            None => Ok(None),
            Some(Value { content: Content::Bool(flag), .. }) => Ok(Some(*flag)),
            Some(value) => Err(value.wrong(name, "true or false")),
        }
    }

    /// A non-negative whole number, in quotes or not. OpenTofu reads one that begins with 0 as octal or
    /// hexadecimal, which is not what is meant.
    pub(super) fn count(&self, name: &str) -> Decoded<Option<u32>> {
        let Some(value) = self.argument(name) else { return Ok(None) };
        let number = match &value.content {
            Content::Number(text) | Content::String(text) => {
                text.parse().ok().filter(|number: &u32| number.to_string() == *text)
            }
            _ => None,
        };
        number.map(Some).ok_or_else(|| value.wrong(name, "a whole number, and not a negative one"))
    }

    /// Blocks of a name with one label each: `name "label" { … }`, or nested.
    pub(super) fn labelled<'a>(
        &'a self,
        name: &'a str,
        form: &'static str,
    ) -> impl Iterator<Item = Decoded<(&'a Key, &'a Self)>> {
        self.items.iter().filter(move |item| item.name.is(name)).flat_map(move |item| item.labelled(form))
    }

    /// The names of other arguments and blocks.
    pub(super) fn others<'a>(&'a self, known: &'a [&str]) -> impl Iterator<Item = &'a Key> {
        let names = self.items.iter().map(|item| &item.name);
        names.filter(move |name| !known.iter().any(|known| name.is(known)))
    }
}

impl Item {
    fn labelled(&self, form: &'static str) -> Vec<Decoded<(&Key, &Body)>> {
        let wrong = |name: &Key| Located {
            position: name.position,
            fault: ConfigFault::Form { block: self.name.text.clone(), form },
        };
        match (self.labels.as_slice(), &self.value.content) {
            ([label], Content::Body(body)) => vec![Ok((label, body))],
            ([], Content::Body(outer)) => {
                let inner = outer.items.iter().map(|item| match &item.value.content {
                    Content::Body(body) if item.labels.is_empty() => Ok((&item.name, body)),
                    _ => Err(wrong(&item.name)),
                });
                inner.collect()
            }
            _ => vec![Err(wrong(&self.name))],
        }
    }

    /// The body of a block without labels and equals sign.
    pub(super) fn block(&self, form: &'static str) -> Decoded<&Body> {
        match &self.value.content {
            Content::Body(body) if self.labels.is_empty() && !self.is_assigned => Ok(body),
            _ => {
                let fault = ConfigFault::Form { block: self.name.text.clone(), form };
                Err(Located { position: self.name.position, fault })
            }
        }
    }
}

impl Key {
    pub(super) fn is(&self, name: &str) -> bool {
        self.text.eq_ignore_ascii_case(name)
    }
}

impl Value {
    /// Numbers count as strings.
    pub(super) fn text(&self, name: &str) -> Decoded<&str> {
        match &self.content {
            Content::String(text) | Content::Number(text) => Ok(text),
            _ => Err(self.wrong(name, "a string")),
        }
    }

    pub(super) fn wrong(&self, name: &str, expected: &'static str) -> Located {
        let fault = ConfigFault::Kind { name: name.to_owned(), expected, found: self.content.kind() };
        Located { position: self.position, fault }
    }
}
