//! Check: whether the inputs are what the provider takes.

use isthmus_proto::property::{Struct, Value};
use isthmus_shim::provider::ProviderError;

use super::{Failure, Notes, OperationError, Target};
use crate::package::shape::{ObjectShape, Shape};
use crate::translate::inputs::{Unknowns, missing_required};
use crate::translate::property::{PropertyView, classify, secret};

/// What became of the inputs.
#[derive(Debug)]
pub struct Checked {
    /// The inputs as they are to be stored: the program's own, with secrets marked.
    pub inputs: Struct,
    /// What is wrong with them. Any failure makes the resource invalid.
    pub failures: Vec<Failure>,
}

/// Judges `news`, first by the schema and then by the provider itself.
pub async fn check(target: &Target<'_>, news: Struct, notes: &mut Notes) -> Result<Checked, OperationError> {
    let mut failures: Vec<Failure> = missing_required(&news, &target.shape.object)
        .into_iter()
        .map(|path| Failure {
            reason: format!("Missing required property '{path}'"),
            property: path.to_string(),
        })
        .collect();
    let config = match target.config(&news, Unknowns::Keep) {
        Ok(config) => Some(config),
        Err(OperationError::Inputs(found)) => {
            failures.extend(found);
            None
        }
        Err(other) => return Err(other),
    };
    // A provider would only repeat what is known to be missing, in words that are not Pulumi's.
    if let (Some(config), true) = (config, failures.is_empty()) {
        let resource =
            target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
        match resource.validate(&config.value, &mut notes.warnings).await {
            Ok(()) => {}
            Err(ProviderError::Diagnostics { diagnostics, .. }) => failures = target.failures(&diagnostics),
            Err(error) => return Err(target.failed(error)),
        }
    }
    let mut inputs = news;
    if target.keep_secrets {
        mark_sensitive(&mut inputs, &target.shape.object);
    }
    Ok(Checked { inputs, failures })
}

/// Wraps as secret what the schema calls sensitive or write-only, at every level.
pub(crate) fn mark_sensitive(bag: &mut Struct, shape: &ObjectShape) {
    for (name, value) in bag.iter_mut() {
        let Some(field) = shape.pulumi(name) else { continue };
        if field.sensitive || field.write_only {
            let is_marked = matches!(classify(value), Ok(PropertyView::Secret(_)));
            if !is_marked && !value.is_null() {
                *value = secret(std::mem::take(value));
            }
        } else {
            mark_within(value, &field.shape);
        }
    }
}

fn mark_within(value: &mut Value, shape: &Shape) {
    match (shape, value) {
        (Shape::Object(object), Value::Struct(bag)) => mark_sensitive(bag, object),
        (Shape::Map(element), Value::Struct(bag)) => {
            for (_, value) in bag.iter_mut() {
                mark_within(value, element);
            }
        }
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), value) => mark_within(value, element),
        (Shape::List(element) | Shape::Set(element), Value::List(values)) => {
            for value in values {
                mark_within(value, element);
            }
        }
        _ => {}
    }
}
