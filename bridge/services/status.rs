//! Failures as gRPC statuses.
//!
//! The engine interprets the code of a failed Create, Update, Read or Delete: UNKNOWN, INTERNAL and
//! DATA_LOSS mean that it may have happened, every other code that it did not. So those three are
//! used for unknown outcomes only.

use isthmus_proto::{pulumirpc, rpc};
use isthmus_provider::schema::CatalogueError;
use isthmus_provider::{Interruption, ProviderError};
use prost::Message as _;
use tonic::{Code, Status};

use crate::config::MethodError;
use crate::handover::HandoverError;
use crate::lumirpc::stored_resource::StoredResourceError;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home::OpenStoreError;
use isthmus_context::settings::InvalidSettings;
use isthmus_operations::resource::{MissingKey, NoSalt, OperationError, Partial};
use isthmus_package::catalogue::TokenError;
use isthmus_session::daemon::{ResolveError, SessionError};
use isthmus_session::error_code;
use isthmus_session::observe::AuditError;

/// A call that cannot be served or answered, independent of its operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("{0}")]
    AccessDenied(String),
    /// The engine cancelled while others of its calls were worked on.
    #[error("{method} was cancelled before it began, so nothing was changed")]
    CancelledInTurn { method: String },
    /// The call is refused before it is made, because it cannot be put on record.
    #[error("the call was refused before it was made, because it cannot be written to the audit log")]
    Audit(#[source] AuditError),
    /// The shared daemon is gone, through which resources were changed.
    #[error(
        "{reason}\nhelp: resources were changed through the daemon in this run, so it is not continued without it; start the \
         daemon again, then run this again"
    )]
    DaemonGone { reason: String },
    /// The reason is logged: it has a path, and statuses within a body are not redacted.
    #[error("failed to send a document of the schema cache\nhelp: run this again")]
    DamagedDocument,
    /// The daemon waits for calls in progress, and then ends.
    #[error("the daemon is ending, and opens no further session")]
    Draining,
    /// The task failed, and the outcome of its operation is unknown.
    #[error("the operation was interrupted: {0}")]
    Interrupted(tokio::task::JoinError),
    /// A daemon was not replaced.
    #[error(transparent)]
    Handover(#[from] HandoverError),
    /// The request is invalid, for this reason.
    #[error("{0}")]
    Invalid(String),
    /// The engine cancelled the list.
    #[error("the list was cancelled before it was read completely")]
    ListCancelled,
    /// A call's session is that of its connection.
    #[error("the call has no connection of this daemon")]
    NoConnection,
    /// A plugin has not opened a session yet.
    #[error("the connection has no session: `Open` of isthmus.daemon.v1.Daemon precedes other calls")]
    NoSession,
    /// The shared daemon was lost while it carried out an action.
    #[error(
        "the connection to the isthmus daemon was lost while the action {action} was carried out, so its outcome is unknown\nhelp: check \
         what it has done before you invoke it again"
    )]
    ActionLostWithDaemon { action: String },
    /// The shared daemon was lost during a call that changes a resource.
    #[error(
        "the connection to the isthmus daemon was lost during {method}, so its outcome is unknown: {reason}\nhelp: `isthmus \
         recover` lists what the daemon knew of it; `pulumi refresh` reads what there is"
    )]
    LostWithDaemon { method: String, reason: String },
    /// The schema exceeds the engines' message size. In MiB.
    #[error(
        "the schema of this package has {size} MiB, and engines take {most}; choose the resources that you need with \
         `--include`, or leave out some with `--exclude`"
    )]
    SchemaTooLarge { size: u64, most: u64 },
    #[error("{0}")]
    Settings(InvalidSettings),
    #[error(transparent)]
    StateStore(#[from] OpenStoreError),
    #[error(transparent)]
    WriteOnly(#[from] NoSalt),
    /// Write-only values were in the memory of a daemon that is gone.
    #[error(
        "nothing was changed: the write-only values of this resource were only in the memory of the process that has checked it, \
         because ISTHMUS_WRITE_ONLY=hash withholds them from the engine, and that process is gone\nhelp: run this again"
    )]
    WriteOnlyLost,
}

impl RequestError {
    /// The code of its kind, if that has a page.
    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Settings(_) => Some(ErrorCode::InvalidSetting),
            Self::StateStore(error) => Some(error_code::of_open_store(error)),
            _ => None,
        }
    }
}

impl From<RequestError> for Status {
    fn from(error: RequestError) -> Self {
        let text = ErrorCode::named_in(isthmus_common::error_chain(&error), error.code());
        match error {
            RequestError::AccessDenied(_) => Self::permission_denied(text),
            RequestError::DamagedDocument => Self::aborted(text),
            RequestError::Handover(HandoverError::OtherUser { .. } | HandoverError::Remote) => {
                Self::permission_denied(text)
            }
            RequestError::Handover(HandoverError::NotListening) => Self::failed_precondition(text),
            RequestError::Handover(HandoverError::Unreachable(_) | HandoverError::NotTaken(_)) => {
                Self::unavailable(text)
            }
            RequestError::Interrupted(_)
            | RequestError::ActionLostWithDaemon { .. }
            | RequestError::LostWithDaemon { .. } => Self::unknown(text),
            RequestError::Invalid(_) => Self::invalid_argument(text),
            RequestError::CancelledInTurn { .. } | RequestError::ListCancelled => Self::cancelled(text),
            RequestError::SchemaTooLarge { .. } => Self::resource_exhausted(text),
            RequestError::Audit(_)
            | RequestError::NoConnection
            | RequestError::NoSession
            | RequestError::Settings(_)
            | RequestError::StateStore(_) => Self::failed_precondition(text),
            RequestError::DaemonGone { .. }
            | RequestError::Draining
            | RequestError::WriteOnly(_)
            | RequestError::WriteOnlyLost => Self::unavailable(text),
        }
    }
}

pub(crate) fn of_stored_resource(error: StoredResourceError) -> Status {
    let text = isthmus_common::error_chain(&error);
    let code = match &error {
        StoredResourceError::EncryptedStore(error) => Some(error_code::of_encrypted_store(error)),
        _ => None,
    };
    let text = ErrorCode::named_in(text, code);
    match error {
        StoredResourceError::Operation(error) => of_operation(error),
        StoredResourceError::Undone { .. } => Status::aborted(text),
        StoredResourceError::Partial(_)
        | StoredResourceError::LeftBehind { .. }
        | StoredResourceError::NotStored { .. } => Status::unknown(text),
        StoredResourceError::EncryptedStore(_)
        | StoredResourceError::Unknown { .. }
        | StoredResourceError::Ambiguous { .. }
        | StoredResourceError::Contradicted { .. }
        | StoredResourceError::Unattributed { .. }
        | StoredResourceError::Gone { .. } => Status::failed_precondition(text),
    }
}

/// The same failure with other texts.
pub(crate) fn with_texts(status: &Status, message: String, details: bytes::Bytes) -> Status {
    Status::with_details(status.code(), message, details)
}

pub(super) fn of_operation(error: OperationError) -> Status {
    let text = error.to_string();
    match error {
        OperationError::Inputs(_) | OperationError::Continuation { .. } => Status::invalid_argument(text),
        OperationError::Token(TokenError::Schema(CatalogueError::Unreadable { .. })) => Status::aborted(text),
        OperationError::NotJournalled { .. } | OperationError::Overtaken => Status::unavailable(text),
        OperationError::Token(_) | OperationError::RemovedType { .. } => Status::not_found(text),
        OperationError::UnmarkedPreviews { .. }
        | OperationError::ConfiguredAlready { .. }
        | OperationError::Gone { .. }
        | OperationError::NeedsReplacement(_)
        | OperationError::NotConfigured { .. }
        | OperationError::Start(_)
        | OperationError::State(_) => Status::failed_precondition(text),
        OperationError::TooManyLeases { .. } => Status::resource_exhausted(text),
        OperationError::Function { .. } => Status::aborted(text),
        OperationError::MissingKeys(missing) => of_missing_keys(missing, text),
        OperationError::Provider { outcome_unknown: true, .. } => Status::unknown(text),
        OperationError::Provider { outcome_unknown: false, error, .. } => of_provider(&error, text),
        // An object exists that cannot be returned to the engine.
        OperationError::Output(_) | OperationError::Unstorable { .. } => Status::unknown(text),
        OperationError::Partial(partial) => of_partial(*partial, text),
    }
}

/// The failure of a Create or an Update. What has to wait does not end the deployment of engines from 3.272: they go on with what
/// does not depend on it, and show no text of it.
pub(super) fn of_change(error: OperationError) -> Status {
    match &error {
        OperationError::Provider { error: provider, text, .. } if is_awaited(provider) => {
            let detail = pulumirpc::ErrorResourceAwaitFailed {};
            with_detail(Code::Aborted, text.clone(), "pulumirpc.ErrorResourceAwaitFailed", &detail)
        }
        _ => of_operation(error),
    }
}

/// Whether a change has to wait for something else.
pub(super) fn is_awaited(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Deferred { .. })
}

/// A provider's failure without an effect.
fn of_provider(error: &ProviderError, text: String) -> Status {
    match error {
        ProviderError::Interruption { cut: Interruption::TimedOut(_), .. } => Status::deadline_exceeded(text),
        ProviderError::Interruption { cut: Interruption::Cancelled(_), .. } => Status::cancelled(text),
        _ => Status::aborted(text),
    }
}

pub(super) fn of_method(error: MethodError) -> Status {
    let text = error.to_string();
    match error {
        MethodError::Unknown { .. } => Status::not_found(text),
        MethodError::NotKnown => Status::failed_precondition(text),
        MethodError::Schema(error) => of_operation(error),
    }
}

pub(super) fn of_session(error: SessionError) -> Status {
    let text = error.report();
    match error {
        SessionError::AlreadyParameterized(_)
        | SessionError::Arguments(_)
        | SessionError::Engine(_)
        | SessionError::Parameter(_) => Status::invalid_argument(text),
        SessionError::Cancelled { .. } => Status::cancelled(text),
        SessionError::NotParameterized
        | SessionError::Moved { .. }
        | SessionError::Start(_)
        | SessionError::Documentation(_) => Status::failed_precondition(text),
        SessionError::Resolve { error, .. } => match *error {
            ResolveError::Name(_)
            | ResolveError::Constraint(_)
            | ResolveError::Identity(_)
            | ResolveError::Names(_) => Status::invalid_argument(text),
            ResolveError::Reattach(_)
            | ResolveError::Installation(_)
            | ResolveError::Directory { .. }
            | ResolveError::Install { .. } => Status::failed_precondition(text),
        },
    }
}

/// The engine stores a resource that is reported in this way, with the reasons.
fn of_partial(partial: Partial, text: String) -> Status {
    let detail = pulumirpc::ErrorResourceInitFailed {
        id: partial.id,
        properties: Some(partial.properties),
        reasons: partial.reasons,
        inputs: None,
        refresh_before_update: partial.is_unrefreshed,
    };
    with_detail(Code::Unknown, text, "pulumirpc.ErrorResourceInitFailed", &detail)
}

/// The engine tells the user how to set each key.
fn of_missing_keys(missing: Vec<MissingKey>, text: String) -> Status {
    use pulumirpc::configure_error_missing_keys::MissingKey as Message;
    let keys = missing.into_iter().map(|key| Message { name: key.name, description: key.description });
    let detail = pulumirpc::ConfigureErrorMissingKeys { missing_keys: keys.collect() };
    with_detail(Code::InvalidArgument, text, "pulumirpc.ConfigureErrorMissingKeys", &detail)
}

fn with_detail(code: Code, text: String, name: &str, detail: &impl prost::Message) -> Status {
    let any =
        prost_types::Any { type_url: format!("type.googleapis.com/{name}"), value: detail.encode_to_vec() };
    let status = rpc::Status { code: code as i32, message: text.clone(), details: vec![any] };
    Status::with_details(code, text, status.encode_to_vec().into())
}
