//! Actions: carried out by an invoke, and never in a preview.

use std::sync::Arc;

use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::plugin::ProtocolVersion;
use isthmus_provider::{ProviderError, Rpc};

use super::function::RESULT;
use super::{Invocation, refusal, remember};
use crate::engine::Severity;
use crate::package::shape::ResourceShape;
use crate::resource::{OperationError, OperationWarnings, Target, Timeouts};
use crate::translate::inputs::Unknowns;

/// What is shown of one piece of progress. A provider may say as much as a message of the protocol holds.
const LONGEST_PROGRESS: usize = 4096;

pub(super) async fn carry_out(
    invocation: Invocation<'_>,
    shape: Arc<ResourceShape>,
    notes: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let Invocation { session, instance, provider, token, arguments, preview } = invocation;
    let engine_tells = session.tells_previews();
    if preview || !engine_tells {
        return Err(OperationError::ActionInPreview { action: token.to_owned(), engine_tells });
    }
    let target = Target {
        provider,
        shape,
        package: instance.package.identity(),
        keep_secrets: session.keeps_secrets(),
        timeouts: Timeouts::default(),
        memory: None,
    };
    let config = target.config(arguments, Unknowns::Reject)?;
    instance.require_configured().await?;

    let mut was_told = false;
    let tell = |text: String| {
        was_told = true;
        session.say(Severity::Info, format!("{token}: {}", shortened(&text)), "");
    };
    let mut warnings = Vec::new();
    let type_name = &target.shape.terraform_type;
    let done = provider.carry_out_action(type_name, &config.value, tell, &mut warnings).await;
    remember(&mut warnings, &target, notes);
    session.settle(was_told).await;
    done.map_err(|error| match &error {
        // It was begun, so no argument is to be blamed alone.
        ProviderError::Diagnostics { operation, .. }
            if *operation == Rpc::InvokeAction.name(ProtocolVersion::V6) =>
        {
            target.failed(error)
        }
        _ => refusal(&target, arguments, error),
    })?;
    Ok(nothing())
}

/// An object without properties, as one value: that is what Pulumi reads in the schema, where such an object cannot be told
/// from a map. SDKs take the first value of an answer for it, and some fail when there is none.
fn nothing() -> Struct {
    Struct::from([(RESULT, Property::Struct(Struct::new()))])
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_PROGRESS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_as_far_as_anybody_reads() {
        assert_eq!(shortened("50%"), "50%");
        let long = "ä".repeat(LONGEST_PROGRESS);
        assert_eq!(shortened(&long), long);
        assert_eq!(shortened(&format!("{long}x")), format!("{long}…"));
    }
}
