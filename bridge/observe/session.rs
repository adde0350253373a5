//! A session, as metrics and the status page see it, and its calls.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tonic::Code;

use super::observation::Observation;
use super::provider::ObservedProvider;
use super::rpc::EngineRpc;

/// What is counted of a session.
#[derive(Debug)]
pub(crate) struct ObservedSession {
    observation: Arc<Observation>,
    since: Instant,
    provider: OnceLock<Arc<ObservedProvider>>,
    calls: AtomicU64,
    in_flight: AtomicUsize,
}

/// A call in progress. One that is dropped without an end was cancelled by its peer.
#[derive(Debug)]
pub(crate) struct ObservedCall {
    session: Arc<ObservedSession>,
    rpc: EngineRpc,
    begun: Instant,
    code: Code,
}

impl ObservedSession {
    pub(crate) fn new(observation: Arc<Observation>) -> Arc<Self> {
        Arc::new(Self {
            observation,
            since: Instant::now(),
            provider: OnceLock::new(),
            calls: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
        })
    }

    /// When it was opened.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Its provider is chosen, once.
    pub(crate) fn chose(&self, provider: Arc<ObservedProvider>) {
        self.provider.get_or_init(|| provider);
    }

    /// Its provider, once it is chosen.
    pub(crate) fn provider(&self) -> Option<&Arc<ObservedProvider>> {
        self.provider.get()
    }

    /// The calls that were begun.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The calls in progress.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// A call begins; `None` for a method that no service has.
    pub(crate) fn begin(self: &Arc<Self>, path: &str) -> Option<ObservedCall> {
        let rpc = EngineRpc::of_path(path)?;
        self.observation.call_began();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Some(ObservedCall { session: Arc::clone(self), rpc, begun: Instant::now(), code: Code::Cancelled })
    }
}

impl ObservedCall {
    /// The call has ended.
    pub(crate) fn end(mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for ObservedCall {
    fn drop(&mut self) {
        let session = &self.session;
        session.in_flight.fetch_sub(1, Ordering::Relaxed);
        session.observation.call_ended(self.rpc, session.provider(), self.begun.elapsed(), self.code);
    }
}
