//! Invocation of actions, which have no state.

use isthmus_cty::Value;
use isthmus_proto::tfplugin6;
use tfplugin6::invoke_action::event::Type as Event;

use super::deferral::DeferralSupport;
use super::{Deferral, Diagnostic, Provider, ProviderError, Rpc, dynamic};
use isthmus_known_secrets::Retention;

impl Provider {
    /// Plans an action, for a preview: validates its configuration and plans it, which has no effect.
    /// `config` may have unknown values. Returns the reason if the provider defers it.
    pub async fn plan_action(
        &self,
        type_name: &str,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Deferral>, ProviderError> {
        self.prepare_action(type_name, config, DeferralSupport::Allowed, warnings).await
    }

    /// Invokes an action as Terraform does: validates its configuration, plans it, and invokes it.
    /// `config` must be wholly known. `progress` receives progress events.
    ///
    /// # Errors
    /// [`ProviderError::Unfinished`] when the outcome is unknown, [`ProviderError::Diagnostics`] of
    /// InvokeAction when it was invoked and failed; after all others nothing was done.
    pub async fn carry_out_action(
        &self,
        type_name: &str,
        config: &Value,
        mut progress: impl FnMut(String),
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let stops = self.stops();
        self.prepare_action(type_name, config, DeferralSupport::Refused, warnings).await?;
        if self.stops() != stops {
            return Err(ProviderError::Stopped {
                provider: self.name().to_owned(),
                type_name: type_name.to_owned(),
            });
        }
        let rpc = Rpc::InvokeAction;
        let request = tfplugin6::invoke_action::Request {
            action_type: type_name.to_owned(),
            config: self.encoded_action(rpc, type_name, config)?,
            client_capabilities: self.client_capabilities(DeferralSupport::Refused),
        };
        let unfinished = |reason: String| ProviderError::Unfinished {
            provider: self.name().to_owned(),
            operation: self.operation(rpc),
            type_name: type_name.to_owned(),
            reason,
        };
        let broken = |error: ProviderError| match error {
            // The call was not made, or is not implemented.
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
                // An event of a later protocol, not the completion.
                None => {}
            }
        }
        Err(unfinished("it ended its answer without saying so".to_owned()))
    }

    async fn prepare_action(
        &self,
        type_name: &str,
        config: &Value,
        support: DeferralSupport,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Deferral>, ProviderError> {
        self.note_secrets(&*self.catalogue().action(type_name)?, config, Retention::Usual);

        let rpc = Rpc::ValidateActionConfig;
        let request = tfplugin6::validate_action_config::Request {
            type_name: type_name.to_owned(),
            config: self.encoded_action(rpc, type_name, config)?,
        };
        let response: tfplugin6::validate_action_config::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;

        let rpc = Rpc::PlanAction;
        let request = tfplugin6::plan_action::Request {
            action_type: type_name.to_owned(),
            config: self.encoded_action(rpc, type_name, config)?,
            client_capabilities: self.client_capabilities(support),
        };
        let response: tfplugin6::plan_action::Response = self.call(rpc, request).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;
        self.deferral(rpc, type_name, response.deferred, support)
    }

    fn encoded_action(
        &self,
        rpc: Rpc,
        type_name: &str,
        config: &Value,
    ) -> Result<Option<tfplugin6::DynamicValue>, ProviderError> {
        let schema = self.catalogue().action(type_name)?;
        dynamic::encode(config, &schema.block.implied_type, self.operation(rpc), type_name)
    }
}

#[cfg(test)]
mod tests;
