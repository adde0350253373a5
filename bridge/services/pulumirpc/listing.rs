//! Streaming one page of a list to the engine.
//!
//! The provider's stream stays open while there is something to send, so an engine that does not
//! read would block the provider and the daemon's shutdown. So a page ends with the engine's call:
//! at once if the engine disconnects, and with a status after the unread results if the call is
//! interrupted.

use std::sync::Arc;

use isthmus_proto::pulumirpc::{ListResponse, list_response};
use isthmus_provider::Provider;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::list;
use crate::serve::{redacted_status, show_warnings};
use crate::status::{self, RequestError};
use isthmus_operations::resource::OperationWarnings;
use isthmus_session::daemon::{Instance, Session};

/// How many results are buffered before the provider waits.
const LISTED_AHEAD: usize = 64;

/// The sending half, with a reserved place for the final message.
pub(super) struct Results {
    results: mpsc::Sender<Result<ListResponse, Status>>,
    last: mpsc::OwnedPermit<Result<ListResponse, Status>>,
}

/// A channel for one page.
pub(super) fn results() -> (Results, ReceiverStream<Result<ListResponse, Status>>) {
    let (results, stream) = mpsc::channel(LISTED_AHEAD + 1);
    let last = results.clone().try_reserve_owned().expect("an empty channel has room and a receiver");
    (Results { results, last }, ReceiverStream::new(stream))
}

impl Results {
    /// Reports that the query contains unknown values.
    pub(super) fn computed(self) {
        self.end(Ok(list_response::Response::Computed(list_response::Computed {})));
    }

    /// Sends the final message; a closed channel is ignored.
    fn end(self, answer: Result<list_response::Response, Status>) {
        self.last.send(answer.map(|response| ListResponse { response: Some(response) }));
    }
}

/// Sends one page of a list, until the engine closes the stream or the call is `interrupted`.
pub(super) async fn send_page(
    session: &Arc<Session>,
    instance: &Instance,
    provider: &Provider,
    mut page: list::Page,
    results: Results,
    interrupted: CancellationToken,
) {
    loop {
        let mut warnings = OperationWarnings::default();
        let found = tokio::select! {
            found = page.next(provider, &mut warnings) => found,
            () = results.results.closed() => return,
        };
        show_warnings(session, &warnings, page.shape(), "").await;
        let response = match found {
            Ok(Some(found)) => list_response::Response::Result(list_response::Result {
                id: found.identity.to_string(),
                name: found.display_name,
            }),
            Ok(None) => break,
            Err(error) => {
                let status = redacted_status(status::of_operation(error), session).await;
                return results.end(Err(status));
            }
        };
        let answer = Ok(ListResponse { response: Some(response) });
        tokio::select! {
            sent = results.results.send(answer) => if sent.is_err() { return },
            () = interrupted.cancelled() => {
                return results.end(Err(RequestError::ListCancelled.into()));
            }
        }
    }
    if let Some(continuation_token) = page.end(instance) {
        let continuation = list_response::Continuation { continuation_token };
        results.end(Ok(list_response::Response::Continuation(continuation)));
    }
}
