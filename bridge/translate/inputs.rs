//! Translation of a program's inputs to the configuration for a provider.
//!
//! The shape directs it, because a property bag distinguishes neither lists from sets nor numbers
//! from numeric strings. It collects all failures with their property paths. Its texts contain no
//! values, which may be secret.

mod canonical;
mod required;
mod set_properties;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{AttributePath, Number, PathStep, Type, Value, normalize};
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::schema::{Block, NestedBlock};

use super::absent_block::{absent_block, empty_block, nested_block, unknown_block};
use super::attribute_paths::tuple_property;
use super::dynamic;
use super::property::{self, PropertyView, ReferenceId};
use super::property_path::{PropertyPath, PropertyStep};
pub use canonical::{Renamed, canonical, canonical_config, canonical_value, rename};
use isthmus_package::names::tokens::nearest;
use isthmus_package::shape::{Field, ObjectShape, Shape};
pub use required::{Missing, missing_required};
pub use set_properties::{SetProperty, deprecated, read_only};

/// Limit of reported failures: a hostile bag could cause millions.
const MAXIMUM_FAILURES: usize = 100;

/// Maximum depth of a dynamic value. Other values are limited by the schema.
const MAXIMUM_DYNAMIC_DEPTH: usize = 100;

/// Added to objects and maps of inputs by old versions of the Go bridge; ignored.
pub(super) const DEFAULTS_KEY: &str = "__defaults";

/// Whether a member of an object is the Go bridge's list of the properties with defaults, rather than
/// an entry of a map.
pub fn is_defaults_mark(name: &str, value: &Property) -> bool {
    name == DEFAULTS_KEY && matches!(value, Property::List(_))
}

/// A configuration and its secret paths.
#[derive(Clone, Debug)]
pub struct Config {
    /// An object of the schema's implied type.
    pub value: Value,
    /// The program's secrets. A secret within a set is listed as the whole set, whose elements have
    /// no stable paths; unless the schema calls it sensitive anyway.
    pub secrets: Vec<AttributePath>,
}

/// One failure of the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFailure {
    pub path: PropertyPath,
    /// What is wrong and what to do, for the user.
    pub reason: String,
}

/// Whether values may be unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknowns {
    /// In Check, Diff and previews.
    Keep,
    /// Before an apply.
    Reject,
}

/// Translates `inputs` to a configuration.
///
/// `shape` and `block` must be of the same schema. Unknown properties are failures, except those
/// whose names start with two underscores. Required properties may be missing: see
/// [`missing_required`].
///
/// # Errors
/// All failures, up to a hundred.
pub fn config_from_inputs(
    inputs: &Struct,
    shape: &ObjectShape,
    block: &Block,
    unknowns: Unknowns,
) -> Result<Config, Vec<InputFailure>> {
    read_object(inputs, shape, block, unknowns, Undeclared::Fail)
}

/// As [`config_from_inputs`], for a stored configuration, which another version of the provider may
/// have written: unknown properties are ignored.
///
/// # Errors
/// All failures, up to a hundred.
pub fn config_from_stored(
    inputs: &Struct,
    shape: &ObjectShape,
    block: &Block,
    unknowns: Unknowns,
) -> Result<Config, Vec<InputFailure>> {
    read_object(inputs, shape, block, unknowns, Undeclared::Ignore)
}

/// Translates `properties` to an object, ignoring unknown ones: for state, which another version of
/// the provider may have written.
pub(super) fn object_from_state(
    properties: &Struct,
    shape: &ObjectShape,
    block: &Block,
) -> Result<Value, Vec<InputFailure>> {
    read_object(properties, shape, block, Unknowns::Reject, Undeclared::Ignore).map(|config| config.value)
}

/// Translates one property that is no attribute of a schema, such as a function's argument.
///
/// # Errors
/// All failures, up to a hundred; their paths start with `name`.
pub fn value_from_property(
    property: &Property,
    name: &str,
    shape: &Shape,
    unknowns: Unknowns,
) -> Result<Config, Vec<InputFailure>> {
    let mut reader = Reader::new(unknowns, Undeclared::Fail);
    reader.property_path.push(PropertyStep::Name(name.to_owned()));
    let value = reader.value(property, shape, None);
    reader.finish(value)
}

fn read_object(
    inputs: &Struct,
    shape: &ObjectShape,
    block: &Block,
    unknowns: Unknowns,
    undeclared: Undeclared,
) -> Result<Config, Vec<InputFailure>> {
    let mut reader = Reader::new(unknowns, undeclared);
    let value = reader.object(inputs, shape, Some(block));
    reader.finish(value)
}

/// Handling of properties that the schema does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undeclared {
    Fail,
    Ignore,
}

struct Reader {
    unknowns: Unknowns,
    undeclared: Undeclared,
    /// The current position, on both sides.
    attribute_path: Vec<PathStep>,
    property_path: Vec<PropertyStep>,
    /// Length of the attribute path to the outermost enclosing set.
    set: Option<usize>,
    /// Whether the schema calls an enclosing value sensitive.
    is_sensitive: bool,
    secrets: Vec<AttributePath>,
    failures: Vec<InputFailure>,
}

impl Reader {
    fn new(unknowns: Unknowns, undeclared: Undeclared) -> Self {
        Self {
            unknowns,
            undeclared,
            attribute_path: Vec::new(),
            property_path: Vec::new(),
            set: None,
            is_sensitive: false,
            secrets: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn finish(self, value: Value) -> Result<Config, Vec<InputFailure>> {
        if self.failures.is_empty() {
            Ok(Config { value, secrets: self.secrets })
        } else {
            Err(self.failures)
        }
    }

    /// `block`: the schema of nested objects, if they are blocks.
    fn value(&mut self, property: &Property, shape: &Shape, block: Option<&Block>) -> Value {
        let Some(view) = self.unwrap(property) else { return Value::Null };
        match (shape, view) {
            (Shape::FlattenedList(_) | Shape::FlattenedSet(_), PropertyView::Null) => flattened(shape, None),
            // It may turn out to be null.
            (Shape::FlattenedList(_) | Shape::FlattenedSet(_), PropertyView::Unknown) => self.unknown(),
            (Shape::FlattenedList(_) | Shape::FlattenedSet(_), PropertyView::List(elements)) => {
                self.fail(format!("at most 1 is allowed here, found {}", elements.len()))
            }
            (Shape::FlattenedList(element) | Shape::FlattenedSet(element), _) => {
                let inner = self.flattened_element(shape, |reader| reader.value(property, element, block));
                flattened(shape, Some(inner))
            }
            (_, PropertyView::Null) => Value::Null,
            (_, PropertyView::Unknown) => match (self.unknown(), shape, block) {
                (Value::Unknown(_), Shape::Object(_), Some(block)) => unknown_block(block),
                (value, ..) => value,
            },
            (Shape::Bool, PropertyView::Bool(value)) => Value::Bool(value),
            (Shape::Number, PropertyView::Number(value)) => match dynamic::decimal(value) {
                Some(number) => Value::Number(number),
                None => self.fail("expected a number, found one that is infinite or not a number".to_owned()),
            },
            // An empty string is a null number: programs cannot express that otherwise where a
            // number is nullable.
            (Shape::Number, PropertyView::String("")) => Value::Null,
            (Shape::Number, PropertyView::String(text)) => match Number::from_decimal(text) {
                Ok(number) if !number.is_infinite() => Value::Number(number),
                _ => self.fail("expected a number, found a string that is not one".to_owned()),
            },
            (Shape::String, PropertyView::String(text)) => Value::string(text),
            (Shape::String, PropertyView::Bool(value)) => Value::string(if value { "true" } else { "false" }),
            (Shape::String, PropertyView::Number(value)) => match dynamic::decimal(value) {
                Some(number) => Value::string(number.to_decimal_text()),
                None => {
                    self.fail("expected a string, found a number that is infinite or not a number".to_owned())
                }
            },
            (Shape::List(element), PropertyView::List(elements)) => {
                Value::List(self.elements(elements, element, block))
            }
            (Shape::Set(element), PropertyView::List(elements)) => {
                let outermost = self.set;
                self.set.get_or_insert(self.attribute_path.len());
                let elements = self.elements(elements, element, block);
                self.set = outermost;
                Value::set(elements)
            }
            (Shape::Map(element), PropertyView::Object(entries)) => self.map(entries, element, block),
            (Shape::Object(object), PropertyView::Object(fields)) => self.object(fields, object, block),
            (Shape::Tuple(shapes), PropertyView::Object(fields)) => {
                let elements: Vec<&Property> =
                    (0..fields.len()).map_while(|index| fields.get(&tuple_property(index))).collect();
                self.tuple(&elements, fields.len(), shapes)
            }
            (Shape::Tuple(shapes), PropertyView::List(elements)) => {
                let elements: Vec<&Property> = elements.iter().collect();
                self.tuple(&elements, elements.len(), shapes)
            }
            (Shape::Dynamic, _) => {
                let (own, value) = self.dynamic(property, 0);
                Value::dynamic(own, value)
            }
            (_, view) => self.mismatch(shape, &view),
        }
    }

    /// Unwraps secrets and outputs, and replaces resources by their ids. `None` after a failure.
    fn unwrap<'a>(&mut self, property: &'a Property) -> Option<PropertyView<'a>> {
        let (view, secret) = match property::unwrap(property) {
            Ok(unwrapped) => unwrapped,
            Err(error) => {
                self.fail(error.to_string());
                return None;
            }
        };
        if secret {
            self.note_secret();
        }
        match view {
            PropertyView::ResourceReference { id: ReferenceId::Known(id), .. } => {
                Some(PropertyView::String(id))
            }
            PropertyView::ResourceReference { id: ReferenceId::Unknown, .. } => Some(PropertyView::Unknown),
            PropertyView::ResourceReference { id: ReferenceId::Absent, urn } => {
                Some(PropertyView::String(urn))
            }
            PropertyView::Asset { .. } | PropertyView::Archive { .. } => {
                let kind = property::kind(&view);
                self.fail(format!(
                    "found {kind}, which Terraform providers do not take; pass the file's path or its text as a string"
                ));
                None
            }
            PropertyView::ByteString(_) => {
                self.fail("found text that is not UTF-8, which Terraform providers do not take; encode it as base64".to_owned());
                None
            }
            view => Some(view),
        }
    }

    fn elements(&mut self, elements: &[Property], shape: &Shape, block: Option<&Block>) -> Vec<Value> {
        let elements = elements.iter().enumerate().map(|(index, element)| {
            self.attribute_path.push(PathStep::Index(index));
            self.property_path.push(PropertyStep::Index(index));
            let value = self.element(element, shape, block);
            self.property_path.pop();
            self.attribute_path.pop();
            value
        });
        elements.collect()
    }

    fn map(&mut self, entries: &Struct, shape: &Shape, block: Option<&Block>) -> Value {
        let mut values = BTreeMap::new();
        for (key, entry) in entries.iter().filter(|(key, entry)| !is_defaults_mark(key, entry)) {
            let key = normalize(key);
            self.attribute_path.push(PathStep::Key(Arc::clone(&key)));
            self.property_path.push(PropertyStep::Name(str::to_owned(&key)));
            let value = self.element(entry, shape, block);
            self.property_path.pop();
            self.attribute_path.pop();
            values.insert(key, value);
        }
        Value::Map(values)
    }

    /// An element of a collection. A block is never null, so an empty one is a block without
    /// contents.
    fn element(&mut self, element: &Property, shape: &Shape, block: Option<&Block>) -> Value {
        match (self.value(element, shape, block), block) {
            (Value::Null, Some(block)) if matches!(shape, Shape::Object(_)) => empty_block(block),
            (value, _) => value,
        }
    }

    fn flattened_element(&mut self, shape: &Shape, read: impl FnOnce(&mut Self) -> Value) -> Value {
        let outermost = self.set;
        if matches!(shape, Shape::FlattenedSet(_)) {
            self.set.get_or_insert(self.attribute_path.len());
        }
        self.attribute_path.push(PathStep::Index(0));
        let value = read(self);
        self.attribute_path.pop();
        self.set = outermost;
        value
    }

    fn tuple(&mut self, elements: &[&Property], given: usize, shapes: &[Shape]) -> Value {
        if elements.len() != shapes.len() || given != shapes.len() {
            let expected = shapes.len();
            return self.fail(format!("expected a tuple of {expected} elements, found {given}"));
        }
        let values = elements.iter().zip(shapes).enumerate().map(|(index, (element, shape))| {
            self.attribute_path.push(PathStep::Index(index));
            self.property_path.push(PropertyStep::Name(tuple_property(index)));
            let value = self.value(element, shape, None);
            self.property_path.pop();
            self.attribute_path.pop();
            value
        });
        Value::Tuple(values.collect())
    }

    fn object(&mut self, properties: &Struct, shape: &ObjectShape, block: Option<&Block>) -> Value {
        let mut given: Vec<Option<&Property>> = vec![None; shape.fields.len()];
        for (name, property) in properties.iter() {
            match shape.by_pulumi.get(name) {
                Some(index) => given[*index] = Some(property),
                None if name.starts_with("__") || self.undeclared == Undeclared::Ignore => {}
                None => self.undeclared_property(name, shape),
            }
        }
        let fields = shape.fields.iter().zip(given);
        let values = fields
            .map(|(field, property)| (Arc::clone(&field.terraform), self.field(field, property, block)));
        Value::Object(values.collect())
    }

    fn field(&mut self, field: &Field, property: Option<&Property>, block: Option<&Block>) -> Value {
        let nested = match block {
            Some(block) if field.is_block => nested_block(block, &field.terraform),
            _ => None,
        };
        let value = match property {
            None | Some(Property::Null) => Value::Null,
            Some(property) => {
                self.attribute_path.push(PathStep::Attribute(Arc::clone(&field.terraform)));
                self.property_path.push(PropertyStep::Name(field.pulumi.clone()));
                let around = self.is_sensitive;
                self.is_sensitive |= field.sensitive || field.write_only;
                let value = self.value(property, &field.shape, nested.map(|nested| &nested.block));
                self.is_sensitive = around;
                if let Some(nested) = nested {
                    self.count_blocks(&field.shape, property, nested);
                }
                self.property_path.pop();
                self.attribute_path.pop();
                value
            }
        };
        match (value, nested) {
            (Value::Null, Some(nested)) => absent_block(nested),
            // Core sends a list (or map) of blocks with dynamic parts as a tuple (or object) of its
            // own type.
            (Value::List(elements), Some(nested)) if nested.implied_type == Type::Dynamic => {
                let types = vec![nested.block.implied_type.clone(); elements.len()];
                Value::dynamic(Type::Tuple(types.into()), Value::Tuple(elements))
            }
            (Value::Map(entries), Some(nested)) if nested.implied_type == Type::Dynamic => {
                let types = entries.keys().map(|key| (Arc::clone(key), nested.block.implied_type.clone()));
                Value::dynamic(Type::object(types), Value::Object(entries))
            }
            (value, _) => value,
        }
    }

    /// Core checks the number of blocks, so a provider may rely on it.
    fn count_blocks(&mut self, shape: &Shape, property: &Property, nested: &NestedBlock) {
        let (Shape::List(_) | Shape::Set(_), Ok((PropertyView::List(elements), _))) =
            (shape, property::unwrap(property))
        else {
            return;
        };
        let given = elements.len() as u64;
        let NestedBlock { min_items, max_items, .. } = nested;
        if self.undeclared == Undeclared::Ignore {
            // Stored state is not validated.
        } else if *max_items > 0 && given > *max_items {
            self.fail(format!("at most {max_items} {} allowed here, found {given}", are(*max_items)));
        } else if given < *min_items {
            self.fail(format!("at least {min_items} {} needed here, found {given}", are(*min_items)));
        }
    }

    fn dynamic(&mut self, property: &Property, depth: usize) -> (Type, Value) {
        if depth > MAXIMUM_DYNAMIC_DEPTH {
            let reason =
                format!("the value is nested more than {MAXIMUM_DYNAMIC_DEPTH} levels deep; make it flatter");
            return (Type::Dynamic, self.fail(reason));
        }
        let Some(view) = self.unwrap(property) else { return (Type::Dynamic, Value::Null) };
        match view {
            PropertyView::Bool(value) => (Type::Bool, Value::Bool(value)),
            PropertyView::Number(value) => match dynamic::decimal(value) {
                Some(number) => (Type::Number, Value::Number(number)),
                None => {
                    (Type::Dynamic, self.fail("found a number that is infinite or not a number".to_owned()))
                }
            },
            PropertyView::String(text) => (Type::String, Value::string(text)),
            PropertyView::Unknown => (Type::Dynamic, self.unknown()),
            PropertyView::List(elements) => {
                let elements = elements.iter().enumerate().map(|(index, element)| {
                    self.attribute_path.push(PathStep::Index(index));
                    self.property_path.push(PropertyStep::Index(index));
                    let element = self.dynamic(element, depth + 1);
                    self.property_path.pop();
                    self.attribute_path.pop();
                    element
                });
                let elements = elements.collect();
                dynamic::sequence(elements)
            }
            PropertyView::Object(properties) => {
                let properties = properties.iter().filter(|(name, value)| !is_defaults_mark(name, value));
                let fields: Vec<_> = properties
                    .map(|(name, property)| {
                        let name = normalize(name);
                        self.attribute_path.push(PathStep::Attribute(Arc::clone(&name)));
                        self.property_path.push(PropertyStep::Name(str::to_owned(&name)));
                        let field = self.dynamic(property, depth + 1);
                        self.property_path.pop();
                        self.attribute_path.pop();
                        (name, field)
                    })
                    .collect();
                dynamic::object(fields)
            }
            // `unwrap` has removed or rejected the others.
            _ => (Type::Dynamic, Value::Null),
        }
    }

    fn unknown(&mut self) -> Value {
        match self.unknowns {
            Unknowns::Keep => Value::Unknown(None),
            Unknowns::Reject => self.fail("the value is not known yet, but it is needed now".to_owned()),
        }
    }

    fn note_secret(&mut self) {
        if self.is_sensitive && self.set.is_some() {
            return;
        }
        let path = &self.attribute_path[..self.set.unwrap_or(self.attribute_path.len())];
        // The walk is depth-first: values within the last secret come right after it.
        if !self.secrets.last().is_some_and(|last| path.starts_with(&last.0)) {
            self.secrets.push(AttributePath(path.to_vec()));
        }
    }

    fn undeclared_property(&mut self, name: &str, shape: &ObjectShape) {
        let reason = no_such_property(name, shape);
        self.property_path.push(PropertyStep::Name(name.to_owned()));
        self.fail(reason);
        self.property_path.pop();
    }

    fn mismatch(&mut self, shape: &Shape, view: &PropertyView<'_>) -> Value {
        let found = property::kind(view);
        let advice = match (shape, view) {
            (Shape::Bool, PropertyView::String(_)) => "; write true or false, without quotes",
            (Shape::List(_) | Shape::Set(_), PropertyView::Object(_)) => {
                "; there can be several here, so put it into a list, even if it is the only one"
            }
            (Shape::List(_) | Shape::Set(_), _) => "; put it into a list, even if it is the only one",
            (Shape::Object(_), PropertyView::List(_)) => {
                "; there is only one here, so give it without a list around it"
            }
            (Shape::Map(_), PropertyView::List(_)) => "; give each value under a key",
            _ => "",
        };
        let expected = match shape {
            Shape::Bool => "a boolean",
            Shape::Number => "a number",
            Shape::String => "a string",
            Shape::List(_) | Shape::Set(_) => "a list",
            Shape::Map(_) | Shape::Object(_) => "an object",
            Shape::Tuple(_) => "a tuple",
            Shape::Dynamic => "a value",
            Shape::FlattenedList(_) | Shape::FlattenedSet(_) => "an object",
        };
        self.fail(format!("expected {expected}, found {found}{advice}"))
    }

    /// Records a failure at the current position; the value is null then.
    fn fail(&mut self, reason: String) -> Value {
        if self.failures.len() < MAXIMUM_FAILURES {
            self.failures.push(InputFailure { path: PropertyPath(self.property_path.clone()), reason });
        }
        Value::Null
    }
}

/// Why a property is not taken, with the name that was probably meant.
fn no_such_property(name: &str, shape: &ObjectShape) -> String {
    let inputs = shape.fields.iter().filter(|field| field.optional || field.required);
    match (shape.terraform(name), nearest(name, inputs.map(|field| &*field.pulumi))) {
        (Some(field), _) => {
            format!("unknown property; Terraform's `{name}` is `{}` here", field.pulumi)
        }
        (None, Some(suggestion)) => format!("unknown property; did you mean `{suggestion}`?"),
        (None, None) => {
            "unknown property; remove it, or look the name up in the package's documentation".to_owned()
        }
    }
}

const fn are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn flattened(shape: &Shape, element: Option<Value>) -> Value {
    let elements = element.filter(|element| !matches!(element, Value::Null)).into_iter().collect();
    match shape {
        Shape::FlattenedSet(_) => Value::set(elements),
        _ => Value::List(elements),
    }
}
