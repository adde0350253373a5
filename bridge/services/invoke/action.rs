//! Actions: run by an invoke, and only planned in a preview.

use std::sync::Arc;

use isthmus_common::shortened;
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::plugin::ProtocolVersion;
use isthmus_provider::{ProviderError, Rpc};

use super::function::RESULT;
use super::invocation::{Invocation, refusal, remember};
use isthmus_operations::resource::{OperationError, OperationWarnings, Target};
use isthmus_package::shape::ResourceShape;
use isthmus_session::engine::Severity;
use isthmus_translate::inputs::Unknowns;

/// Maximum length of a progress message, which the protocol does not limit.
const LONGEST_PROGRESS: usize = 4096;

pub(super) async fn carry_out(
    invocation: Invocation<'_>,
    shape: Arc<ResourceShape>,
    warnings: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let Invocation { session, instance, provider, token, arguments, preview } = invocation;
    if !session.marks_previews() {
        return Err(OperationError::UnmarkedPreviews { action: token.to_owned() });
    }
    let target = Target {
        keep_secrets: session.accepts_secrets(),
        numbers: instance.settings().exact_numbers,
        ..Target::new(provider, shape, instance.package.identity())
    };
    target.require_complete(arguments)?;
    let unknowns = if preview { Unknowns::Keep } else { Unknowns::Reject };
    let config = target.config(arguments, unknowns)?;
    instance.require_configured().await?;
    let type_name = &target.shape.terraform_type;
    let mut diagnostics = Vec::new();
    if preview {
        let planned = provider.plan_action(type_name, &config.value, &mut diagnostics).await;
        remember(&mut diagnostics, &target, warnings);
        let deferral = planned.map_err(|error| refusal(&target, arguments, error))?;
        if let Some(deferral) = deferral {
            let subject = format!("the action {type_name}");
            warnings.diagnostics.push(deferral.warning(&subject, "Until then, it is not carried out."));
        }
        return Ok(nothing());
    }

    let mut has_progress = false;
    let report = |text: String| {
        has_progress = true;
        session.send_log(Severity::Info, format!("{token}: {}", shortened(&text, LONGEST_PROGRESS)), "");
    };
    let done = provider.carry_out_action(type_name, &config.value, report, &mut diagnostics).await;
    remember(&mut diagnostics, &target, warnings);
    session.flush_logs(has_progress).await;
    done.map_err(|error| match &error {
        // The action was started, so that the error is not about its arguments alone.
        ProviderError::Diagnostics { operation, .. }
            if *operation == Rpc::InvokeAction.name(ProtocolVersion::V6) =>
        {
            target.failed(error)
        }
        _ => refusal(&target, arguments, error),
    })?;
    Ok(nothing())
}

/// An object without properties, as one value: Pulumi cannot distinguish such an object from a map
/// in the schema. SDKs use the first member of a response as its value, and some fail without one.
fn nothing() -> Struct {
    Struct::from([(RESULT, Property::Struct(Struct::new()))])
}
