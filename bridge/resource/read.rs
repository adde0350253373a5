//! Read: refresh what the engine knows, or import what it does not.

use isthmus_proto::property::Struct;
use isthmus_shim::provider::Object;

use super::state::{Condition, properties_of};
use super::{Notes, OperationError, Target};
use crate::translate::import::{inputs_after_import, inputs_after_refresh};
use crate::translate::outputs::id_from_state;

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
    inputs: &Struct,
    properties: &Struct,
    notes: &mut Notes,
) -> Result<Option<Found>, OperationError> {
    let prior = target.prior(properties, notes).await?;
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    let read =
        resource.read(&prior.object, &mut notes.warnings).await.map_err(|error| target.failed(error))?;
    let Some(object) = read else { return Ok(None) };
    let secrets = target.secrets_of(inputs);
    let properties = properties_of(target, &object, &secrets, prior.condition)?;
    let inputs = inputs_after_refresh(inputs, &properties, &target.shape);
    Ok(Some(found(target, &object, properties, inputs)?))
}

/// Takes over the resource that the provider knows by `id`. `None`: there is none.
pub async fn import(
    target: &Target<'_>,
    id: &str,
    notes: &mut Notes,
) -> Result<Option<Found>, OperationError> {
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    let read = resource.import(id, &mut notes.warnings).await.map_err(|error| target.failed(error))?;
    let Some(object) = read else { return Ok(None) };
    let properties = properties_of(target, &object, &[], Condition::Whole)?;
    let inputs = inputs_after_import(&properties, &target.shape);
    Ok(Some(found(target, &object, properties, inputs)?))
}

fn found(
    target: &Target<'_>,
    object: &Object,
    properties: Struct,
    inputs: Struct,
) -> Result<Found, OperationError> {
    Ok(Found { id: id_from_state(&object.value, &target.shape)?, properties, inputs })
}
