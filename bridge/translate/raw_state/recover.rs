//! Rebuilding Terraform's JSON from properties and delta, without a schema.

use std::collections::{BTreeMap, HashSet};

use isthmus_cty::Number;
use isthmus_cty::json::Json;
use isthmus_proto::property::{Struct, Value as Property};
use thiserror::Error;

use super::delta::{Delta, DeltaError, ObjectDelta, number_text};
use crate::property::{self, PropertyError, PropertyView};
use isthmus_package::names::casing::pulumi_to_terraform;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RecoverError {
    #[error(
        "the state's `__pulumi_raw_state_delta` cannot be read; if the state was edited by hand, remove that key and run again"
    )]
    Delta(#[from] DeltaError),
    /// The property is of another kind than when the delta was computed.
    #[error(
        "the state's `__pulumi_raw_state_delta` expects {expected} at `{path}` and finds {found}; \
         if the state was edited by hand, remove that key and run again"
    )]
    Mismatch {
        /// By Pulumi names.
        path: String,
        /// The kind that the delta is for.
        expected: &'static str,
        /// The kind of the property.
        found: &'static str,
    },
    /// There is a delta for a missing element.
    #[error(
        "the state's `__pulumi_raw_state_delta` is for a longer list than there is at `{path}`; \
         if the state was edited by hand, remove that key and run again"
    )]
    Index {
        /// By Pulumi names.
        path: String,
    },
    #[error("the state's properties cannot be read")]
    Property(#[from] PropertyError),
}

/// Rebuilds the state JSON of `properties` by the `delta` that is stored with them.
///
/// # Errors
/// If the delta is not for these properties, as after an edit of the state.
pub fn recover(properties: &Struct, delta: &Property) -> Result<Json, RecoverError> {
    match Delta::from_property(delta)? {
        Delta::Object(delta) => recover_object(properties, &delta),
        Delta::Replace(raw) => Ok(raw),
        _ => Err(mismatch("", "a resource's properties", "something else")),
    }
}

pub(super) fn recover_object(properties: &Struct, delta: &ObjectDelta) -> Result<Json, RecoverError> {
    let mut members = BTreeMap::new();
    let ignored: HashSet<&str> = delta.ignored.iter().map(String::as_str).collect();
    let terraform = |name: &str| match delta.renamed.get(name) {
        Some(terraform) => terraform.clone(),
        None => pulumi_to_terraform(name),
    };
    for (name, property) in properties.iter() {
        if !is_reserved(name) && !ignored.contains(name) {
            let of_property = delta.properties.get(name).unwrap_or(&Delta::Natural);
            let member = recover_value(property, of_property).map_err(|error| error.within(name))?;
            members.insert(terraform(name), member);
        }
    }
    for (name, of_property) in &delta.properties {
        if !properties.contains_key(name) {
            let member = recover_value(&Property::Null, of_property).map_err(|error| error.within(name))?;
            members.insert(terraform(name), member);
        }
    }
    Ok(Json::Object(members.into_iter().collect()))
}

/// Properties of the bridges, at any level.
pub(super) fn is_reserved(name: &str) -> bool {
    matches!(name, "__meta" | "__defaults" | "__pulumi_raw_state_delta")
}

fn recover_value(property: &Property, delta: &Delta) -> Result<Json, RecoverError> {
    let (view, _) = property::unwrap(property)?;
    Ok(match (delta, view) {
        (Delta::Natural, view) => recover_natural(&view)?,
        (Delta::Replace(raw), _) => raw.clone(),
        (Delta::Pluralize(_), PropertyView::Null) => Json::Array(Vec::new()),
        (Delta::Pluralize(inner), _) => Json::Array(vec![recover_value(property, inner)?]),
        (Delta::Map(deltas), PropertyView::Object(entries)) => {
            let mut members = BTreeMap::new();
            for (key, entry) in entries.iter() {
                let delta = deltas.get(key).unwrap_or(&Delta::Natural);
                members
                    .insert(key.to_owned(), recover_value(entry, delta).map_err(|error| error.within(key))?);
            }
            Json::Object(members.into_iter().collect())
        }
        (Delta::Object(delta), PropertyView::Object(properties)) => recover_object(properties, delta)?,
        (Delta::Array(deltas), PropertyView::List(elements)) => {
            if deltas.keys().next_back().is_some_and(|last| *last >= elements.len()) {
                return Err(RecoverError::Index { path: String::new() });
            }
            let mut recovered = Vec::with_capacity(elements.len());
            for (index, element) in elements.iter().enumerate() {
                let delta = deltas.get(&index).unwrap_or(&Delta::Natural);
                recovered
                    .push(recover_value(element, delta).map_err(|error| error.within(&index.to_string()))?);
            }
            Json::Array(recovered)
        }
        (Delta::Number, PropertyView::String(text)) => match Number::from_decimal(text) {
            Ok(number) if !number.is_infinite() => Json::Number(number.to_decimal_text()),
            _ => return Err(mismatch("", "text that is a number", "other text")),
        },
        (Delta::Map(_), view) => return Err(mismatch("", "a map", property::kind(&view))),
        (Delta::Object(_), view) => return Err(mismatch("", "an object", property::kind(&view))),
        (Delta::Array(_), view) => return Err(mismatch("", "a list", property::kind(&view))),
        (Delta::Number, view) => return Err(mismatch("", "text that is a number", property::kind(&view))),
        (Delta::Asset, view) => {
            return Err(mismatch("", "an asset of another provider", property::kind(&view)));
        }
    })
}

fn recover_natural(view: &PropertyView<'_>) -> Result<Json, RecoverError> {
    Ok(match view {
        PropertyView::Null => Json::Null,
        PropertyView::Bool(value) => Json::Bool(*value),
        PropertyView::Number(number) => match number_text(*number) {
            Some(text) => Json::Number(text),
            None => return Err(mismatch("", "a finite number", "another one")),
        },
        PropertyView::String(text) => Json::String((*text).to_owned()),
        PropertyView::List(elements) => {
            // A plain loop: adapters would take three stack frames per level.
            let mut recovered = Vec::with_capacity(elements.len());
            for (index, element) in elements.iter().enumerate() {
                let (view, _) = property::unwrap(element)?;
                recovered.push(recover_natural(&view).map_err(|error| error.within(&index.to_string()))?);
            }
            Json::Array(recovered)
        }
        // Only a delta shows whether it is a map or an object, which determines names.
        view => return Err(mismatch("", "a plain value", property::kind(view))),
    })
}

fn mismatch(path: &str, expected: &'static str, found: &'static str) -> RecoverError {
    RecoverError::Mismatch { path: path.to_owned(), expected, found }
}

impl RecoverError {
    fn within(mut self, step: &str) -> Self {
        match &mut self {
            Self::Mismatch { path, .. } | Self::Index { path } => {
                let rest = if path.is_empty() { String::new() } else { format!(".{path}") };
                *path = format!("{step}{rest}");
            }
            Self::Delta(_) | Self::Property(_) => {}
        }
        self
    }
}
