//! Failures of the transport, as gRPC statuses with the cause as their source.

use std::error::Error;
use std::sync::Arc;

use h2::Reason;
use tonic::{Code, Status};

/// The request did not leave: there was no connection, or it took no request.
#[derive(Debug, thiserror::Error)]
#[error("the connection cannot be used")]
pub struct NotSent(#[source] pub(crate) Box<dyn Error + Send + Sync>);

/// The status of a call whose request did not leave.
pub(crate) fn not_sent(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Status {
    let cause = cause.into();
    let mut status = Status::unavailable(format!("the connection cannot be used: {cause}"));
    status.set_source(Arc::new(NotSent(cause)));
    status
}

/// The status of a call that the transport has ended, by the codes of gRPC's protocol over HTTP/2 ("Errors").
pub(crate) fn broken(cause: h2::Error) -> Status {
    let code = match cause.reason() {
        // The connection is lost.
        None => Code::Unavailable,
        Some(Reason::REFUSED_STREAM) => Code::Unavailable,
        Some(Reason::CANCEL) => Code::Cancelled,
        Some(Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
        Some(Reason::INADEQUATE_SECURITY) => Code::PermissionDenied,
        Some(Reason::STREAM_CLOSED | Reason::HTTP_1_1_REQUIRED) => Code::Unknown,
        Some(_) => Code::Internal,
    };
    let mut status = Status::new(code, format!("the connection failed: {cause}"));
    status.set_source(Arc::new(cause));
    status
}
