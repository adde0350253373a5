//! Read: refresh what the engine knows, or import what it does not.

mod imported_inputs;

use std::borrow::Cow;

use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::Object;
use isthmus_state::Status;

use super::state::{Prior, RenderOptions, properties_of};
use super::{OperationError, OperationWarnings, Target};
use crate::package::shape::{IdRule, ResourceShape, Shape};
use crate::translate::exact_numbers::with_exact_numbers;
use crate::translate::import::inputs_after_refresh;
use crate::translate::meta::META_KEY;
use crate::translate::raw_state::DELTA_KEY;
use crate::translate::sets::in_order_of;

/// A resource that was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its id.
    pub id: String,
    /// Its properties.
    pub properties: Struct,
    /// The inputs that would make it.
    pub inputs: Struct,
}

/// The object as the provider reads it now. `None`: it is gone.
pub(crate) async fn read(
    target: &Target<'_>,
    prior: &Prior,
    notes: &mut OperationWarnings,
) -> Result<Option<Object>, OperationError> {
    let sent = target.allow_in_state(&prior.object);
    let sent = sent.as_ref().unwrap_or(&prior.object);
    let read = target.resource()?.read(sent, &mut notes.warnings).await;
    let read = read.map_err(|error| target.failed(error))?;
    Ok(read.map(|object| target.without_timeout(object, sent, &prior.object)))
}

/// Reads the resource again. `None`: it is gone.
///
/// `properties` may be a program's own description of a resource that it looks up, as in `.get` with a state.
pub(crate) async fn refresh(
    target: &Target<'_>,
    id: &str,
    inputs: &Struct,
    properties: &Struct,
    notes: &mut OperationWarnings,
) -> Result<Option<Found>, OperationError> {
    let prior = target.stored(&with_id(properties, id, &target.shape), notes).await?;
    let Some(object) = read(target, &prior, notes).await? else { return Ok(None) };
    let secrets = target.secrets_of(inputs);
    let identity = target.identity_of(&object, notes).await;
    let id = target.id_after_refresh(&object, id, identity.as_ref(), &secrets, notes);
    let look = RenderOptions { secrets: &secrets, like: properties };
    let value = in_order_of(&object.value, &target.shape.object, properties);
    let properties = properties_of(target, &object, identity, look, prior.status)?;
    let exact = with_exact_numbers(properties.clone(), &value, &target.shape.object);
    let inputs = inputs_after_refresh(inputs, &exact, &target.shape);
    target.overtake_failed_delete(&id, &properties, notes).await;
    Ok(Some(Found { id, properties, inputs }))
}

/// What a program describes does not repeat the id that it gives beside it; what was stored has one if it ever will.
fn with_id<'a>(properties: &'a Struct, id: &str, shape: &ResourceShape) -> Cow<'a, Struct> {
    let is_stored = properties.contains_key(META_KEY) || properties.contains_key(DELTA_KEY);
    match shape.object.terraform("id") {
        Some(field)
            if !is_stored
                && !id.is_empty()
                && matches!(field.shape, Shape::String)
                && matches!(shape.id, IdRule::Computed | IdRule::Property(_))
                && !properties.contains_key(&field.pulumi) =>
        {
            let mut properties = properties.clone();
            properties.insert(field.pulumi.clone(), Property::from(id));
            Cow::Owned(properties)
        }
        _ => Cow::Borrowed(properties),
    }
}

/// Takes over the resource that the provider knows by `id`, which may be an identity in JSON. `None`: there is none.
pub(crate) async fn import(
    target: &Target<'_>,
    id: &str,
    notes: &mut OperationWarnings,
) -> Result<Option<Found>, OperationError> {
    let read = target.import_object(id, notes).await.map_err(|error| target.failed(error))?;
    let Some(object) = read else { return Ok(None) };
    let identity = target.identity_of(&object, notes).await;
    let id = target.new_id(&object, identity.as_ref(), Some(id), &[], notes);
    let look = RenderOptions { secrets: &[], like: &Struct::default() };
    let properties = properties_of(target, &object, identity, look, Status::Ready)?;
    let exact = with_exact_numbers(properties.clone(), &object.value, &target.shape.object);
    let inputs = target.inputs_of_imported(&object, &exact).await;
    target.overtake_failed_delete(&id, &properties, notes).await;
    Ok(Some(Found { id, properties, inputs }))
}
