//! Secret values of a property bag that is shown before it is known to be valid.
//!
//! What passes a check has the names and kinds of its shape, which says what is secret. Before that, a secret may be under
//! Terraform's name of its property, under a misspelt one, or in a value of another kind, where no shape says so: such values count
//! as secret if the resource has secrets at all.

use isthmus_proto::property::{Struct, Value};

use crate::package::shape::{Field, ObjectShape, Shape};
use crate::translate::property::{PropertyView, classify, secret};

/// Marks what is secret by the shape, or may be.
pub(crate) fn mark_what_may_be_secret(bag: &mut Struct, shape: &ObjectShape) {
    let has_secrets = has_secrets_in(shape);
    mark_object(bag, shape, has_secrets);
}

fn mark_object(bag: &mut Struct, shape: &ObjectShape, has_secrets: bool) {
    for (name, value) in bag.iter_mut() {
        match shape.pulumi(name).or_else(|| shape.terraform(name)) {
            Some(field) if is_secret(field) => mark(value),
            Some(field) => mark_value(value, &field.shape, has_secrets),
            // Of the engine and of both bridges, and the id, which is no property of every resource.
            None if name == "id" || name.starts_with("__") => {}
            None if has_secrets => mark(value),
            None => {}
        }
    }
}

fn mark_value(value: &mut Value, shape: &Shape, has_secrets: bool) {
    match (shape, value) {
        (_, Value::Null) => {}
        (Shape::Object(object), Value::Struct(bag)) if !is_special(bag) => {
            mark_object(bag, object, has_secrets)
        }
        (Shape::Map(element), Value::Struct(bag)) if !is_special(bag) => {
            bag.iter_mut().for_each(|(_, value)| mark_value(value, element, has_secrets));
        }
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), value) => {
            mark_value(value, element, has_secrets);
        }
        (Shape::List(element) | Shape::Set(element), Value::List(values)) => {
            values.iter_mut().for_each(|value| mark_value(value, element, has_secrets));
        }
        (shape, value) if has_secrets_below(shape) && !is_special_value(value) => mark(value),
        _ => {}
    }
}

fn mark(value: &mut Value) {
    if !value.is_null() && !matches!(classify(value), Ok(PropertyView::Secret(_))) {
        *value = secret(std::mem::take(value));
    }
}

/// Whether it is marked already, or has no content, as an unknown value.
fn is_special(bag: &Struct) -> bool {
    bag.get(crate::translate::property::SIGNATURE_KEY).is_some()
}

fn is_special_value(value: &Value) -> bool {
    matches!(value, Value::Struct(bag) if is_special(bag))
        || matches!(classify(value), Ok(PropertyView::Unknown))
}

fn is_secret(field: &Field) -> bool {
    field.sensitive || field.write_only
}

fn has_secrets_in(shape: &ObjectShape) -> bool {
    shape.fields.iter().any(|field| is_secret(field) || has_secrets_below(&field.shape))
}

fn has_secrets_below(shape: &Shape) -> bool {
    match shape {
        Shape::Object(object) => has_secrets_in(object),
        Shape::List(element)
        | Shape::Set(element)
        | Shape::Map(element)
        | Shape::FlattenedList(element)
        | Shape::FlattenedSet(element) => has_secrets_below(element),
        Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic | Shape::Tuple(_) => false,
    }
}
