//! One page of a list on its way to the engine.
//!
//! The provider's stream stays open as long as there is something to send, so whoever does not read holds up the provider, and
//! would hold up the daemon's end. So a page is given up when the engine's call is: at once when the engine has gone, and when it
//! is broken off, with a status behind whatever the engine has not read.

use std::sync::Arc;

use isthmus_proto::pulumirpc::{ListResponse, list_response};
use isthmus_provider::Provider;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::daemon::{Instance, Session};
use crate::list;
use crate::resource::OperationWarnings;
use crate::serve::{redacted_status, show_warnings};
use crate::status::{self, RequestError};

/// How many results of a list wait for the engine, before the provider waits.
const LISTED_AHEAD: usize = 64;

/// The way to the engine. There is always room for one last word.
pub(super) struct Results {
    results: mpsc::Sender<Result<ListResponse, Status>>,
    last: mpsc::OwnedPermit<Result<ListResponse, Status>>,
}

/// A way to the engine, and where it comes out.
pub(super) fn results() -> (Results, ReceiverStream<Result<ListResponse, Status>>) {
    let (results, stream) = mpsc::channel(LISTED_AHEAD + 1);
    let last = results.clone().try_reserve_owned().expect("an empty channel has room and a receiver");
    (Results { results, last }, ReceiverStream::new(stream))
}

impl Results {
    /// Says that what is asked for depends on something that is not known yet.
    pub(super) fn computed(self) {
        self.end(Ok(list_response::Response::Computed(list_response::Computed {})));
    }

    /// The last word. Whoever does not listen any more misses nothing.
    fn end(self, answer: Result<list_response::Response, Status>) {
        self.last.send(answer.map(|response| ListResponse { response: Some(response) }));
    }
}

/// Sends one page of a list, until the engine does not listen any more or nobody waits for it (`broken_off`).
pub(super) async fn send_page(
    session: &Arc<Session>,
    instance: &Instance,
    provider: &Provider,
    mut page: list::Page,
    results: Results,
    broken_off: CancellationToken,
) {
    loop {
        let mut notes = OperationWarnings::default();
        let found = tokio::select! {
            found = page.next(provider, &mut notes) => found,
            () = results.results.closed() => return,
        };
        show_warnings(session, &notes, page.shape(), "").await;
        let response = match found {
            Ok(Some(found)) => list_response::Response::Result(list_response::Result {
                id: found.identity.to_string(),
                name: found.display_name,
            }),
            Ok(None) => break,
            Err(error) => {
                let status = redacted_status(status::of_operation(error), session.secrets());
                return results.end(Err(status));
            }
        };
        let answer = Ok(ListResponse { response: Some(response) });
        tokio::select! {
            sent = results.results.send(answer) => if sent.is_err() { return },
            () = broken_off.cancelled() => {
                return results.end(Err(RequestError::ListCancelled.into()));
            }
        }
    }
    if let Some(continuation_token) = page.end(instance) {
        let continuation = list_response::Continuation { continuation_token };
        results.end(Ok(list_response::Response::Continuation(continuation)));
    }
}
