//! Ephemeral resources: opened by an invoke, and open until the run is over.
//!
//! Nothing that comes of one may be stored in the clear, and an engine stores what it is not told to encrypt. So all of it is
//! secret, whatever the schema says of its parts.

use std::sync::Arc;

use isthmus_proto::property::Struct;

use super::{Invocation, refusal, remember};
use crate::daemon::{MOST_LEASES, NoRoom};
use crate::package::shape::ResourceShape;
use crate::resource::{OperationError, OperationWarnings, Target, Timeouts};
use crate::translate::inputs::Unknowns;
use crate::translate::outputs::{OutputOptions, outputs_from_state};
use crate::translate::property::unknown;

pub(super) async fn open(
    invocation: Invocation<'_>,
    shape: Arc<ResourceShape>,
    notes: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let Invocation { session, instance, provider, token, arguments, .. } = invocation;
    let keep_secrets = session.keeps_secrets();
    let target = Target {
        provider,
        shape,
        package: instance.package.identity(),
        keep_secrets,
        timeouts: Timeouts::default(),
        memory: None,
    };
    let type_name = &target.shape.terraform_type;
    let config = target.config(arguments, Unknowns::Keep)?;
    instance.require_configured().await?;

    let mut warnings = Vec::new();
    let valid = provider.validate_ephemeral_resource(type_name, &config.value, &mut warnings).await;
    remember(&mut warnings, &target, notes);
    valid.map_err(|error| refusal(&target, arguments, error))?;
    if !config.value.is_wholly_known() {
        // Only a preview has such arguments. What is not open yet says nothing of itself.
        let fields = target.shape.object.fields.iter();
        return Ok(fields.map(|field| (field.pulumi.clone(), unknown())).collect());
    }

    let full = |NoRoom| OperationError::TooManyLeases { token: token.to_owned(), most: MOST_LEASES };
    let room = instance.leases.room().map_err(full)?;
    let opened = provider.open_ephemeral_resource(type_name, &config.value, &mut warnings).await;
    remember(&mut warnings, &target, notes);
    let opened = opened.map_err(|error| refusal(&target, arguments, error))?;
    room.keep(instance, opened.lease, token, session.log());
    let options = OutputOptions { keep_secrets, secrets: &config.secrets, unknowns: false };
    let outputs = outputs_from_state(opened.result.expose(), &target.shape, options)?;
    Ok(if keep_secrets { super::all_secret(outputs) } else { outputs })
}
