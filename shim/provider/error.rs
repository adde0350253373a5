//! Why a provider could not do what was asked.

use super::{Deferral, Diagnostic, Interruption};
use crate::plugin::Exit;
use crate::rules::Violation;
use crate::schema::CatalogueError;

/// A failed operation. Each variant says whose doing it was.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The provider refused, and said why.
    #[error("{}", list(diagnostics))]
    Diagnostics {
        /// The method.
        operation: &'static str,
        /// At least one error.
        diagnostics: Vec<Diagnostic>,
    },
    /// The provider's process ended during the call, or had ended before it.
    #[error("the provider {provider} {}", gone(*during, exit, operation))]
    Gone {
        /// Its name.
        provider: String,
        /// The method.
        operation: &'static str,
        /// Whether the call was under way, so that its effects are unknown.
        during: bool,
        /// How the process ended.
        exit: Exit,
    },
    /// The call itself failed, though the process lives.
    #[error("the call {operation} of the provider {provider} failed: {} ({:?})", status.message(), status.code())]
    Call {
        /// Its name.
        provider: String,
        /// The method.
        operation: &'static str,
        /// Whether it may have reached the provider's code, so that its effects are unknown. False where the transport proves
        /// the contrary.
        during: bool,
        /// What gRPC says.
        status: tonic::Status,
    },
    /// The provider says that it cannot do what was asked.
    #[error("the provider {provider} answered {operation} with an error: {reason}")]
    Refused {
        /// Its name.
        provider: String,
        /// The method.
        operation: &'static str,
        /// Its own words.
        reason: String,
    },
    /// The call was broken off, or not begun any more.
    #[error("the provider {provider} {}", cut_short(*during, cut, operation))]
    Interruption {
        /// Its name.
        provider: String,
        /// The method.
        operation: &'static str,
        /// Whether the call was under way, so that its effects are unknown.
        during: bool,
        /// Why.
        cut: Interruption,
    },
    /// The provider is too old for what was asked.
    #[error("the provider {provider} does not support {operation}")]
    Unsupported {
        /// Its name.
        provider: String,
        /// The method.
        operation: &'static str,
    },
    /// The provider was asked to stop after this was planned, so it was not carried out.
    #[error(
        "the provider {provider} was asked to stop before it was asked to change {type_name}; nothing was changed"
    )]
    Stopped {
        /// Its name.
        provider: String,
        /// The resource type.
        type_name: String,
    },
    /// The provider cannot do it yet.
    #[error(
        "this {type_name} cannot be {what} yet, and nothing was changed: before the provider {provider} can go on, {deferral}; \
         see to that first, then try again"
    )]
    Deferred {
        /// Its name.
        provider: String,
        /// "created", "imported", …
        what: &'static str,
        /// The resource or data source type.
        type_name: String,
        /// What it waits for.
        deferral: Deferral,
    },
    /// The provider began an action and did not say how it ended.
    #[error(
        "the provider {provider} broke off {operation} of {type_name}: {reason}; whether the action was carried out is not \
         known, so look before you invoke it again"
    )]
    Unfinished {
        /// Its name.
        provider: String,
        /// The method.
        operation: &'static str,
        /// The action's type.
        type_name: String,
        /// What happened instead.
        reason: String,
    },
    /// The provider's answer cannot be read or breaks the protocol.
    #[error(
        "the provider {provider} answered {operation} of {type_name} with something invalid: {reason}; this is a fault of the provider"
    )]
    InvalidAnswer {
        /// Its name.
        provider: String,
        /// The method.
        operation: &'static str,
        /// The resource type.
        type_name: String,
        /// What is wrong.
        reason: String,
    },
    /// The provider's description of itself cannot be read.
    #[error(
        "the provider {provider} answered {operation} with something invalid: {reason}; this is a fault of the provider"
    )]
    InvalidSchema {
        /// Its name.
        provider: String,
        /// The method.
        operation: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The provider's answer breaks core's rules.
    #[error(
        "the provider {provider} {what} for {type_name}; this is a fault of the provider:\n{}",
        bullets(violations)
    )]
    Rules {
        /// Its name.
        provider: String,
        /// Which kind of answer, in core's words ("produced an invalid plan").
        what: &'static str,
        /// The resource type.
        type_name: String,
        /// Which rules, and where.
        violations: Vec<Violation>,
    },
    /// A value could not be written for the provider.
    #[error("a value for {operation} of {type_name} does not fit the provider's schema: {reason}")]
    InvalidValue {
        /// The method.
        operation: &'static str,
        /// The resource type.
        type_name: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// An import came to something else than one object of the type that was wanted.
    #[error("the {type_name} cannot be imported from the provider {provider}: {reason}")]
    Import {
        /// Its name.
        provider: String,
        /// The resource type.
        type_name: String,
        /// What came instead, and what to do.
        reason: String,
    },
    /// A stored object is newer than the provider. It was not asked about it.
    #[error(
        "the stored state of this {type_name} has schema version {stored}{}, but the provider {provider} knows versions up \
         to {known}; use the version of the provider that wrote it, or a newer one. Nothing was changed",
        writer.as_ref().map(|version| format!(" (version {version} of the provider wrote it)")).unwrap_or_default()
    )]
    NewerState {
        /// Its name.
        provider: String,
        /// The resource type.
        type_name: String,
        /// The schema version of what is stored.
        stored: i64,
        /// The provider's own.
        known: i64,
        /// The version of the provider that wrote it, where it is known.
        writer: Option<String>,
    },
    /// An object of one type cannot become one of another.
    #[error(
        "the stored state is that of a {source_type} of {source_provider}, which the provider {provider} cannot make a \
         {target_type} of: {reason}\nNothing was changed. Give the resource its former type back, or leave out the alias \
         so that a new resource takes the place of the old one"
    )]
    Move {
        /// Its name.
        provider: String,
        /// The type that the object has.
        source_type: String,
        /// The address of the provider whose object it is.
        source_provider: String,
        /// The type that it should get.
        target_type: String,
        /// The provider's words, or what is wrong with its answer.
        reason: String,
    },
    /// An object's identity cannot be used.
    #[error("the identity of this {type_name} cannot be used: {reason}")]
    Identity {
        /// The resource type.
        type_name: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// What somebody has written for `provider_meta` cannot be used.
    #[error("{origin} cannot be used{}: {reason}", place(path))]
    Meta {
        /// Where it is written.
        origin: String,
        /// Where in that; may be empty.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The schema is missing or faulty.
    #[error(transparent)]
    Schema(#[from] CatalogueError),
}

impl ProviderError {
    /// The provider's own errors, where it sent any.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Diagnostics { diagnostics, .. } => diagnostics,
            _ => &[],
        }
    }
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
        (true, Interruption::TimedOut(time)) => format!("had not answered {operation} after {time:?}"),
        (true, Interruption::Cancelled(stop_grace_period)) => {
            format!("was asked to stop, and had not answered {operation} {stop_grace_period:?} later")
        }
        (false, Interruption::TimedOut(time)) => {
            format!("was not asked for {operation}: {time:?} were over by then")
        }
        (false, Interruption::Cancelled(_)) => {
            format!("was not asked for {operation}: nobody waits for it any more")
        }
    }
}

fn gone(during: bool, exit: &Exit, operation: &str) -> String {
    if during {
        format!("ended during {operation}: {exit}")
    } else {
        format!("is gone, so {operation} cannot be called: {exit}")
    }
}
