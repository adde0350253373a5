//! Required properties that a program does not set.
//!
//! Providers report these too, but for the whole resource and with Terraform's names.

use isthmus_proto::property::Struct;

use crate::property::{self, PropertyView};
use crate::property_path::{PropertyPath, PropertyStep};
use isthmus_package::shape::{Field, ObjectShape, Shape};

/// A required property that is missing.
#[derive(Clone, Debug)]
pub struct Missing<'a> {
    pub path: PropertyPath,
    pub field: &'a Field,
}

/// Finds the required properties that are missing.
pub fn missing_required<'a>(inputs: &Struct, shape: &'a ObjectShape) -> Vec<Missing<'a>> {
    let mut missing = Vec::new();
    let mut path = PropertyPath::default();
    missing_in_object(inputs, shape, &mut path, &mut missing);
    missing
}

fn missing_in_object<'a>(
    inputs: &Struct,
    shape: &'a ObjectShape,
    path: &mut PropertyPath,
    missing: &mut Vec<Missing<'a>>,
) {
    for field in &shape.fields {
        path.0.push(PropertyStep::Name(field.pulumi.clone()));
        match inputs.get(&field.pulumi).map(property::unwrap) {
            None | Some(Ok((PropertyView::Null, _))) if field.required => {
                missing.push(Missing { path: path.clone(), field });
            }
            Some(Ok((view, _))) => missing_in_value(&view, &field.shape, path, missing),
            None | Some(Err(_)) => {}
        }
        path.0.pop();
    }
}

fn missing_in_value<'a>(
    view: &PropertyView<'_>,
    shape: &'a Shape,
    path: &mut PropertyPath,
    missing: &mut Vec<Missing<'a>>,
) {
    match (shape, view) {
        (Shape::Object(object), PropertyView::Object(fields)) => {
            missing_in_object(fields, object, path, missing)
        }
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), view) => {
            missing_in_value(view, element, path, missing);
        }
        (Shape::List(element) | Shape::Set(element), PropertyView::List(elements))
            if element.has_objects() =>
        {
            for (index, value) in elements.iter().enumerate() {
                path.0.push(PropertyStep::Index(index));
                if let Ok((view, _)) = property::unwrap(value) {
                    missing_in_value(&view, element, path, missing);
                }
                path.0.pop();
            }
        }
        (Shape::Map(element), PropertyView::Object(entries)) if element.has_objects() => {
            for (key, value) in entries.iter() {
                path.0.push(PropertyStep::Name(key.to_owned()));
                if let Ok((view, _)) = property::unwrap(value) {
                    missing_in_value(&view, element, path, missing);
                }
                path.0.pop();
            }
        }
        _ => {}
    }
}
