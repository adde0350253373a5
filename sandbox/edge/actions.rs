//! RPCs of actions.

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::message;
use super::provider::Edge;
use super::values::{Answered, decode, diagnostic_messages};
use crate::broadcast::{self, End, Fault};
use crate::calls::CallRecord;
use crate::diagnostics::Diagnostic;
use crate::object::Object;

use message::invoke_action::Event;
use message::invoke_action::event::{Completed, Progress, Type};

/// Limit of events that the client has not yet received.
const UNHEARD: usize = 16;

impl Edge {
    pub(crate) fn validate_action(
        &self,
        request: &message::validate_action_config::Request,
    ) -> Answered<message::validate_action_config::Response> {
        let config =
            self.action_config("ValidateActionConfig", &request.type_name, request.config.as_ref())?;
        let diagnostics = config.map_or_else(Into::into, |config| broadcast::validate(&config));
        Ok(message::validate_action_config::Response { diagnostics: diagnostic_messages(diagnostics) })
    }

    pub(crate) fn plan_action(
        &self,
        request: &message::plan_action::Request,
    ) -> Answered<message::plan_action::Response> {
        let config = self.action_config("PlanAction", &request.action_type, request.config.as_ref())?;
        let deferred = config.as_ref().is_ok_and(|config| Fault::of(config) == Some(Fault::Deferred));
        let reason = message::deferred::Reason::ProviderConfigUnknown.into();
        let diagnostics = config.map_or_else(Into::into, |config| broadcast::plan(&config));
        Ok(message::plan_action::Response {
            diagnostics: diagnostic_messages(diagnostics),
            deferred: deferred.then_some(message::Deferred { reason }),
        })
    }

    /// Sends events as they occur.
    pub(crate) fn invoke_action(
        &self,
        request: &message::invoke_action::Request,
    ) -> Answered<ReceiverStream<Result<Event, Status>>> {
        let config = self.action_config("InvokeAction", &request.action_type, request.config.as_ref())?;
        let (told, events) = mpsc::channel(UNHEARD);
        let edge = self.clone();
        let type_name = request.action_type.clone();
        tokio::spawn(async move {
            let tell = told.clone();
            let done = edge.blocking(move |provider, cancelled, runtime| {
                // The client may have disconnected.
                let send = |event| drop(tell.blocking_send(Ok(Event { r#type: Some(event) })));
                let say = |message| send(Type::Progress(Progress { message }));
                let call = provider.call(&type_name, &provider.fixtures().broadcast.kind, cancelled, runtime);
                let end = match config {
                    Ok(config) => broadcast::carry_out(&call, &config, say),
                    Err(diagnostic) => End::Completed(diagnostic.into()),
                };
                match end {
                    End::Completed(diagnostics) => {
                        let diagnostics = diagnostic_messages(diagnostics);
                        send(Type::Completed(Completed { diagnostics }));
                        Ok(())
                    }
                    End::Silent => Ok(()),
                    End::Broken(status) => Err(status),
                }
            });
            if let Err(status) = done.await {
                drop(told.send(Err(status)).await);
            }
        });
        Ok(ReceiverStream::new(events))
    }

    /// The configuration in a request; the inner error: the action does not exist.
    fn action_config(
        &self,
        call: &str,
        type_name: &str,
        config: Option<&message::DynamicValue>,
    ) -> Answered<Result<Object, Diagnostic>> {
        let config = decode(config, &self.provider.fixtures().broadcast.kind)?;
        self.provider.record(&CallRecord {
            type_name: Some(type_name.to_owned()),
            config_known: Some(config.is_wholly_known()),
            ..CallRecord::of(call)
        });
        if type_name != broadcast::TYPE_NAME {
            let detail = format!("The sandbox has no action {type_name:?}.");
            return Ok(Err(Diagnostic::error("Action Type Not Found", detail)));
        }
        Ok(Ok(Object::from_value(&config).unwrap_or_default()))
    }
}
