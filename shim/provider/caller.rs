//! Calls of a provider, and the classification of their failures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use isthmus_proto::tfplugin6;

use super::chunks::{Chunks, Watch};
use super::client::decoded;
use super::diagnostics::errors_of;
use super::limit::{Entered, InFlight, Limit};
use super::unprocessed::was_not_processed;
use super::{CallMessages, CallObserver, CallReport, Client, Diagnostic, Interruption, ProviderError, Rpc};
use crate::plugin::Plugin;
use crate::schema::{Catalogue, Contents, SchemaAnswer};

/// How long to wait for the exit of a process after its connection broke. A call fails a moment
/// before the exit of the process can be detected.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// How long a provider may take to respond to StopProvider, which does not wait for the stopped
/// calls.
const STOP_ANSWER: Duration = Duration::from_secs(2);

/// How a process's schema compares with the known one.
#[derive(Debug)]
pub enum SchemaUpdate {
    /// The same; the provider uses the known catalogue.
    AsKnown,
    /// Another, or none was known.
    New(SchemaAnswer),
    /// Not to be cached: it came with warnings, which must be shown next time too.
    Uncacheable,
}

/// Decodes a response.
type Read<'a> = dyn FnMut(Bytes) -> Result<(), tonic::Status> + Send + 'a;

/// Makes calls and classifies their failures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    pub(super) name: &'a str,
    pub(super) plugin: &'a Plugin,
    pub(super) client: &'a Client,
    pub(super) observer: &'a CallObserver,
    pub(super) in_flight: &'a Arc<InFlight>,
    /// Limit of the calls.
    pub(super) limit: &'a Limit,
}

impl Caller<'_> {
    pub(super) async fn schema(
        &self,
        known: Option<&Arc<Catalogue>>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(Arc<Catalogue>, SchemaUpdate), ProviderError> {
        let rpc = Rpc::GetProviderSchema;
        // The requests of both protocols are empty.
        let bytes = self.watch(rpc, Bytes::new(), &mut |_| Ok(())).await?;
        let answer = SchemaAnswer { protocol: self.client.version(), bytes };
        let index = answer.index().map_err(|error| ProviderError::InvalidSchema {
            provider: self.name.to_owned(),
            operation: rpc.name(self.client.version()),
            reason: error.to_string(),
        })?;
        if let Some(known) = known
            && known.fingerprint() == index.fingerprint
        {
            return Ok((Arc::clone(known), SchemaUpdate::AsKnown));
        }
        let Contents { catalogue, diagnostics } = Catalogue::contents(index, answer.bytes.clone());
        let news = if diagnostics.is_empty() { SchemaUpdate::New(answer) } else { SchemaUpdate::Uncacheable };
        self.refuse_errors(rpc, diagnostics, warnings)?;
        Ok((Arc::new(catalogue), news))
    }

    pub(super) async fn call<Request, Response>(
        &self,
        rpc: Rpc,
        request: Request,
    ) -> Result<Response, ProviderError>
    where
        Request: prost::Message,
        Response: prost::Message + Default + Send,
    {
        let encoded = request.encode_to_vec().into();
        // It may be large, and is not needed any more.
        drop(request);
        let mut response = None;
        let mut read = |bytes| {
            response = Some(decoded(bytes)?);
            Ok(())
        };
        // In a box, so that the futures of operations, which contain this one many times, stay small.
        Box::pin(self.watch(rpc, encoded, &mut read)).await?;
        Ok(response.expect("a call that succeeds has read its response"))
    }

    /// Sends StopProvider.
    pub(super) async fn stop(&self) -> Result<(), ProviderError> {
        let rpc = Rpc::StopProvider;
        self.in_flight.note_stop();
        // It affects other calls, so it neither waits for them nor counts as one.
        let limit = Limit::default();
        limit.at_most(STOP_ANSWER);
        let caller = Caller { limit: &limit, ..*self };
        let mut response = tfplugin6::stop_provider::Response::default();
        let mut read = |bytes| {
            response = decoded(bytes)?;
            Ok(())
        };
        caller.make(rpc, Bytes::new(), &mut read, None).await?;
        if response.error.is_empty() {
            return Ok(());
        }
        let (provider, operation) = (self.name.to_owned(), rpc.name(self.client.version()));
        Err(ProviderError::Refused { provider, operation, reason: response.error })
    }

    /// Makes a call, unless the process has exited. `read` decodes the response, which is returned as well.
    async fn watch(&self, rpc: Rpc, request: Bytes, read: &mut Read<'_>) -> Result<Bytes, ProviderError> {
        let entered = self.in_flight.enter().await;
        self.make(rpc, request, read, Some(&entered)).await
    }

    async fn make(
        &self,
        rpc: Rpc,
        request: Bytes,
        read: &mut Read<'_>,
        entered: Option<&Entered>,
    ) -> Result<Bytes, ProviderError> {
        let operation = rpc.name(self.client.version());
        self.require_time(rpc)?;
        self.require_alive(rpc)?;
        let begun = Instant::now();
        let call = self.client.call_encoded(rpc, request.clone());
        let (answer, broken_off) = match self.until(entered, call).await {
            Ok(answer) => (answer.and_then(|bytes| read(bytes.clone()).map(|()| bytes)), None),
            Err(cut) => (Err(tonic::Status::cancelled("the call was interrupted")), Some(cut)),
        };
        let code = answer.as_ref().map_or_else(tonic::Status::code, |_| tonic::Code::Ok);
        let elapsed = begun.elapsed();
        self.observer.report(CallReport { rpc, operation, elapsed, code });
        self.observer.show(CallMessages {
            path: rpc.path(self.client.version()),
            request: &request,
            elapsed,
            response: answer.as_deref(),
        });
        match (answer, broken_off) {
            (Ok(response), _) => Ok(response),
            (Err(_), Some(reason)) => Err(self.cut(rpc, true, reason)),
            (Err(status), None) => Err(self.failure(rpc, status).await),
        }
    }

    /// Waits for a chunk of a streamed response, within the limit.
    async fn part<Part>(&self, rpc: Rpc, part: impl Future<Output = Part>) -> Result<Part, ProviderError> {
        self.require_time(rpc)?;
        tokio::select! {
            biased;
            part = part => Ok(part),
            reason = self.limit.comes() => Err(self.cut(rpc, true, reason)),
        }
    }

    fn require_time(&self, rpc: Rpc) -> Result<(), ProviderError> {
        self.limit.has_passed().map_or(Ok(()), |reason| Err(self.cut(rpc, false, reason)))
    }

    pub(super) fn cut(&self, rpc: Rpc, during: bool, cut: Interruption) -> ProviderError {
        let operation = rpc.name(self.client.version());
        ProviderError::Interruption { provider: self.name.to_owned(), operation, during, cut }
    }

    pub(super) async fn stream<Request, Piece>(
        self,
        rpc: Rpc,
        request: Request,
    ) -> Result<Chunks<Piece>, ProviderError>
    where
        Request: prost::Message + Send + Sync + 'static,
        Piece: prost::Message + Default + Send + Sync + 'static,
    {
        let request_shown = self.observer.wants_messages().then(|| request.encode_to_vec());
        self.require_alive(rpc)?;
        let entered = self.in_flight.enter().await;
        let mut watch = Watch::new(self.observer.clone(), self.client.version(), rpc, request_shown);
        match self.part(rpc, self.client.stream(rpc, request)).await {
            Ok(Ok(pieces)) => Ok(Chunks::new(pieces, watch, entered)),
            Ok(Err(status)) => {
                watch.end(Err(&status));
                Err(self.failure(rpc, status).await)
            }
            Err(cut) => {
                watch.end(Err(&tonic::Status::cancelled("the call was interrupted")));
                Err(cut)
            }
        }
    }

    /// Fails if the process has exited.
    fn require_alive(&self, rpc: Rpc) -> Result<(), ProviderError> {
        let Some(exit) = self.plugin.exit() else { return Ok(()) };
        let operation = rpc.name(self.client.version());
        Err(ProviderError::Gone { provider: self.name.to_owned(), operation, during: false, exit })
    }

    /// Classifies the failure of a call.
    async fn failure(&self, rpc: Rpc, status: tonic::Status) -> ProviderError {
        let operation = rpc.name(self.client.version());
        let provider = self.name.to_owned();
        if status.code() == tonic::Code::Unimplemented {
            return ProviderError::Unsupported { provider, operation };
        }
        let during = !was_not_processed(&status);
        if is_break(&status)
            && let Ok(exit) = tokio::time::timeout(EXIT_GRACE, self.plugin.exited()).await
        {
            return ProviderError::Gone { provider, operation, during, exit };
        }
        ProviderError::Call { provider, operation, during, status }
    }

    /// Waits for the response within the limit. After a timeout, a provider without other calls is
    /// stopped first, and may still respond. A cancelled call ends on the provider's side as well.
    async fn until<Answer>(
        &self,
        entered: Option<&Entered>,
        call: impl Future<Output = Result<Answer, tonic::Status>>,
    ) -> Result<Result<Answer, tonic::Status>, Interruption> {
        let mut call = std::pin::pin!(call);
        let cut = tokio::select! {
            biased;
            answer = &mut call => return Ok(answer),
            cut = self.limit.comes() => cut,
        };
        let alone = match cut {
            Interruption::TimedOut(_) => entered.and_then(InFlight::hold_if_alone),
            Interruption::Cancelled(_) => None,
        };
        let Some(held) = alone else { return Err(cut) };
        let stop = async move {
            // Its result is irrelevant: if the call does not end now, it is cancelled.
            let _ = Box::pin(self.stop()).await;
            drop(held);
        };
        let answer = async {
            tokio::select! {
                biased;
                answer = &mut call => Some(answer),
                () = self.limit.grace_is_over() => None,
            }
        };
        // Both to completion: a pending stop request would stop the next call.
        let ((), answer) = tokio::join!(stop, answer);
        match answer {
            Some(Ok(answer)) => Ok(Ok(answer)),
            Some(Err(status)) if is_break(&status) => Ok(Err(status)),
            // A provider that cancels the call itself does not report what it has done.
            Some(Err(_)) | None => Err(cut),
        }
    }

    pub(super) fn refuse_errors(
        &self,
        rpc: Rpc,
        diagnostics: Vec<tfplugin6::Diagnostic>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let diagnostics = errors_of(diagnostics, warnings);
        if diagnostics.is_empty() {
            return Ok(());
        }
        Err(ProviderError::Diagnostics { operation: rpc.name(self.client.version()), diagnostics })
    }
}

/// Whether the connection broke. A status from the provider itself has no source: its process is
/// alive.
fn is_break(status: &tonic::Status) -> bool {
    status.code() == tonic::Code::Unavailable || std::error::Error::source(status).is_some()
}

impl<Chunk: prost::Message> Chunks<Chunk> {
    /// The next chunk; `None` at the end of the response. `caller` belongs to the same provider.
    pub(super) async fn next(&mut self, caller: Caller<'_>) -> Result<Option<Chunk>, ProviderError> {
        let rpc = self.watch.rpc();
        let chunk = match caller.part(rpc, self.messages.message()).await {
            Ok(chunk) => chunk,
            Err(cut) => {
                self.watch.end(Err(&tonic::Status::cancelled("the call was interrupted")));
                return Err(cut);
            }
        };
        match chunk {
            Ok(Some(chunk)) => {
                self.watch.see(&chunk);
                Ok(Some(chunk))
            }
            Ok(None) => {
                self.watch.end(Ok(()));
                Ok(None)
            }
            Err(status) => {
                self.watch.end(Err(&status));
                Err(caller.failure(rpc, status).await)
            }
        }
    }
}
