//! Errors of provider operations.

use isthmus_common::output_last;

use super::{Deferral, Diagnostic, Interruption};
use crate::plugin::Exit;
use crate::rules::Violation;
use crate::schema::CatalogueError;

/// A failed operation. The variant identifies the party at fault.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The provider returned error diagnostics.
    #[error("{}", list(diagnostics))]
    Diagnostics {
        /// The RPC method.
        operation: &'static str,
        /// At least one error.
        diagnostics: Vec<Diagnostic>,
    },
    /// The provider process exited during the call, or before it.
    #[error("the provider {provider} {}", gone(*during, exit, operation))]
    Gone {
        /// The provider's name.
        provider: String,
        /// The RPC method.
        operation: &'static str,
        /// Whether the call was in progress, so that its effects are unknown.
        during: bool,
        /// How the process ended.
        exit: Exit,
    },
    /// The call failed, although the process is running.
    #[error("the call {operation} of the provider {provider} failed: {} ({:?})", described(status), status.code())]
    Call {
        /// The provider's name.
        provider: String,
        /// The RPC method.
        operation: &'static str,
        /// Whether it may have reached the provider's code, so that its effects are unknown. False if
        /// the transport proves the contrary.
        during: bool,
        /// gRPC's status.
        status: tonic::Status,
    },
    /// The provider returned an error text.
    #[error("the provider {provider} answered {operation} with an error: {reason}")]
    Refused {
        /// The provider's name.
        provider: String,
        /// The RPC method.
        operation: &'static str,
        /// The provider's text.
        reason: String,
    },
    /// The call was cancelled, or not started.
    #[error("the provider {provider} {}", cut_short(*during, cut, operation))]
    Interruption {
        /// The provider's name.
        provider: String,
        /// The RPC method.
        operation: &'static str,
        /// Whether the call was in progress, so that its effects are unknown.
        during: bool,
        /// The reason.
        cut: Interruption,
    },
    /// The provider does not implement the call.
    #[error("the provider {provider} does not support {operation}")]
    Unsupported {
        /// The provider's name.
        provider: String,
        /// The RPC method.
        operation: &'static str,
    },
    /// The provider was stopped after this was planned, so it was not applied.
    #[error("the provider {provider} was stopped before the change of {type_name}; nothing was changed")]
    Stopped {
        /// The provider's name.
        provider: String,
        /// The resource type.
        type_name: String,
    },
    /// The provider deferred the operation.
    #[error(
        "this {type_name} cannot be {what} yet, and nothing was changed: before the provider {provider} can go on, {deferral}; \
         see to that first, then try again"
    )]
    Deferred {
        /// The provider's name.
        provider: String,
        /// "created", "imported", …
        what: &'static str,
        /// The resource type.
        type_name: String,
        /// The reason.
        deferral: Deferral,
    },
    /// The provider began an action, and its outcome is unknown.
    #[error("{}", unfinished(provider, operation, type_name, reason))]
    Unfinished {
        /// The provider's name.
        provider: String,
        /// The RPC method.
        operation: &'static str,
        /// The resource type.
        type_name: String,
        /// What happened instead.
        reason: String,
    },
    /// The provider's response cannot be decoded or violates the protocol.
    #[error(
        "the provider {provider} answered {operation} of {type_name} with something invalid: {reason}; this is a fault of the provider"
    )]
    InvalidAnswer {
        /// The provider's name.
        provider: String,
        /// The RPC method.
        operation: &'static str,
        /// The resource type.
        type_name: String,
        /// Why.
        reason: String,
    },
    /// The provider's schema response cannot be decoded.
    #[error(
        "the provider {provider} answered {operation} with something invalid: {reason}; this is a fault of the provider"
    )]
    InvalidSchema {
        /// The provider's name.
        provider: String,
        /// The RPC method.
        operation: &'static str,
        /// Why.
        reason: String,
    },
    /// The provider's response violates Terraform's rules.
    #[error(
        "the provider {provider} {what} for {type_name}; this is a fault of the provider:\n{}",
        bullets(violations)
    )]
    Rules {
        /// The provider's name.
        provider: String,
        /// Kind of response, in Terraform's words ("produced an invalid plan").
        what: &'static str,
        /// The resource type.
        type_name: String,
        /// The violated rules and their paths.
        violations: Vec<Violation>,
    },
    /// A value could not be encoded.
    #[error("a value for {operation} of {type_name} does not fit the provider's schema: {reason}")]
    InvalidValue {
        /// The RPC method.
        operation: &'static str,
        /// The resource type.
        type_name: String,
        /// Why, with the path.
        reason: String,
    },
    /// An import did not return one object of the requested type.
    #[error("the {type_name} cannot be imported from the provider {provider}: {reason}")]
    Import {
        /// The provider's name.
        provider: String,
        /// The resource type.
        type_name: String,
        /// What it returned, and what to do.
        reason: String,
    },
    /// A stored object is newer than the provider, which was not called.
    #[error(
        "the stored state of this {type_name} has schema version {stored}{}, but the provider {provider} knows versions up \
         to {known}; use the version of the provider that wrote it, or a newer one. Nothing was changed",
        writer.as_ref().map(|version| format!(" (version {version} of the provider wrote it)")).unwrap_or_default()
    )]
    NewerState {
        /// The provider's name.
        provider: String,
        /// The resource type.
        type_name: String,
        /// Schema version of the stored object.
        stored: i64,
        /// Schema version of the provider.
        known: i64,
        /// Version of the provider that wrote it, if known.
        writer: Option<String>,
    },
    /// An object's type cannot be changed.
    #[error(
        "the stored state belongs to a {source_type} of {source_provider}, and the provider {provider} cannot convert it to a {target_type}: {reason}\nNothing was changed. Give the resource its former type back, or leave out the alias \
         so that a new resource takes the place of the old one"
    )]
    Move {
        /// The provider's name.
        provider: String,
        /// The object's type.
        source_type: String,
        /// The address of its provider.
        source_provider: String,
        /// The new type.
        target_type: String,
        /// The provider's message, or why its response is invalid.
        reason: String,
    },
    /// An object's identity is invalid.
    #[error("the identity of this {type_name} cannot be used: {reason}")]
    Identity {
        /// The resource type.
        type_name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The configured `provider_meta` is invalid.
    #[error("{origin} cannot be used{}: {reason}", place(path))]
    Meta {
        /// Where it is configured.
        origin: String,
        /// Path within it; may be empty.
        path: String,
        /// Why.
        reason: String,
    },
    /// The schema is missing or invalid.
    #[error(transparent)]
    Schema(#[from] CatalogueError),
}

impl ProviderError {
    /// The provider's diagnostics, if any.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Diagnostics { diagnostics, .. } => diagnostics,
            _ => &[],
        }
    }
}

/// The message of a status, and of what it was caused by: gRPC's own says "transport error" for
/// whatever breaks a connection.
fn described(status: &tonic::Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text.push_str(": ");
            text.push_str(&reason);
        }
        cause = error.source();
    }
    text
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{path}`") }
}

fn list(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn bullets(violations: &[Violation]) -> String {
    let lines: Vec<String> = violations.iter().map(|violation| format!("  - {violation}")).collect();
    lines.join("\n")
}

fn cut_short(during: bool, cut: &Interruption, operation: &str) -> String {
    match (during, cut) {
        (true, Interruption::TimedOut(time)) => format!("did not answer {operation} within {time:?}"),
        (true, Interruption::Cancelled(stop_grace_period)) => {
            format!("did not answer {operation} within {stop_grace_period:?} of a stop request")
        }
        (false, Interruption::TimedOut(time)) => {
            format!("was not called for {operation}: the limit of {time:?} was over")
        }
        (false, Interruption::Cancelled(_)) => {
            format!("was not called for {operation}: the call was cancelled")
        }
    }
}

fn gone(during: bool, exit: &Exit, operation: &str) -> String {
    let text = match (during, exit.is_panic()) {
        (true, false) => format!("ended during {operation}: {exit}"),
        (true, true) => format!(
            "panicked during {operation}: {exit}; this is a bug in the provider: please report it to its maintainers"
        ),
        (false, _) => format!("is gone, so {operation} cannot be called: {exit}"),
    };
    output_last(&text).into_owned()
}

fn unfinished(provider: &str, operation: &str, type_name: &str, reason: &str) -> String {
    let text = format!(
        "the provider {provider} interrupted {operation} of {type_name}: {reason}; it is unknown whether the action was \
         carried out, so check before you invoke it again"
    );
    output_last(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::Ending;

    fn gone(panic: Option<&str>, during: bool) -> ProviderError {
        let exit = Exit {
            ending: Ending::Code(2),
            last_lines: vec!["giving up".to_owned()],
            panic: panic.map(str::to_owned),
        };
        ProviderError::Gone { provider: "random".to_owned(), operation: "InvokeAction", during, exit }
    }

    #[test]
    fn the_sentence_about_an_exit_ends_before_its_output() {
        for (error, text) in [
            (
                gone(None, true),
                "the provider random ended during InvokeAction: exit status 2\n\
                 last output of the provider:\n    giving up\n",
            ),
            (
                gone(None, false),
                "the provider random is gone, so InvokeAction cannot be called: exit status 2\n\
                 last output of the provider:\n    giving up\n",
            ),
            (
                gone(Some("panic: boom\n"), true),
                "the provider random panicked during InvokeAction: exit status 2; this is a bug in the provider: please \
                 report it to its maintainers\npanic of the provider:\n    panic: boom\n",
            ),
        ] {
            assert_eq!(error.to_string(), text);
        }
        let killed = Exit {
            ending: Ending::Signal(9),
            last_lines: Vec::new(),
            panic: Some("panic: not really\n".into()),
        };
        assert!(super::gone(true, &killed, "Read").starts_with("ended during Read: signal 9 (SIGKILL)\n"));
        let error = ProviderError::Unfinished {
            provider: "random".to_owned(),
            operation: "InvokeAction",
            type_name: "random_call".to_owned(),
            reason: isthmus_common::error_chain(&gone(None, true)),
        };
        assert_eq!(
            error.to_string(),
            "the provider random interrupted InvokeAction of random_call: the provider random ended during InvokeAction: exit \
             status 2; it is unknown whether the action was carried out, so check before you invoke it again\n\
             last output of the provider:\n    giving up\n"
        );
    }
}
