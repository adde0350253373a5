//! Ephemeral resources: opened by an invoke, and open until the run ends.
//!
//! Their results must not be stored in the clear, and an engine stores whatever is not secret. So
//! all of it is, regardless of the schema, unless the user has named the ephemeral resource.

use std::sync::Arc;

use isthmus_proto::property::Struct;

use super::invocation::{Invocation, all_secret, refusal, remember};
use isthmus_operations::resource::{OperationError, OperationWarnings, Target};
use isthmus_package::shape::ResourceShape;
use isthmus_session::daemon::{MOST_LEASES, NoRoom};
use isthmus_translate::inputs::Unknowns;
use isthmus_translate::property::unknown;

pub(super) async fn open(
    invocation: Invocation<'_>,
    shape: Arc<ResourceShape>,
    keep_secrets: bool,
    warnings: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let Invocation { session, instance, provider, token, arguments, .. } = invocation;
    let target = Target {
        keep_secrets,
        numbers: instance.settings().exact_numbers,
        ..Target::new(provider, shape, instance.package.identity())
    };
    let type_name = &target.shape.terraform_type;
    target.require_complete(arguments)?;
    let config = target.config(arguments, Unknowns::Keep)?;
    instance.require_configured().await?;

    let mut diagnostics = Vec::new();
    let valid = provider.validate_ephemeral_resource(type_name, &config.value, &mut diagnostics).await;
    remember(&mut diagnostics, &target, warnings);
    valid.map_err(|error| refusal(&target, arguments, error))?;
    if !config.value.is_wholly_known() {
        // Only a preview has unknown arguments. Without opening, nothing is known of the result.
        let fields = target.shape.object.fields.iter();
        return Ok(fields.map(|field| (field.pulumi.clone(), unknown())).collect());
    }

    let full = |NoRoom| OperationError::TooManyLeases { token: token.to_owned(), most: MOST_LEASES };
    let room = instance.leases.room().map_err(full)?;
    let opened = provider.open_ephemeral_resource(type_name, &config.value, &mut diagnostics).await;
    remember(&mut diagnostics, &target, warnings);
    let opened = opened.map_err(|error| refusal(&target, arguments, error))?;
    room.keep(instance.provider(), instance.calls.clone(), opened.lease, token, session.log());
    let outputs = target.outputs(opened.result.expose(), &config.secrets, false)?;
    warnings.append(target.warnings.take());
    Ok(if keep_secrets { all_secret(outputs) } else { outputs })
}
