//! Limits of a provider's calls: timeouts and cancellation.
//!
//! Calls have no deadline by default: creating a database may take hours. A user's timeout is for
//! an operation, which consists of several calls in several functions. So a limit belongs to the
//! operation's handle of the provider ([`Provider::within`](crate::Provider::within)), and applies
//! to all its calls.
//!
//! A cancelled call loses its response, and with it the state of a partially created object. So
//! after a timeout the provider is stopped first and may still respond; but StopProvider affects
//! all calls, so it is only sent if there is no other ([`InFlight`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Limit of an operation's calls; none by default. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    stop_grace_period: Duration,
    deadline: Arc<OnceLock<Deadline>>,
    cancelled: CancellationToken,
    asked_to_stop: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Instant,
    after: Duration,
}

/// Why a call was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The operation's timeout.
    TimedOut(Duration),
    /// The provider was stopped, and the call did not end within this time.
    Cancelled(Duration),
}

impl Limit {
    /// Calls end after `cancelled`. A stopped provider may take `stop_grace_period` to respond.
    pub fn new(cancelled: CancellationToken, stop_grace_period: Duration) -> Self {
        Self { stop_grace_period, cancelled, ..Self::default() }
    }

    /// Sets a deadline, once. A time beyond the clock's range is ignored.
    pub fn at_most(&self, time: Duration) {
        if let Some(at) = Instant::now().checked_add(time) {
            self.deadline.get_or_init(|| Deadline { at, after: time });
        }
    }

    /// Whether the provider was stopped because of the timeout.
    pub fn asked_to_stop(&self) -> bool {
        self.asked_to_stop.load(Ordering::Relaxed)
    }

    /// The reason why no call may start any more.
    pub(super) fn has_passed(&self) -> Option<Interruption> {
        if self.cancelled.is_cancelled() {
            return Some(Interruption::Cancelled(self.stop_grace_period));
        }
        let deadline = self.deadline.get().filter(|deadline| deadline.at <= Instant::now())?;
        Some(Interruption::TimedOut(deadline.after))
    }

    /// Waits for the limit, perhaps for ever.
    pub(super) async fn comes(&self) -> Interruption {
        let deadline = async {
            match self.deadline.get() {
                Some(deadline) => {
                    tokio::time::sleep_until(deadline.at).await;
                    Interruption::TimedOut(deadline.after)
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.cancelled.cancelled() => Interruption::Cancelled(self.stop_grace_period),
            cut = deadline => cut,
        }
    }

    /// Waits for the grace period of a stopped provider.
    pub(super) async fn grace_is_over(&self) {
        self.asked_to_stop.store(true, Ordering::Relaxed);
        tokio::select! {
            () = self.cancelled.cancelled() => {}
            () = tokio::time::sleep(self.stop_grace_period) => {}
        }
    }
}

/// The number of a process's calls in progress.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    calls: usize,
    held: bool,
    /// Whether the process was ever told to stop its calls.
    was_stopped: bool,
}

/// A call in progress, or an open stream.
#[derive(Debug)]
pub(super) struct Entered(Arc<InFlight>);

/// No call starts while this exists.
#[derive(Debug)]
pub(super) struct Held(Arc<InFlight>);

impl InFlight {
    /// Starts a call, perhaps after waiting for a StopProvider of another.
    pub(super) async fn enter(self: &Arc<Self>) -> Entered {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state();
                if !state.held {
                    state.calls += 1;
                    return Entered(Arc::clone(self));
                }
            }
            changed.await;
        }
    }

    /// Prevents other calls from starting, if `call` is the only one.
    pub(super) fn hold_if_alone(call: &Entered) -> Option<Held> {
        let mut state = call.0.state();
        if state.calls > 1 || state.held {
            return None;
        }
        state.held = true;
        Some(Held(Arc::clone(&call.0)))
    }

    /// Records a StopProvider.
    pub(super) fn note_stop(&self) {
        self.state().was_stopped = true;
    }

    /// Whether there was a StopProvider.
    pub(super) fn was_stopped(&self) -> bool {
        self.state().was_stopped
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one assignment, so a panic elsewhere leaves a valid state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.state().calls -= 1;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.state().held = false;
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_provider_is_held_only_for_a_call_that_is_alone() {
        let in_flight = Arc::new(InFlight::default());
        let one = in_flight.enter().await;
        let other = in_flight.enter().await;
        assert!(InFlight::hold_if_alone(&one).is_none());
        drop(other);
        let held = InFlight::hold_if_alone(&one).expect("it is alone");
        let mut next = Box::pin(in_flight.enter());
        let is_pending =
            std::future::poll_fn(|context| std::task::Poll::Ready(next.as_mut().poll(context).is_pending()));
        assert!(is_pending.await, "no call begins while the provider is held");
        drop(held);
        drop(next.await);
    }

    #[test]
    fn without_a_limit_nothing_ends() {
        assert_eq!(Limit::default().has_passed(), None);
        let endless = Limit::default();
        endless.at_most(Duration::MAX);
        assert_eq!(endless.has_passed(), None);
    }

    #[tokio::test]
    async fn a_deadline_holds_for_every_clone_of_a_limit() {
        let cancelled = CancellationToken::new();
        let limit = Limit::new(cancelled.clone(), Duration::from_secs(1));
        let clone = limit.clone();
        limit.at_most(Duration::ZERO);
        assert_eq!(clone.comes().await, Interruption::TimedOut(Duration::ZERO));
        cancelled.cancel();
        assert_eq!(clone.has_passed(), Some(Interruption::Cancelled(Duration::from_secs(1))));
    }
}
