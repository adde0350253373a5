//! Terraform's own state JSON, rebuilt from a property bag.
//!
//! Before a provider may work with stored state it upgrades it, and for that it needs the very JSON that an earlier
//! version of it once wrote: with the names and types of *that* version's schema, which nobody has any more. A property
//! bag alone cannot give it (names and some types differ), and storing the JSON beside the bag would double the state and
//! let users edit one but not the other. So the bag carries a *delta*, computed while the schema is at hand, that
//! says how to rebuild the JSON without it. This is the Go bridge's format; states go over and back.
//!
//! A delta is an object with at most one member, or nothing, which means that the value is its own JSON:
//! `obj` (an object, with the names that the rule of names does not give back, properties to leave out, and deltas of
//! properties), `map` and `arr` (deltas of elements), `plu` (a block that Pulumi sees without its list), `num` (text for
//! a number), `asset`, and `replace` (the JSON itself, which is why it is always marked secret).

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
use crate::package::shape::ResourceShape;
pub use delta::DeltaError;
pub use recover::{RecoverError, recover};

/// The property that holds the delta.
pub const DELTA_KEY: &str = "__pulumi_raw_state_delta";

/// The JSON of a value cannot be made.
#[derive(Debug, Error)]
pub enum RawStateError {
    /// The value is not what its schema says, or holds what JSON cannot express.
    #[error("the state cannot be written as Terraform's state JSON")]
    Write(#[source] JsonError),
    /// What was written cannot be read again.
    #[error("the state as Terraform's JSON is nested too deeply")]
    Nesting(#[source] JsonSyntaxError),
    /// The properties hold a special value that is none.
    #[error("the state's properties cannot be read")]
    Property(#[source] PropertyError),
    /// Neither the delta nor the schema makes sense of the properties.
    #[error(
        "the stored properties do not fit the resource's schema: {}; if the state was edited by hand, correct it there",
        describe(.0)
    )]
    Properties(Vec<InputFailure>),
}

/// How the stored JSON was found.
#[derive(Debug)]
pub enum RawStateSource {
    /// By the delta.
    Delta,
    /// By the current schema, as nothing else was stored: state from before there were deltas.
    Schema,
    /// By the current schema, because the delta does not fit the properties any more: somebody edited the state.
    SchemaForBadDelta(RecoverError),
}

/// Terraform's state JSON of a whole resource.
///
/// # Errors
/// When something in it is unknown or infinite, or is not of the type that the schema says.
pub fn raw_state(state: &Value, shape: &ResourceShape) -> Result<Json, RawStateError> {
    let text = to_json(state, &shape.schema.block.implied_type).map_err(RawStateError::Write)?;
    Json::parse(text.as_bytes()).map_err(RawStateError::Nesting)
}

/// The delta to store with `outputs`, which were made from `state`. `None` when there are unknown values, for which
/// there is no state JSON.
///
/// The result has been checked: rebuilding gives `state`'s JSON. `keep_secrets` as for outputs.
///
/// # Errors
/// When `state` has no JSON.
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
    let delta = compute::compute(outputs, raw_state(state, shape)?, &shape.object);
    Ok(Some(delta.to_property(keep_secrets)))
}

/// A delta that is the whole of `state`, whatever properties it is stored with.
///
/// # Errors
/// When `state` has no JSON.
pub fn raw_state_as_delta(
    state: &Value,
    shape: &ResourceShape,
    keep_secrets: bool,
) -> Result<Property, RawStateError> {
    Ok(delta::Delta::Replace(raw_state(state, shape)?).to_property(keep_secrets))
}

/// Adds to `outputs` what the engine is to store with them: `__meta`, then the delta.
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

/// The state JSON that `properties` were stored for.
///
/// # Errors
/// When there is no delta that fits them, and they do not fit the current schema either.
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

/// The state JSON that `properties` were stored for by a type whose schema is not at hand.
///
/// # Errors
/// When there is no delta (nothing), or none that fits.
pub fn foreign_raw_state(properties: &Struct) -> Result<Json, Option<RecoverError>> {
    let delta = properties.get(DELTA_KEY).ok_or(None)?;
    recover(properties, delta).map_err(Some)
}

/// The state JSON that `properties` stand for under the current schema.
///
/// # Errors
/// When they do not fit it.
pub fn raw_state_without_delta(properties: &Struct, shape: &ResourceShape) -> Result<Json, RawStateError> {
    let state = object_from_state(properties, &shape.object, &shape.schema.block);
    raw_state(&state.map_err(RawStateError::Properties)?, shape)
}

fn describe(failures: &[InputFailure]) -> String {
    let first = failures.iter().take(3).map(|failure| format!("`{}`: {}", failure.path, failure.reason));
    first.collect::<Vec<_>>().join("; ")
}
