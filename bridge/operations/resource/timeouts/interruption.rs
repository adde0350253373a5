//! Error texts of operations that a time limit or the user has interrupted.
//!
//! Each has the cause, whether the outcome is unknown, and the remedy. A provider's own diagnostics
//! result from the stop request, and do not name its cause.

use isthmus_provider::{Interruption, Limit, ProviderError};

use super::duration::text as go_text;
use super::{Operation, Target};
use crate::resource::OperationError;

/// What a user can do about an unknown outcome.
#[derive(Clone, Copy, Debug)]
pub enum Remedy {
    /// Compare, with today's command line.
    Refresh,
    /// Retry. The legacy engine neither refreshes nor imports; the state store has the prior state.
    Repeat,
}

impl Target<'_> {
    /// Rewords an error that is caused by a time limit.
    pub fn explained(&self, error: OperationError, limit: &Limit) -> OperationError {
        self.explained_with(Remedy::Refresh, error, limit)
    }

    /// The same with another remedy.
    pub fn explained_with(&self, remedy: Remedy, error: OperationError, limit: &Limit) -> OperationError {
        match error {
            OperationError::Provider { error, outcome_unknown, text } => match &*error {
                ProviderError::Interruption { provider, operation, cut, during } => {
                    let ended = ended(provider, operation, *cut, *during, limit.asked_to_stop());
                    let text = format!(
                        "{}. {ended}. {}",
                        self.what_happened(*cut),
                        self.what_to_do(*cut, outcome_unknown, remedy)
                    );
                    OperationError::Provider { text, error, outcome_unknown }
                }
                _ => match self.stopped_for_time(limit) {
                    Some((reason, cut)) => {
                        let text = format!("{reason}, and the provider got a stop request: {text}");
                        // Its diagnostics result from the stop.
                        let error = match *error {
                            ProviderError::Diagnostics { operation, .. } => {
                                let provider = self.provider.name().to_owned();
                                Box::new(ProviderError::Interruption {
                                    provider,
                                    operation,
                                    during: true,
                                    cut,
                                })
                            }
                            _ => error,
                        };
                        OperationError::Provider { text, error, outcome_unknown }
                    }
                    None => OperationError::Provider { text, error, outcome_unknown },
                },
            },
            OperationError::Partial(mut partial) => {
                if let Some((reason, _)) = self.stopped_for_time(limit) {
                    partial.reasons.insert(0, format!("{reason}, and the provider got a stop request"));
                }
                OperationError::Partial(partial)
            }
            other => other,
        }
    }

    /// Whether the provider was stopped because of the time limit.
    fn stopped_for_time(&self, limit: &Limit) -> Option<(String, Interruption)> {
        let cut = Interruption::TimedOut(self.timeouts.allowed.filter(|_| limit.asked_to_stop())?);
        Some((self.what_happened(cut), cut))
    }

    fn what_happened(&self, cut: Interruption) -> String {
        let activity = match self.timeouts.operation {
            Some(Operation::Create) => "creating this resource",
            Some(Operation::Read) => "reading this resource",
            Some(Operation::Update) => "updating this resource",
            Some(Operation::Delete) => "deleting this resource",
            None => "this call",
        };
        match (cut, self.timeouts.operation) {
            (Interruption::TimedOut(time), Some(operation)) => {
                let (key, time) = (operation.key(), go_text(time));
                format!("{activity} took longer than the {time} that `customTimeouts.{key}` allows")
            }
            (Interruption::TimedOut(time), None) => format!("{activity} took longer than {}", go_text(time)),
            (Interruption::Cancelled(_), _) => format!("{activity} was cancelled"),
        }
    }

    fn what_to_do(&self, cut: Interruption, outcome_unknown: bool, remedy: Remedy) -> String {
        let again = match cut {
            Interruption::TimedOut(_) => "raise the timeout, and run this again",
            Interruption::Cancelled(_) => "run this again",
        };
        if !outcome_unknown {
            return format!("Nothing was changed by it: {again}");
        }
        let type_name = &self.shape.terraform_type;
        match (self.timeouts.operation, remedy) {
            (Some(Operation::Create), Remedy::Repeat) => format!(
                "Whether there is a new {type_name} now is unknown: look for it where the provider keeps it, and delete it \
                 there, because nothing else knows of it; then {again}"
            ),
            (Some(Operation::Delete), Remedy::Repeat) => format!(
                "Whether the {type_name} is still there is unknown: {again}; if it is gone, that counts as deleted"
            ),
            (Some(Operation::Update | Operation::Read) | None, Remedy::Repeat) => {
                format!(
                    "Whether the {type_name} was changed is unknown: {again}, and the change is made again"
                )
            }
            (Some(Operation::Create), Remedy::Refresh) => format!(
                "Whether there is a new {type_name} now is unknown: look for it where the provider keeps it, and import it \
                 with `pulumi import` or delete it there; then {again}"
            ),
            (Some(Operation::Delete), Remedy::Refresh) => {
                format!("Whether the {type_name} is still there is unknown: run `pulumi refresh`, {again}")
            }
            (Some(Operation::Update | Operation::Read) | None, Remedy::Refresh) => {
                format!("Whether the {type_name} was changed is unknown: run `pulumi refresh`, {again}")
            }
        }
    }
}

fn ended(provider: &str, operation: &str, cut: Interruption, during: bool, asked: bool) -> String {
    match (during, cut) {
        (false, _) => format!("The provider {provider} was no longer called for {operation}"),
        (true, Interruption::TimedOut(_)) if asked => {
            format!("The provider {provider} did not obey a stop request, so its {operation} was interrupted")
        }
        (true, Interruption::TimedOut(_)) => format!(
            "The provider {provider} was busy with other resources too, which a stop request would have ended; so only its \
             {operation} was interrupted"
        ),
        (true, Interruption::Cancelled(stop_grace_period)) => {
            let stop_grace_period = go_text(stop_grace_period);
            format!(
                "The provider {provider} did not stop within {stop_grace_period} of a stop request, so its {operation} was interrupted"
            )
        }
    }
}
