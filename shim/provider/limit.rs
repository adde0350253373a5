//! What ends a provider's calls before the provider does: time that has run out, or that nobody waits any more.
//!
//! No call has a deadline of its own: creating a database may take hours. Who does set one is the user, for an operation,
//! and an operation is several calls made by several functions. So a limit belongs to the handle of the provider that the
//! operation is given ([`Provider::within`](crate::Provider::within)), and no call of it can be made without.
//!
//! A call that is broken off loses its answer, and with it what the provider would have said of a half-made object. So when
//! time has run out, the provider is asked to stop first and may still answer; but a provider stops everything that it is
//! doing, so it is asked only while there is nothing else ([`InFlight`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// When the calls of an operation are broken off. The default is never. Clones share what has happened.
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

/// Why a call was broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The operation took longer than this.
    TimedOut(Duration),
    /// Nobody waits any longer: the provider was asked to stop, and did not within this time.
    Cancelled(Duration),
}

impl Limit {
    /// Calls end when `cancelled` does. A provider that is asked to stop may take `grace` to answer.
    pub fn new(cancelled: CancellationToken, stop_grace_period: Duration) -> Self {
        Self { stop_grace_period, cancelled, ..Self::default() }
    }

    /// Sets a deadline, once: so long from now. A time beyond what a clock holds is none.
    pub fn at_most(&self, time: Duration) {
        if let Some(at) = Instant::now().checked_add(time) {
            self.deadline.get_or_init(|| Deadline { at, after: time });
        }
    }

    /// Whether time ran out and the provider was asked to stop for it.
    pub fn asked_to_stop(&self) -> bool {
        self.asked_to_stop.load(Ordering::Relaxed)
    }

    /// Whether it is too late to begin a call.
    pub(super) fn has_passed(&self) -> Option<Interruption> {
        if self.cancelled.is_cancelled() {
            return Some(Interruption::Cancelled(self.stop_grace_period));
        }
        let deadline = self.deadline.get().filter(|deadline| deadline.at <= Instant::now())?;
        Some(Interruption::TimedOut(deadline.after))
    }

    /// Waits until it comes, which may be never.
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

    /// Waits for as long as a provider that was asked to stop may take.
    pub(super) async fn grace_is_over(&self) {
        self.asked_to_stop.store(true, Ordering::Relaxed);
        tokio::select! {
            () = self.cancelled.cancelled() => {}
            () = tokio::time::sleep(self.stop_grace_period) => {}
        }
    }
}

/// How many calls a process is busy with.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    calls: usize,
    held: bool,
}

/// A call under way, or a stream that is open.
#[derive(Debug)]
pub(super) struct Entered(Arc<InFlight>);

/// While this lives, no call begins.
#[derive(Debug)]
pub(super) struct Held(Arc<InFlight>);

impl InFlight {
    /// Begins a call, which may have to wait until a provider has been asked to stop another one.
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

    /// Keeps other calls from beginning, if `call` is the only one.
    pub(super) fn hold_if_alone(call: &Entered) -> Option<Held> {
        let mut state = call.0.state();
        if state.calls > 1 || state.held {
            return None;
        }
        state.held = true;
        Some(Held(Arc::clone(&call.0)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one assignment, so a panic elsewhere leaves nothing half done.
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
