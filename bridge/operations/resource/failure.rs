//! Failures of inputs, without secrets.
//!
//! If a failure names a property, the engine looks it up in the program's inputs and prints its
//! value in the clear, secrets included. So a failure names a property only if it is a top-level
//! input that the schema fully describes, and nothing in it is secret, sensitive or write-only.
//! Otherwise the path is part of the text, and within a secret only as far as its names come from
//! the schema.
//!
//! [`Inputs`] decides this, and is the only constructor of a [`Failure`] about a property.

use std::borrow::Cow;
use std::sync::Arc;

use isthmus_proto::property::{Struct, Value};

use isthmus_package::function::FunctionShape;
use isthmus_package::shape::{Field, ObjectShape, Shape};
use isthmus_translate::inputs::InputFailure;
use isthmus_translate::property::{self, PropertyView, SIGNATURE_KEY};
use isthmus_translate::property_path::{PropertyPath, PropertyStep};

/// One failure of inputs, safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    property: String,
    reason: String,
}

impl Failure {
    /// A failure of the inputs as a whole.
    pub fn of_all(reason: String) -> Self {
        Self { property: String::new(), reason }
    }

    /// The property, if its value may be printed; otherwise empty.
    pub fn property(&self) -> &str {
        &self.property
    }

    /// What is wrong and what to do, with the path if there is no property.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    pub fn into_parts(self) -> (String, String) {
        (self.property, self.reason)
    }
}

/// Inputs and their schema.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    bag: &'a Struct,
    described: Described<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Described<'a> {
    Object(&'a ObjectShape),
    Function(&'a FunctionShape),
}

/// A path in inputs, without secrets.
#[derive(Clone, Debug)]
pub struct InputPath {
    path: PropertyPath,
    may_print_value: bool,
}

impl<'a> Inputs<'a> {
    /// Inputs of a resource, data source or configuration.
    pub fn new(bag: &'a Struct, shape: &'a ObjectShape) -> Self {
        Self { bag, described: Described::Object(shape) }
    }

    /// Arguments of a function.
    pub fn of_function(bag: &'a Struct, shape: &'a FunctionShape) -> Self {
        Self { bag, described: Described::Function(shape) }
    }

    /// The printable part of a path.
    pub fn at(&self, path: &PropertyPath) -> InputPath {
        let may_print_value = match &path.0[..] {
            [PropertyStep::Name(name)] => self.may_print(name),
            _ => false,
        };
        InputPath { path: self.without_secret_keys(path), may_print_value }
    }

    /// A failure of reading the inputs.
    pub fn failure(&self, found: InputFailure) -> Failure {
        self.at(&found.path).failure(found.reason)
    }

    /// Warnings of members that objects of attributes do not have, and that were dropped as Terraform drops them.
    pub fn warnings_of_dropped(&self, dropped: &[InputFailure]) -> Vec<String> {
        let warning = |dropped: &InputFailure| {
            format!("`{}` has no effect: {}", self.at(&dropped.path).path(), dropped.reason)
        };
        dropped.iter().map(warning).collect()
    }

    pub fn failures(&self, found: Vec<InputFailure>) -> Vec<Failure> {
        found.into_iter().map(|found| self.failure(found)).collect()
    }

    fn may_print(&self, name: &str) -> bool {
        match self.described {
            Described::Object(object) => object.pulumi(name).is_some_and(|field| {
                !may_hold_secret(field) && self.bag.get(name).is_none_or(|value| is_open(value, &field.shape))
            }),
            Described::Function(function) => parameter(function, name)
                .is_some_and(|shape| self.bag.get(name).is_none_or(|value| is_open(value, &shape))),
        }
    }

    /// The path up to the first key within a secret that is not the schema's: it may be part of the
    /// secret.
    pub(crate) fn without_secret_keys(&self, path: &PropertyPath) -> PropertyPath {
        let Some((PropertyStep::Name(name), rest)) = path.0.split_first() else { return path.clone() };
        let (mut shape, mut is_secret) = match self.described {
            Described::Object(object) => match object.pulumi(name) {
                Some(field) => (Some(Cow::Borrowed(&field.shape)), field.sensitive || field.write_only),
                None => (None, false),
            },
            Described::Function(function) => (parameter(function, name), false),
        };
        let mut value = self.bag.get(name);
        let mut shown = vec![PropertyStep::Name(name.clone())];
        for step in rest {
            let (view, is_marked) = match value.map(property::unwrap) {
                Some(Ok((view, is_marked))) => (Some(view), is_marked),
                Some(Err(_)) => (None, true),
                None => (None, false),
            };
            is_secret |= is_marked;
            let below = Below::of(shape.as_deref(), step);
            if is_secret && !below.is_of_schema {
                break;
            }
            is_secret |= below.is_secret;
            shown.push(step.clone());
            shape = below.shape.map(Cow::Owned);
            value = match (view, step) {
                (Some(PropertyView::Object(bag)), PropertyStep::Name(name)) => bag.get(name),
                (Some(PropertyView::List(elements)), PropertyStep::Index(index)) => elements.get(*index),
                _ => None,
            };
        }
        PropertyPath(shown)
    }
}

impl InputPath {
    /// The printable path.
    pub fn path(&self) -> &PropertyPath {
        &self.path
    }

    /// A failure whose text does not contain the path.
    pub fn failure(self, reason: String) -> Failure {
        if self.may_print_value || self.path.0.is_empty() {
            return self.failure_that_names_it(reason);
        }
        let reason = format!("{}: {reason}", self.path);
        Failure { property: String::new(), reason }
    }

    /// A failure whose text contains [`InputPath::path`] already.
    pub fn failure_that_names_it(self, reason: String) -> Failure {
        let property = if self.may_print_value { self.path.to_string() } else { String::new() };
        Failure { property, reason }
    }
}

/// Whether the schema calls anything within a field sensitive or write-only.
pub(super) fn may_hold_secret(field: &Field) -> bool {
    fn within(shape: &Shape) -> bool {
        match shape {
            Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic => false,
            Shape::List(element)
            | Shape::Set(element)
            | Shape::Map(element)
            | Shape::FlattenedList(element)
            | Shape::FlattenedSet(element) => within(element),
            Shape::Object(object) => object.fields.iter().any(may_hold_secret),
            Shape::Tuple(elements) => elements.iter().any(within),
        }
    }
    field.sensitive || field.write_only || within(&field.shape)
}

/// Whether a value may be printed: the shape, in which nothing is secret, describes all of it, and
/// no part is marked.
fn is_open(value: &Value, shape: &Shape) -> bool {
    let view = match property::classify(value) {
        Ok(PropertyView::Secret(_) | PropertyView::Output { secret: true, .. }) | Err(_) => return false,
        Ok(PropertyView::Output { value: None, .. }) => return true,
        Ok(PropertyView::Output { value: Some(inner), .. }) => return is_open(inner, shape),
        Ok(view) => view,
    };
    match (shape, view) {
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), _) => is_open(value, element),
        // A mark within JSON text is among its characters.
        (_, PropertyView::String(text)) => !text.contains(SIGNATURE_KEY),
        (_, PropertyView::Null | PropertyView::Bool(_) | PropertyView::Number(_) | PropertyView::Unknown) => {
            true
        }
        (Shape::Dynamic, PropertyView::List(_) | PropertyView::Object(_)) => {
            property::contains_secret(value) == Ok(false)
        }
        (Shape::List(element) | Shape::Set(element), PropertyView::List(elements)) => {
            elements.iter().all(|value| is_open(value, element))
        }
        (Shape::Map(element), PropertyView::Object(members)) => {
            members.values().all(|value| is_open(value, element))
        }
        (Shape::Object(object), PropertyView::Object(members)) => members
            .iter()
            .all(|(name, value)| object.pulumi(name).is_some_and(|field| is_open(value, &field.shape))),
        (Shape::Tuple(shapes), PropertyView::List(elements)) if shapes.len() == elements.len() => {
            elements.iter().zip(shapes).all(|(value, shape)| is_open(value, shape))
        }
        // Values of the wrong kind: an element without its list, a list in place of one value, an
        // object with unknown keys.
        (Shape::List(element) | Shape::Set(element), PropertyView::Object(_)) => is_open(value, element),
        (Shape::Map(element), PropertyView::List(elements)) => {
            elements.iter().all(|value| is_open(value, element))
        }
        (_, PropertyView::List(elements)) => elements.iter().all(|value| is_open(value, shape)),
        (_, PropertyView::Object(members)) => members.is_empty(),
        (
            _,
            PropertyView::Asset { .. }
            | PropertyView::Archive { .. }
            | PropertyView::ResourceReference { .. }
            | PropertyView::ByteString(_)
            | PropertyView::Secret(_)
            | PropertyView::Output { .. },
        ) => false,
    }
}

/// The shape of the parameter with this name.
fn parameter<'a>(function: &'a FunctionShape, name: &str) -> Option<Cow<'a, Shape>> {
    let index = function.parameters.iter().position(|parameter| parameter.pulumi == name)?;
    let shape = &function.parameters[index].shape;
    Some(if function.variadic && index + 1 == function.parameters.len() {
        Cow::Owned(Shape::List(Arc::new(shape.clone())))
    } else {
        Cow::Borrowed(shape)
    })
}

/// The value at the next step of a path.
struct Below {
    /// `None` where the schema does not describe it.
    shape: Option<Shape>,
    /// The step is an index or a name of the schema, not a key of the program.
    is_of_schema: bool,
    is_secret: bool,
}

impl Below {
    fn of(shape: Option<&Shape>, step: &PropertyStep) -> Self {
        let is_place = matches!(step, PropertyStep::Index(_));
        match (shape, step) {
            (Some(Shape::FlattenedList(element) | Shape::FlattenedSet(element)), step) => {
                Self::of(Some(element), step)
            }
            (Some(Shape::Object(object)), PropertyStep::Name(name)) => match object.pulumi(name) {
                Some(field) => Self {
                    shape: Some(field.shape.clone()),
                    is_of_schema: true,
                    is_secret: field.sensitive || field.write_only,
                },
                None => Self { shape: None, is_of_schema: false, is_secret: false },
            },
            (Some(Shape::List(element) | Shape::Set(element) | Shape::Map(element)), _) => {
                Self { shape: Some((**element).clone()), is_of_schema: is_place, is_secret: false }
            }
            (Some(Shape::Tuple(elements)), step) => {
                // Tuple elements are named t0, t1 and so on.
                let index = match step {
                    PropertyStep::Name(name) => name.strip_prefix('t').and_then(|index| index.parse().ok()),
                    PropertyStep::Index(index) => Some(*index),
                    PropertyStep::All => None,
                };
                let element: Option<&Shape> = index.and_then(|index: usize| elements.get(index));
                Self { is_of_schema: element.is_some(), shape: element.cloned(), is_secret: false }
            }
            (_, _) => Self { shape: None, is_of_schema: is_place, is_secret: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use isthmus_package::shape::{IdRule, ResourceShape};
    use isthmus_translate::property::{output, secret};
    use isthmus_translate::testing::{attribute, bag, block, list, nested, object, path, resource};

    fn shape() -> ResourceShape {
        let mut password = attribute("password", Type::String);
        password.sensitive = true;
        let mut once = attribute("once", Type::String);
        once.write_only = true;
        let login = block(vec![password.clone(), attribute("user", Type::String)], vec![]);
        let disk = block(vec![attribute("mount", Type::String)], vec![]);
        let map = || Type::Map(Type::String.into());
        let mut headers = attribute("headers", map());
        headers.sensitive = true;
        resource(
            block(
                vec![
                    password,
                    once,
                    headers,
                    attribute("title", Type::String),
                    attribute("size", Type::Number),
                    attribute("label", map()),
                    attribute("anything", Type::Dynamic),
                ],
                vec![
                    nested("login", BlockNesting::List, 1, login),
                    nested("disk", BlockNesting::List, 0, disk),
                ],
            ),
            IdRule::Missing,
        )
    }

    #[test]
    fn a_property_is_named_only_where_its_value_may_be_printed() {
        let shape = shape();
        let text = || Value::from("x");
        let hidden = || secret(text());
        for (place, value, is_named) in [
            ("title", text(), true),
            ("title", Value::Null, true),
            ("title", output(Some(text()), false, vec![]), true),
            ("title", hidden(), false),
            ("title", output(Some(text()), true, vec![]), false),
            ("title", output(None, true, vec![]), false),
            ("title", output(Some(hidden()), false, vec![]), false),
            ("title", Value::from(format!("[{{\"{SIGNATURE_KEY}\":")), false),
            ("title", object(&[(SIGNATURE_KEY, text())]), false),
            ("title", object(&[("a", text())]), false),
            ("title", list(&[text()]), true),
            ("title", list(&[hidden()]), false),
            ("title", object(&[]), true),
            ("size", text(), true),
            ("size", hidden(), false),
            ("label", object(&[("a", text())]), true),
            ("label", object(&[("a", hidden())]), false),
            ("label", list(&[hidden()]), false),
            ("anything", object(&[("a", list(&[text()]))]), true),
            ("anything", object(&[("a", list(&[hidden()]))]), false),
            ("disks", list(&[object(&[("mount", text())])]), true),
            ("disks", list(&[object(&[("mount", hidden())])]), false),
            ("disks", list(&[object(&[("muont", text())])]), false),
            ("disks", object(&[("mount", text())]), true),
            ("disks", object(&[("muont", text())]), false),
            ("label", list(&[object(&[("a", text())])]), false),
            ("password", text(), false),
            ("password", Value::Null, false),
            ("once", text(), false),
            ("headers", object(&[]), false),
            ("login", object(&[("user", text())]), false),
            ("login", text(), false),
            ("titel", text(), false),
        ] {
            let inputs = bag(&[(place, value.clone())]);
            let failure = Inputs::new(&inputs, &shape.object).at(&path(place)).failure("no".to_owned());
            let expected = if is_named { (place, "no".to_owned()) } else { ("", format!("{place}: no")) };
            assert_eq!((failure.property(), failure.reason().to_owned()), expected, "{value:?}");
        }
        let nothing = Struct::new();
        let missing = Inputs::new(&nothing, &shape.object).at(&path("title")).failure("no".to_owned());
        assert_eq!(missing.property(), "title", "there is nothing to be printed");
    }

    #[test]
    fn of_a_place_further_down_only_the_text_tells() {
        let shape = shape();
        let inputs = bag(&[
            ("label", object(&[("a", Value::from("x"))])),
            ("disks", list(&[object(&[("mount", Value::from("x"))])])),
        ]);
        for place in ["label.a", "disks[0].mount", "disks[0].nothing"] {
            let failure = Inputs::new(&inputs, &shape.object).at(&path(place)).failure("no".to_owned());
            assert_eq!((failure.property(), failure.reason()), ("", &*format!("{place}: no")));
        }
    }

    #[test]
    fn a_key_within_a_secret_is_not_told_unless_it_is_the_schemas() {
        let shape = shape();
        let inner = || object(&[("sesame", list(&[Value::from("x")]))]);
        let inputs = bag(&[
            ("label", secret(inner())),
            ("headers", inner()),
            ("anything", object(&[("open", secret(inner()))])),
            ("disks", secret(list(&[object(&[("mount", inner())])]))),
            ("login", secret(object(&[("user", inner())]))),
            ("titel", secret(inner())),
        ]);
        for (place, shown) in [
            ("label.sesame", "label"),
            ("headers.sesame", "headers"),
            ("anything.open", "anything.open"),
            ("anything.open.sesame", "anything.open"),
            ("disks[0].mount", "disks[0].mount"),
            ("disks[0].mount.sesame", "disks[0].mount"),
            ("disks[0].sesame", "disks[0]"),
            ("login.user.sesame", "login.user"),
            ("titel.sesame", "titel"),
        ] {
            let place = Inputs::new(&inputs, &shape.object).at(&path(place));
            assert_eq!(place.path().to_string(), shown);
        }
    }
}
