//! Terraform's values and stored states, walked with their schema.

use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, PathStep, Type, Value};
use isthmus_provider::schema::{Attribute, AttributeType, Block, BlockNesting, ObjectNesting};

use super::Traced;

/// Paths to secret values.
#[derive(Clone, Debug)]
pub(crate) struct SecretPaths(Vec<Vec<Step>>);

/// A step of a path. Attributes and keys of maps are the same in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

/// The schema at a place in a value.
#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    /// An object of attributes and nested blocks, or a collection of such objects.
    Object {
        attributes: &'a [Attribute],
        block: Option<&'a Block>,
        /// A map of them: its keys are no attributes.
        is_map: bool,
    },
    /// A value whose type has no attributes with flags.
    Plain,
}

/// Walks a value. Where it has no place in a schema, the value is secret.
#[derive(Debug)]
pub(crate) struct ValueWalk<'a> {
    paths: &'a SecretPaths,
    path: Vec<Step>,
    /// Whether an attribute that the schema does not have is secret, if the schema has secrets: it may be one by its older name.
    is_older_secret: bool,
}

impl SecretPaths {
    /// Paths to nothing.
    pub(crate) const fn none() -> Self {
        Self(Vec::new())
    }

    /// Adds paths. One that goes into a set ends at the set.
    pub(crate) fn add(&mut self, paths: &[AttributePath]) {
        let step = |step: &PathStep| match step {
            PathStep::Attribute(name) | PathStep::Key(name) => Some(Step::Name(name.to_string())),
            PathStep::Index(index) => Some(Step::Index(*index)),
            PathStep::Element(_) => None,
        };
        self.0.extend(paths.iter().map(|path| path.0.iter().map_while(step).collect()));
    }

    /// Whether the value at a path is secret.
    fn contain(&self, path: &[Step]) -> bool {
        self.0.iter().any(|secret| path.starts_with(secret))
    }

    /// Whether anything at or below a path is secret.
    fn lead_below(&self, path: &[Step]) -> bool {
        self.contain(path) || self.0.iter().any(|secret| secret.starts_with(path))
    }
}

impl<'a> Place<'a> {
    fn block(block: &'a Block) -> Self {
        Self::Object { attributes: &block.attributes, block: Some(block), is_map: false }
    }

    /// The schema of a member; `None` if the member is a secret.
    fn member(self, name: &str, is_older_secret: bool) -> Option<Self> {
        let Self::Object { attributes, block, is_map } = self else { return Some(Self::Plain) };
        if is_map {
            return Some(self.element());
        }
        if let Some(attribute) = attributes.iter().find(|attribute| *attribute.name == *name) {
            return match &attribute.attribute_type {
                _ if attribute.sensitive || attribute.write_only => None,
                AttributeType::Plain(_) => Some(Self::Plain),
                AttributeType::Nested(nested) => Some(Self::Object {
                    attributes: &nested.attributes,
                    block: None,
                    is_map: nested.nesting == ObjectNesting::Map,
                }),
            };
        }
        let nested = block.and_then(|block| block.blocks.iter().find(|nested| *nested.name == *name));
        match nested {
            Some(nested) => Some(Self::Object {
                attributes: &nested.block.attributes,
                block: Some(&nested.block),
                is_map: nested.nesting == BlockNesting::Map,
            }),
            None if is_older_secret && self.has_secrets() => None,
            None => Some(Self::Plain),
        }
    }

    /// The schema of an element of a map.
    fn element(self) -> Self {
        match self {
            Self::Object { attributes, block, .. } => Self::Object { attributes, block, is_map: false },
            Self::Plain => Self::Plain,
        }
    }

    fn has_secrets(self) -> bool {
        match self {
            Self::Object { block: Some(block), .. } => block.has_secrets,
            Self::Object { attributes, block: None, .. } => attributes.iter().any(Attribute::has_secrets),
            Self::Plain => false,
        }
    }
}

impl<'a> ValueWalk<'a> {
    /// A walk of a value whose secrets these paths lead to, besides those of the schema.
    pub(crate) fn new(paths: &'a SecretPaths) -> Self {
        Self { paths, path: Vec::new(), is_older_secret: false }
    }

    /// A value of a schema.
    pub(crate) fn value(mut self, value: &Value, block: &Block) -> Traced {
        self.walk(value, &block.implied_type, Some(Place::block(block)))
    }

    /// A value of a type, all of which may be secret.
    pub(crate) fn secret(mut self, value: &Value, own: &Type) -> Traced {
        self.walk(value, own, None)
    }

    /// A value of a type without sensitive attributes.
    pub(crate) fn plain(mut self, value: &Value, own: &Type) -> Traced {
        self.walk(value, own, Some(Place::Plain))
    }

    /// A stored state, which may be by an older schema than this.
    pub(crate) fn state(mut self, json: &Json, block: &Block, is_older_secret: bool) -> Traced {
        self.is_older_secret = is_older_secret;
        self.walk_json(json, Some(Place::block(block)))
    }

    fn walk(&mut self, value: &Value, own: &Type, place: Option<Place<'_>>) -> Traced {
        let place = place.filter(|_| !self.paths.contain(&self.path));
        let traced = match value {
            Value::Null => Traced::Null,
            Value::Unknown(refinements) => Traced::Unknown(refinements.clone(), own.clone()),
            Value::Bool(value) => Traced::Bool(*value),
            Value::Number(number) => Traced::Number(number.to_decimal_text()),
            Value::String(text) => Traced::Text(text.to_string()),
            Value::Dynamic(both) => {
                Traced::Dynamic(both.0.clone(), Box::new(self.walk(&both.1, &both.0, place)))
            }
            Value::List(elements) | Value::Tuple(elements) => {
                Traced::List(self.elements(elements, own, place))
            }
            Value::Set(elements) if place.is_some() && self.paths.lead_below(&self.path) => {
                let none = SecretPaths::none();
                let mut inside = ValueWalk::new(&none);
                Traced::MixedSet(inside.elements(elements, own, place))
            }
            Value::Set(elements) => Traced::Set(self.elements(elements, own, place)),
            Value::Map(members) => {
                let own = if let Type::Map(element) = own { element } else { &Type::Dynamic };
                let element = place.map(Place::element);
                let members = members.iter();
                Traced::Map(
                    members
                        .map(|(name, value)| self.member(name, |walk| walk.walk(value, own, element)))
                        .collect(),
                )
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let own = match own {
                        Type::Object(object) => object.attributes.get(name).unwrap_or(&Type::Dynamic),
                        _ => &Type::Dynamic,
                    };
                    let place = place.and_then(|place| place.member(name, false));
                    self.member(name, |walk| walk.walk(value, own, place))
                });
                Traced::Object(members.collect())
            }
        };
        marked(traced, place)
    }

    fn elements(&mut self, elements: &[Value], own: &Type, place: Option<Place<'_>>) -> Vec<Traced> {
        let elements = elements.iter().enumerate().map(|(index, element)| {
            let own = match own {
                Type::List(element) | Type::Set(element) => element,
                Type::Tuple(types) => types.get(index).unwrap_or(&Type::Dynamic),
                _ => &Type::Dynamic,
            };
            self.below(Step::Index(index), |walk| walk.walk(element, own, place))
        });
        elements.collect()
    }

    fn walk_json(&mut self, json: &Json, place: Option<Place<'_>>) -> Traced {
        let place = place.filter(|_| !self.paths.contain(&self.path));
        let traced = match json {
            Json::Null => Traced::Null,
            Json::Bool(value) => Traced::Bool(*value),
            Json::Number(text) => Traced::Number(text.clone()),
            Json::String(text) => Traced::Text(text.clone()),
            Json::Array(elements) => {
                let is_mixed = place.is_some() && self.paths.lead_below(&self.path);
                let elements = elements.iter().enumerate().map(|(index, element)| {
                    self.below(Step::Index(index), |walk| walk.walk_json(element, place))
                });
                let elements = elements.collect();
                // It may be a set.
                if is_mixed { Traced::MixedSet(elements) } else { Traced::List(elements) }
            }
            Json::Object(members) => {
                let is_named = matches!(place, Some(Place::Object { is_map: false, .. }));
                let own = if is_named { None } else { dynamic_type(members) };
                let is_older_secret = self.is_older_secret;
                let members = members.iter().map(|(name, value)| {
                    let place = place.and_then(|place| place.member(name, is_older_secret));
                    self.member(name, |walk| walk.walk_json(value, place))
                });
                let members = members.collect();
                match own {
                    Some(own) => Traced::StoredDynamic(own, members),
                    None if is_named => Traced::Object(members),
                    None => Traced::Map(members),
                }
            }
        };
        marked(traced, place)
    }

    fn member(&mut self, name: &str, walk: impl FnOnce(&mut Self) -> Traced) -> (String, Traced) {
        (name.to_owned(), self.below(Step::Name(name.to_owned()), walk))
    }

    fn below(&mut self, step: Step, walk: impl FnOnce(&mut Self) -> Traced) -> Traced {
        self.path.push(step);
        let traced = walk(self);
        self.path.pop();
        traced
    }
}

fn marked(traced: Traced, place: Option<Place<'_>>) -> Traced {
    if place.is_some() { traced } else { Traced::Secret(Box::new(traced)) }
}

/// The type in a stored value of a dynamic type.
fn dynamic_type(members: &[(String, Json)]) -> Option<Type> {
    let member = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, json)| json);
    let (own, _) = member("type").zip(member("value")).filter(|_| members.len() == 2)?;
    Type::from_json(own.to_string().as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_marks_what_is_below_it() {
        let mut paths = SecretPaths::none();
        paths.add(&[AttributePath(vec![PathStep::attribute("tags"), PathStep::key("k")])]);
        let path =
            |names: &[&str]| names.iter().map(|name| Step::Name((*name).to_owned())).collect::<Vec<_>>();
        assert!(paths.contain(&path(&["tags", "k"])) && paths.contain(&path(&["tags", "k", "x"])));
        assert!(!paths.contain(&path(&["tags"])) && paths.lead_below(&path(&["tags"])));
        assert!(!paths.lead_below(&path(&["tag"])));
    }
}
