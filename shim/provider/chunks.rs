//! A streamed response.
//!
//! The observer receives each chunk, and one report when the call is over. Chunks are not stored.
//! `Caller` is a parameter of each read, because a response may be read long after its call began.

use std::time::Instant;

use super::limit::Entered;
use super::{CallMessages, CallObserver, CallReport, Rpc};
use crate::plugin::ProtocolVersion;

/// The chunks of a response. Dropping them cancels the call.
#[derive(Debug)]
pub(super) struct Chunks<Chunk> {
    pub(super) messages: tonic::Streaming<Chunk>,
    pub(super) watch: Watch,
    /// Counts the provider as busy while it is open.
    _entered: Entered,
}

/// What the observer has received of a call.
#[derive(Debug)]
pub(super) struct Watch {
    observer: CallObserver,
    version: ProtocolVersion,
    rpc: Rpc,
    begun: Instant,
    /// The encoded request, if the observer wants messages.
    request: Option<Vec<u8>>,
    progress: Progress,
}

/// Progress of the observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Started,
    /// One or more chunks.
    UnderWay,
    /// The report.
    Over,
}

impl<Chunk: prost::Message> Chunks<Chunk> {
    /// The chunks of a started call.
    pub(super) fn new(messages: tonic::Streaming<Chunk>, watch: Watch, entered: Entered) -> Self {
        Self { messages, watch, _entered: entered }
    }
}

impl Watch {
    /// A call that starts now. With `request`, the observer receives the messages.
    pub(super) fn new(
        observer: CallObserver,
        version: ProtocolVersion,
        rpc: Rpc,
        request: Option<Vec<u8>>,
    ) -> Self {
        Self { observer, version, rpc, begun: Instant::now(), request, progress: Progress::Started }
    }

    pub(super) fn rpc(&self) -> Rpc {
        self.rpc
    }

    /// Passes a chunk to the observer.
    pub(super) fn see(&mut self, chunk: &impl prost::Message) {
        if self.request.is_some() {
            self.show(Ok(&chunk.encode_to_vec()));
        }
        self.progress = Progress::UnderWay;
    }

    /// Reports the end of the call, once.
    pub(super) fn end(&mut self, outcome: Result<(), &tonic::Status>) {
        let before = std::mem::replace(&mut self.progress, Progress::Over);
        if before == Progress::Over {
            return;
        }
        let code = outcome.map_or_else(tonic::Status::code, |()| tonic::Code::Ok);
        let (rpc, operation) = (self.rpc, self.rpc.name(self.version));
        self.observer.report(CallReport { rpc, operation, elapsed: self.begun.elapsed(), code });
        match outcome {
            Err(status) => self.show(Err(status)),
            Ok(()) if before == Progress::Started => self.show(Ok(&[])),
            Ok(()) => {}
        }
    }

    fn show(&self, response: Result<&[u8], &tonic::Status>) {
        if let Some(request) = &self.request {
            let (path, elapsed) = (self.rpc.path(self.version), self.begun.elapsed());
            self.observer.show(CallMessages { path, request, elapsed, response });
        }
    }
}

/// A reader may stop before the end.
impl Drop for Watch {
    fn drop(&mut self) {
        self.end(Ok(()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use isthmus_proto::tfplugin6;

    use super::*;

    type Event = tfplugin6::list_resource::Event;

    /// An observed call, and what its observer received.
    fn watched(is_shown: bool) -> (Watch, Arc<Mutex<Vec<String>>>) {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let (reports, messages) = (Arc::clone(&told), Arc::clone(&told));
        let observer = CallObserver::default()
            .with_reports(move |report| {
                let line = format!("{} answered: {}", report.operation, report.code == tonic::Code::Ok);
                reports.lock().expect("nobody panics").push(line);
            })
            .with_messages(move |messages_of_call| {
                let line = match messages_of_call.response {
                    Ok(response) => format!("saw {} bytes", response.len()),
                    Err(status) => format!("saw {:?}", status.code()),
                };
                messages.lock().expect("nobody panics").push(line);
            });
        let request = is_shown.then(Vec::new);
        (Watch::new(observer, ProtocolVersion::V6, Rpc::ListResource, request), told)
    }

    fn chunk(name: &str) -> Event {
        Event { display_name: name.to_owned(), ..Event::default() }
    }

    fn lines(told: &Arc<Mutex<Vec<String>>>) -> Vec<String> {
        told.lock().expect("nobody panics").clone()
    }

    #[test]
    fn each_chunk_is_observed_as_it_arrives_and_the_end_once() {
        let (mut watch, told) = watched(true);
        watch.see(&chunk("a"));
        assert_eq!(lines(&told), ["saw 3 bytes"]);
        watch.see(&chunk("long"));
        watch.end(Ok(()));
        drop(watch);
        assert_eq!(lines(&told), ["saw 3 bytes", "saw 6 bytes", "ListResource answered: true"]);
    }

    #[test]
    fn a_failure_after_any_number_of_chunks_is_observed() {
        let (mut watch, told) = watched(true);
        watch.see(&chunk("a"));
        watch.end(Err(&tonic::Status::internal("broken")));
        drop(watch);
        assert_eq!(lines(&told), ["saw 3 bytes", "ListResource answered: false", "saw Internal"]);
    }

    #[test]
    fn an_empty_response_is_observed() {
        let (mut watch, told) = watched(true);
        watch.end(Ok(()));
        assert_eq!(lines(&told), ["ListResource answered: true", "saw 0 bytes"]);
    }

    #[test]
    fn a_dropped_response_is_reported_too() {
        let (mut watch, told) = watched(false);
        watch.see(&chunk("a"));
        drop(watch);
        assert_eq!(lines(&told), ["ListResource answered: true"]);
    }
}
