//! Actions: things that a provider does once, and that leave nothing behind to be stored.

use isthmus_cty::Value;
use isthmus_proto::tfplugin6;
use tfplugin6::invoke_action::event::Type as Event;

use super::deferral::DeferralSupport;
use super::{Diagnostic, Provider, ProviderError, Rpc, dynamic};
use crate::Retention;

impl Provider {
    /// Carries an action out as core does: its configuration is validated, the provider says whether it can be done, and
    /// then it is done. `config` must be wholly known. What the provider says meanwhile goes to `progress`, as it comes.
    ///
    /// # Errors
    /// [`ProviderError::Unfinished`] when nobody knows whether it was done, [`ProviderError::Diagnostics`] of InvokeAction
    /// when it was begun and failed; after all others nothing was done.
    pub async fn carry_out_action(
        &self,
        type_name: &str,
        config: &Value,
        mut progress: impl FnMut(String),
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let schema = self.catalogue().action(type_name)?;
        let stops = self.stops();
        self.note_secrets(&schema, config, Retention::Usual);
        let encoded =
            |rpc| dynamic::encode(config, &schema.block.implied_type, self.operation(rpc), type_name);

        let rpc = Rpc::ValidateActionConfig;
        let request = tfplugin6::validate_action_config::Request {
            type_name: type_name.to_owned(),
            config: encoded(rpc)?,
        };
        let response: tfplugin6::validate_action_config::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;

        let rpc = Rpc::PlanAction;
        let request = tfplugin6::plan_action::Request {
            action_type: type_name.to_owned(),
            config: encoded(rpc)?,
            client_capabilities: self.client_capabilities(DeferralSupport::Refused),
        };
        let response: tfplugin6::plan_action::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;
        self.deferral(rpc, type_name, response.deferred, DeferralSupport::Refused)?;

        if self.stops() != stops {
            return Err(ProviderError::Stopped {
                provider: self.name().to_owned(),
                type_name: type_name.to_owned(),
            });
        }
        let rpc = Rpc::InvokeAction;
        let request = tfplugin6::invoke_action::Request {
            action_type: type_name.to_owned(),
            config: encoded(rpc)?,
            client_capabilities: self.client_capabilities(DeferralSupport::Refused),
        };
        let unfinished = |reason: String| ProviderError::Unfinished {
            provider: self.name().to_owned(),
            operation: self.operation(rpc),
            type_name: type_name.to_owned(),
            reason,
        };
        let broken = |error: ProviderError| match error {
            // It was never asked, or does not know the call.
            ProviderError::Interruption { during: false, .. }
            | ProviderError::Gone { during: false, .. }
            | ProviderError::Unsupported { .. } => error,
            error => unfinished(isthmus_common::error_chain(&error)),
        };
        let mut events =
            self.stream::<_, tfplugin6::invoke_action::Event>(rpc, request).await.map_err(broken)?;
        while let Some(event) = events.next(self.caller()).await.map_err(broken)? {
            match event.r#type {
                Some(Event::Progress(event)) => progress(event.message),
                Some(Event::Completed(event)) => {
                    return self.refuse_errors(rpc, event.diagnostics, warnings);
                }
                // A kind that a later protocol has; it is not the end.
                None => {}
            }
        }
        Err(unfinished("it ended its answer without saying so".to_owned()))
    }
}

#[cfg(test)]
mod tests;
