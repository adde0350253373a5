//! Terraform's state JSON, rebuilt from a property bag.
//!
//! Before a provider may use stored state it upgrades it, for which it needs the exact JSON that an
//! earlier version wrote: with the names and types of *that* version's schema, which is not
//! available any more. A property bag alone cannot yield it (names and some types differ), and
//! storing the JSON beside the bag would double the state and let users edit one but not the other.
//! So the bag carries a *delta*, computed while the schema is available, by which the JSON can be
//! rebuilt without it. This is the Go bridge's format; states are interchangeable.
//!
//! A delta is an object with at most one member, or empty, which means that the value is its own
//! JSON: `obj` (an object, with names that do not follow the rule, ignored properties, and deltas
//! of properties), `map` and `arr` (deltas of elements), `plu` (a flattened block), `num` (a string
//! for a number), `asset`, and `replace` (the JSON itself, which is therefore marked secret).

mod compute;
mod delta;
#[cfg(test)]
mod go_bridge_tests;
mod recover;
#[cfg(test)]
mod tests;

use isthmus_cty::Value;
use isthmus_cty::json::{Json, JsonError, JsonSyntaxError, to_json};
use isthmus_proto::property::{Struct, Value as Property};
use thiserror::Error;

use super::inputs::{InputFailure, object_from_state};
use super::meta::{META_KEY, Meta};
use super::property::{self, PropertyError};
use super::sets::in_order_of;
pub use delta::DeltaError;
use isthmus_package::shape::ResourceShape;
pub use recover::{RecoverError, recover};

/// The property of the delta.
pub const DELTA_KEY: &str = "__pulumi_raw_state_delta";

#[derive(Debug, Error)]
pub enum RawStateError {
    /// The value does not fit its schema, or contains what JSON cannot express.
    #[error("the state cannot be written as Terraform's state JSON")]
    Write(#[source] JsonError),
    #[error("the state as Terraform's JSON is nested too deeply")]
    Nesting(#[source] JsonSyntaxError),
    #[error("the state's properties cannot be read")]
    Property(#[source] PropertyError),
    /// The properties fit neither the delta nor the schema.
    #[error(
        "the stored properties do not fit the resource's schema: {}; if the state was edited by hand, correct it there",
        describe(.0)
    )]
    Properties(Vec<InputFailure>),
}

/// How the stored JSON was determined.
#[derive(Debug)]
pub enum RawStateSource {
    Delta,
    /// By the current schema, for state from before there were deltas.
    Schema,
    /// By the current schema, because the delta does not fit the properties: the state was edited.
    SchemaForBadDelta(RecoverError),
}

/// Terraform's state JSON of a whole resource.
///
/// # Errors
/// If it contains unknown or infinite values, or is not of the schema's type.
pub fn raw_state(state: &Value, shape: &ResourceShape) -> Result<Json, RawStateError> {
    let text = to_json(state, &shape.schema.block.implied_type).map_err(RawStateError::Write)?;
    Json::parse(text.as_bytes()).map_err(RawStateError::Nesting)
}

/// The delta to store with `outputs`, which were translated from `state`; `None` for unknown
/// values, which state JSON cannot express.
///
/// A set in another order than in `state` is in the delta as a whole: the Go bridge sends a set in
/// the stored order, and providers compare elements of sets by position.
///
/// The result is verified: rebuilding yields `state`'s JSON. `keep_secrets` as for outputs.
///
/// # Errors
/// If `state` has no JSON.
pub fn raw_state_delta(
    outputs: &Struct,
    state: &Value,
    shape: &ResourceShape,
    keep_secrets: bool,
) -> Result<Option<Property>, RawStateError> {
    for value in outputs.values() {
        if property::contains_unknown(value).map_err(RawStateError::Property)? {
            return Ok(None);
        }
    }
    let raw = raw_state(state, shape)?;
    let shown = in_order_of(state, &shape.object, outputs);
    let shown = if shown == *state { raw.clone() } else { raw_state(&shown, shape)? };
    let delta = compute::compute(outputs, &shown, raw, &shape.object);
    Ok(Some(delta.to_property(keep_secrets)))
}

/// A delta that contains the whole of `state`, independent of the properties.
///
/// # Errors
/// If `state` has no JSON.
pub fn raw_state_as_delta(
    state: &Value,
    shape: &ResourceShape,
    keep_secrets: bool,
) -> Result<Property, RawStateError> {
    Ok(delta::Delta::Replace(raw_state(state, shape)?).to_property(keep_secrets))
}

/// Adds to `outputs` the other stored properties: `__meta`, then the delta.
///
/// # Errors
/// As [`raw_state_delta`].
pub fn add_stored_properties(
    outputs: &mut Struct,
    meta: &Meta,
    state: &Value,
    shape: &ResourceShape,
    keep_secrets: bool,
) -> Result<(), RawStateError> {
    let delta = raw_state_delta(outputs, state, shape, keep_secrets)?;
    if let Some(meta) = meta.to_property() {
        outputs.insert(META_KEY, meta);
    }
    if let Some(delta) = delta {
        outputs.insert(DELTA_KEY, delta);
    }
    Ok(())
}

/// The state JSON of stored `properties`.
///
/// # Errors
/// If neither a delta nor the current schema fits them.
pub fn stored_raw_state(
    properties: &Struct,
    shape: &ResourceShape,
) -> Result<(Json, RawStateSource), RawStateError> {
    let source = match properties.get(DELTA_KEY) {
        None => RawStateSource::Schema,
        Some(delta) => match recover(properties, delta) {
            Ok(raw) => return Ok((raw, RawStateSource::Delta)),
            Err(error) => RawStateSource::SchemaForBadDelta(error),
        },
    };
    raw_state_without_delta(properties, shape).map(|raw| (raw, source))
}

/// The state JSON of stored `properties` of a type whose schema is not available.
///
/// # Errors
/// `None` without a delta, or why it does not fit.
pub fn foreign_raw_state(properties: &Struct) -> Result<Json, Option<RecoverError>> {
    let delta = properties.get(DELTA_KEY).ok_or(None)?;
    recover(properties, delta).map_err(Some)
}

/// The state JSON of `properties` by the current schema.
///
/// # Errors
/// If they do not fit it.
pub fn raw_state_without_delta(properties: &Struct, shape: &ResourceShape) -> Result<Json, RawStateError> {
    let state = object_from_state(properties, &shape.object, &shape.schema.block);
    raw_state(&state.map_err(RawStateError::Properties)?, shape)
}

fn describe(failures: &[InputFailure]) -> String {
    let first = failures.iter().take(3).map(|failure| format!("`{}`: {}", failure.path, failure.reason));
    first.collect::<Vec<_>>().join("; ")
}
