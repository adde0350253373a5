//! Read: refresh what the engine knows, or import what it does not.

use super::state::{Condition, properties_of};
use super::{Notes, OperationError, Target};
use crate::translate::exact_numbers::with_exact_numbers;
use crate::translate::import::{inputs_after_import, inputs_after_refresh};
use isthmus_proto::property::Struct;

/// A resource that was found.
#[derive(Debug)]
pub struct Found {
    /// Its id.
    pub id: String,
    /// Its properties.
    pub properties: Struct,
    /// The inputs that would make it.
    pub inputs: Struct,
}

/// Reads the resource again. `None`: it is gone.
pub async fn refresh(
    target: &Target<'_>,
    id: &str,
    inputs: &Struct,
    properties: &Struct,
    notes: &mut Notes,
) -> Result<Option<Found>, OperationError> {
    let prior = target.stored(properties, notes).await?;
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    let read =
        resource.read(&prior.object, &mut notes.warnings).await.map_err(|error| target.failed(error))?;
    let Some(object) = read else { return Ok(None) };
    let secrets = target.secrets_of(inputs);
    let identity = target.identity_of(&object, notes).await;
    let id = target.id_after_refresh(&object, id, identity.as_ref(), &secrets, notes);
    let properties = properties_of(target, &object, identity, &secrets, prior.condition)?;
    let exact = with_exact_numbers(properties.clone(), &object.value, &target.shape.object);
    let inputs = inputs_after_refresh(inputs, &exact, &target.shape);
    Ok(Some(Found { id, properties, inputs }))
}

/// Takes over the resource that the provider knows by `id`, which may be an identity in JSON. `None`: there is none.
pub async fn import(
    target: &Target<'_>,
    id: &str,
    notes: &mut Notes,
) -> Result<Option<Found>, OperationError> {
    let read = target.import_object(id, notes).await.map_err(|error| target.failed(error))?;
    let Some(object) = read else { return Ok(None) };
    let identity = target.identity_of(&object, notes).await;
    let id = target.new_id(&object, identity.as_ref(), Some(id), &[], notes);
    let properties = properties_of(target, &object, identity, &[], Condition::Whole)?;
    let exact = with_exact_numbers(properties.clone(), &object.value, &target.shape.object);
    let inputs = inputs_after_import(&exact, &target.shape);
    Ok(Some(Found { id, properties, inputs }))
}
