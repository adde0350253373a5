//! The calls in progress, and which of them are interrupted.
//!
//! A provider's log lines do not name their call. Only while a single call is in progress can they
//! be attributed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::observe::ObservedProvider;

#[derive(Clone, Debug, Default)]
pub struct Calls {
    running: Arc<Mutex<Running>>,
    ended: Arc<Notify>,
    /// Where the calls to their provider are counted, in a shared daemon.
    observed: Option<Arc<ObservedProvider>>,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    calls: Vec<Entry>,
    /// The resource of the last call, if that was alone, and when it ended.
    last: Option<(Arc<str>, Instant)>,
    /// When the last call ended.
    ended: Option<Instant>,
    /// Whether all calls are interrupted, later ones included.
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    urn: Arc<str>,
    interrupted: CancellationToken,
}

/// How long a call has just ended.
const JUST_ENDED: Duration = Duration::from_millis(100);

/// First number of calls that no engine made. Being higher than every other, they belong to no
/// snapshot.
const FIRST_INTERNAL: u64 = 1 << 63;

/// A call in progress; it ends when this is dropped.
#[derive(Debug)]
pub struct Call {
    calls: Calls,
    number: u64,
    interrupted: CancellationToken,
}

/// The calls in progress at some moment.
#[derive(Clone, Debug)]
pub struct CallSnapshot {
    calls: Calls,
    next: u64,
}

impl Calls {
    /// Calls that are counted, if there is something to count them.
    pub(super) fn counted(observed: Option<Arc<ObservedProvider>>) -> Self {
        Self { observed, ..Self::default() }
    }

    /// Where the calls to their provider are counted.
    pub(super) fn observed(&self) -> Option<&Arc<ObservedProvider>> {
        self.observed.as_ref()
    }

    /// How many calls are in progress.
    pub(super) fn in_flight(&self) -> usize {
        self.running().calls.len()
    }

    /// Starts a call about the resource `urn` (empty: about none).
    pub fn begin(&self, urn: &str) -> Call {
        self.enter(0, urn)
    }

    /// Starts a call that no engine made. No snapshot contains it, but log lines may be about it.
    pub(crate) fn begin_internal(&self) -> Call {
        self.enter(FIRST_INTERNAL, "")
    }

    fn enter(&self, first: u64, urn: &str) -> Call {
        let mut running = self.running();
        let number = first + running.next;
        running.next += 1;
        let interrupted = CancellationToken::new();
        if running.closed {
            interrupted.cancel();
        }
        running.calls.push(Entry { number, urn: Arc::from(urn), interrupted: interrupted.clone() });
        Call { calls: self.clone(), number, interrupted }
    }

    /// The resource of the only call in progress, or of the one that has just ended: what a provider prints
    /// during a call may arrive after its response.
    pub(crate) fn only_urn(&self) -> Option<Arc<str>> {
        let running = self.running();
        match (running.calls.as_slice(), &running.last) {
            ([only], _) => Some(Arc::clone(&only.urn)),
            ([], Some((urn, ended))) if ended.elapsed() < JUST_ENDED => Some(Arc::clone(urn)),
            _ => None,
        }
    }

    /// Whether any call is in progress, or has just ended.
    pub(super) fn are_recent(&self) -> bool {
        let running = self.running();
        !running.calls.is_empty() || running.ended.is_some_and(|ended| ended.elapsed() < JUST_ENDED)
    }

    /// How long ago the last call ended, or else the time of `begin`; `None` while one is in progress.
    pub(super) fn idle_for(&self, begin: Instant) -> Option<Duration> {
        let running = self.running();
        running.calls.is_empty().then(|| running.ended.unwrap_or(begin).elapsed())
    }

    /// The calls in progress now.
    pub fn snapshot(&self) -> CallSnapshot {
        let next = self.running().next;
        CallSnapshot { calls: self.clone(), next }
    }

    /// Interrupts all calls, later ones included.
    pub fn close(&self) {
        self.running().closed = true;
        self.snapshot().interrupt();
    }

    /// Whether [`Self::close`] was called.
    pub(super) fn are_closed(&self) -> bool {
        self.running().closed
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Cancelled when the call is interrupted.
    pub fn interrupted(&self) -> CancellationToken {
        self.interrupted.clone()
    }
}

impl CallSnapshot {
    /// Whether any of them is in progress.
    pub(crate) fn are_running(&self) -> bool {
        self.calls.running().calls.iter().any(|call| call.number < self.next)
    }

    /// Waits until none of them is in progress.
    pub async fn ended(&self) {
        loop {
            let ended = self.calls.ended.notified();
            if !self.are_running() {
                return;
            }
            ended.await;
        }
    }

    /// Interrupts those that are in progress: each returns what is known of its outcome.
    pub fn interrupt(&self) {
        for call in self.calls.running().calls.iter().filter(|call| call.number < self.next) {
            call.interrupted.cancel();
        }
    }

    /// Interrupts those that have not ended after `stop_grace_period`.
    pub(crate) async fn interrupt_after(&self, stop_grace_period: Duration) {
        if tokio::time::timeout(stop_grace_period, self.ended()).await.is_err() {
            self.interrupt();
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut running = self.calls.running();
        let at = running.calls.iter().position(|call| call.number == self.number);
        if let Some(ended) = at.map(|at| running.calls.remove(at)) {
            running.ended = Some(Instant::now());
            running.last = running.calls.is_empty().then(|| (ended.urn, Instant::now()));
        }
        drop(running);
        self.calls.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_is_attributed_only_while_a_single_call_is_under_way() {
        let calls = Calls::default();
        assert_eq!(calls.only_urn(), None);
        let first = calls.begin("urn:a");
        assert_eq!(calls.only_urn().as_deref(), Some("urn:a"));
        let second = calls.begin("urn:b");
        assert_eq!(calls.only_urn(), None);
        drop(first);
        assert_eq!(calls.only_urn().as_deref(), Some("urn:b"));
        let begin_internal = calls.begin_internal();
        assert_eq!(calls.only_urn(), None);
        drop(second);
        assert!(!calls.snapshot().are_running(), "what was not asked for is not waited for");
        drop(begin_internal);
    }

    #[tokio::test]
    async fn waiting_for_the_calls_until_now_ends_with_the_last_of_them() {
        let calls = Calls::default();
        let call = calls.begin("urn:a");
        let snapshot = calls.snapshot();
        let later = calls.begin("urn:b");
        let waiter = tokio::spawn({
            let snapshot = snapshot.clone();
            async move { snapshot.ended().await }
        });
        assert!(snapshot.are_running());
        drop(call);
        waiter.await.expect("the waiter ends");
        assert!(calls.snapshot().are_running());
        drop(later);
    }

    #[tokio::test]
    async fn only_what_has_begun_is_broken_off() {
        let calls = Calls::default();
        let ended = calls.begin("urn:a");
        let early = calls.begin("urn:b");
        let snapshot = calls.snapshot();
        let later = calls.begin("urn:c");
        drop(ended);
        snapshot.interrupt_after(Duration::ZERO).await;
        assert!(early.interrupted().is_cancelled());
        assert!(!later.interrupted().is_cancelled());
        calls.close();
        assert!(later.interrupted().is_cancelled());
        assert!(calls.begin("urn:d").interrupted().is_cancelled(), "the connection is closed");
    }
}
