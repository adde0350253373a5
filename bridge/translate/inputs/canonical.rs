//! The canonical form of a program's inputs.
//!
//! Programs migrate from other bridges and from Terraform, where one block may be written as a list
//! of one, and an attribute's object may have members that its type does not have: Terraform's
//! conversion drops these. So both are taken, once, where inputs come in; all code that walks
//! inputs beside a shape sees one form.

use isthmus_proto::property::{Struct, Value};

use super::{InputFailure, MAXIMUM_FAILURES, no_such_property};
use crate::property::{self, PropertyView};
use crate::property_path::{PropertyPath, PropertyStep};
use isthmus_package::shape::{ObjectShape, Shape};

/// Brings inputs into the canonical form.
///
/// A list of one becomes its element where the schema has at most one, an empty one null, and an
/// object becomes a list of one where the schema has several. Members of an attribute's object that
/// its type does not have are removed and returned, the first hundred. Undeclared properties of
/// resources and blocks stay, and are failures of [`super::config_from_inputs`].
pub fn canonical(inputs: &mut Struct, shape: &ObjectShape) -> Vec<InputFailure> {
    let mut walk = Walk::default();
    walk.object(inputs, shape, Level::Block);
    walk.dropped
}

/// A property that was given by its name in Terraform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// By its Pulumi name.
    pub path: PropertyPath,
    pub terraform: String,
}

/// As [`canonical`], for a provider's configuration, in which converters write nested properties by Terraform's names: each
/// gets its Pulumi name unless that is given as well, which is a failure of [`super::config_from_inputs`]. The names at the top
/// are for [`rename`].
pub fn canonical_config(config: &mut Struct, shape: &ObjectShape) -> (Vec<InputFailure>, Vec<Renamed>) {
    let mut walk = Walk { renamed: Some(Vec::new()), ..Walk::default() };
    walk.object(config, shape, Level::Block);
    (walk.dropped, walk.renamed.unwrap_or_default())
}

/// Gives members that have Terraform's names, other than `except`, their Pulumi names, and returns both.
pub fn rename<'a>(bag: &mut Struct, shape: &'a ObjectShape, except: &[&str]) -> Vec<(String, &'a str)> {
    let pulumi = |name: &str| {
        let field = shape.terraform(name).filter(|_| shape.pulumi(name).is_none())?;
        (!except.contains(&name) && !bag.contains_key(&field.pulumi)).then_some(&*field.pulumi)
    };
    let found: Vec<_> = bag.keys().filter_map(|name| Some((name.to_owned(), pulumi(name)?))).collect();
    for (terraform, pulumi) in &found {
        let value = bag.remove(terraform).unwrap_or_default();
        bag.insert(*pulumi, value);
    }
    found
}

/// As [`canonical`], for a value that is no attribute of a schema, such as a function's argument
/// `name`.
pub fn canonical_value(value: &mut Value, name: &str, shape: &Shape) -> Vec<InputFailure> {
    let mut walk = Walk::default();
    walk.path.push(PropertyStep::Name(name.to_owned()));
    walk.value(value, shape, Level::Attribute);
    walk.dropped
}

/// What an object is in the schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// A resource or a nested block.
    Block,
    /// The value of an attribute, or of an argument.
    Attribute,
}

#[derive(Default)]
struct Walk {
    path: Vec<PropertyStep>,
    dropped: Vec<InputFailure>,
    /// Of a provider's configuration.
    renamed: Option<Vec<Renamed>>,
}

impl Walk {
    fn object(&mut self, bag: &mut Struct, shape: &ObjectShape, level: Level) {
        if !self.path.is_empty()
            && let Some(renamed) = &mut self.renamed
        {
            let path = |name: &str| {
                let last = PropertyStep::Name(name.to_owned());
                PropertyPath(self.path.iter().cloned().chain([last]).collect())
            };
            let found = rename(bag, shape, &[]).into_iter();
            renamed.extend(found.map(|(terraform, pulumi)| Renamed { path: path(pulumi), terraform }));
        }
        if level == Level::Attribute {
            self.drop_undeclared(bag, shape);
        }
        for (name, value) in bag.iter_mut() {
            let Some(field) = shape.pulumi(name).filter(|field| field.shape.has_objects()) else { continue };
            let level = if level == Level::Block && field.is_block { Level::Block } else { Level::Attribute };
            self.at(PropertyStep::Name(name.to_owned()), |walk| walk.value(value, &field.shape, level));
        }
    }

    fn drop_undeclared(&mut self, bag: &mut Struct, shape: &ObjectShape) {
        let is_ambiguous = |name: &str| self.renamed.is_some() && shape.terraform(name).is_some();
        let is_undeclared =
            |name: &&str| !name.starts_with("__") && shape.pulumi(name).is_none() && !is_ambiguous(name);
        let undeclared: Vec<String> = bag.keys().filter(is_undeclared).map(str::to_owned).collect();
        for name in undeclared {
            bag.remove(&name);
            if self.dropped.len() < MAXIMUM_FAILURES {
                let reason = no_such_property(&name, shape);
                self.path.push(PropertyStep::Name(name));
                self.dropped.push(InputFailure { path: PropertyPath(self.path.clone()), reason });
                self.path.pop();
            }
        }
    }

    fn value(&mut self, value: &mut Value, shape: &Shape, level: Level) {
        let Some(value) = content(value) else { return };
        match shape {
            Shape::FlattenedList(element) | Shape::FlattenedSet(element) => {
                if let Value::List(elements) = value
                    && elements.len() < 2
                {
                    *value = elements.pop().unwrap_or_default();
                }
                self.value(value, element, level);
            }
            Shape::List(element) | Shape::Set(element) => {
                if matches!(**element, Shape::Object(_)) && is_plain_object(value) {
                    *value = Value::List(vec![std::mem::take(value)]);
                }
                let Value::List(elements) = value else { return };
                for (index, value) in elements.iter_mut().enumerate() {
                    self.at(PropertyStep::Index(index), |walk| walk.value(value, element, level));
                }
            }
            Shape::Map(element) => {
                let Value::Struct(entries) = value else { return };
                for (key, value) in entries.iter_mut() {
                    self.at(PropertyStep::Name(key.to_owned()), |walk| walk.value(value, element, level));
                }
            }
            Shape::Object(object) => {
                if is_plain_object(value)
                    && let Value::Struct(bag) = value
                {
                    self.object(bag, object, level);
                }
            }
            Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic | Shape::Tuple(_) => {}
        }
    }

    fn at(&mut self, step: PropertyStep, walk: impl FnOnce(&mut Self)) {
        self.path.push(step);
        walk(self);
        self.path.pop();
    }
}

fn is_plain_object(value: &Value) -> bool {
    matches!(property::classify(value), Ok(PropertyView::Object(_)))
}

/// The value within secrets and outputs; `None` if it is unknown or invalid.
fn content(value: &mut Value) -> Option<&mut Value> {
    match property::classify(value) {
        Ok(PropertyView::Secret(_) | PropertyView::Output { value: Some(_), .. }) => match value {
            Value::Struct(wrapper) => content(wrapper.get_mut(property::VALUE_KEY)?),
            _ => None,
        },
        Ok(PropertyView::Output { value: None, .. }) | Err(_) => None,
        Ok(_) => Some(value),
    }
}
