//! What ends a provider's calls before the provider does: time that has run out, or that nobody waits any more.
//!
//! No call has a deadline of its own: creating a database may take hours. Who does set one is the user, for an operation,
//! and an operation is several calls made by several functions. So a limit travels with the task, as a context does in Go,
//! instead of through every signature, and no call of an operation can be made without it.
//!
//! A call that is broken off loses its answer, and with it what the provider would have said of a half-made object. So when
//! time has run out, the provider is asked to stop first and may still answer; but a provider stops everything that it is
//! doing, so it is asked only while there is nothing else ([`InFlight`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

tokio::task_local! {
    static CURRENT: Limit;
}

/// When the calls of an operation are broken off. The default is never. Clones share what has happened.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    stop_grace_period: Duration,
    deadline: Option<Deadline>,
    broken_off: CancellationToken,
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
    BrokenOff(Duration),
}

impl Limit {
    /// Calls end when `broken_off` does. A provider that is asked to stop may take `grace` to answer.
    pub fn new(broken_off: CancellationToken, stop_grace_period: Duration) -> Self {
        Self { stop_grace_period, deadline: None, broken_off, asked_to_stop: Arc::default() }
    }

    /// The same, and no longer than `time` from now. A time beyond what a clock holds is none.
    #[must_use]
    pub fn at_most(self, time: Duration) -> Self {
        let deadline = Instant::now().checked_add(time).map(|at| Deadline { at, after: time });
        Self { deadline, ..self }
    }

    /// Does something, all of whose calls end here.
    pub async fn within<T>(&self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self.clone(), work).await
    }

    /// Whether time ran out and the provider was asked to stop for it.
    pub fn asked_to_stop(&self) -> bool {
        self.asked_to_stop.load(Ordering::Relaxed)
    }

    /// The limit of whoever makes a call now.
    pub(super) fn current() -> Self {
        CURRENT.try_with(Clone::clone).unwrap_or_default()
    }

    /// Whether it is too late to begin a call.
    pub(super) fn has_passed(&self) -> Option<Interruption> {
        if self.broken_off.is_cancelled() {
            return Some(Interruption::BrokenOff(self.stop_grace_period));
        }
        let deadline = self.deadline.filter(|deadline| deadline.at <= Instant::now())?;
        Some(Interruption::TimedOut(deadline.after))
    }

    /// Waits until it comes, which may be never.
    pub(super) async fn comes(&self) -> Interruption {
        let deadline = async {
            match self.deadline {
                Some(deadline) => {
                    tokio::time::sleep_until(deadline.at).await;
                    Interruption::TimedOut(deadline.after)
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.broken_off.cancelled() => Interruption::BrokenOff(self.stop_grace_period),
            cut = deadline => cut,
        }
    }

    /// Waits for as long as a provider that was asked to stop may take.
    pub(super) async fn grace_is_over(&self) {
        self.asked_to_stop.store(true, Ordering::Relaxed);
        tokio::select! {
            () = self.broken_off.cancelled() => {}
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

    #[tokio::test]
    async fn without_a_limit_nothing_ends() {
        assert_eq!(Limit::current().has_passed(), None);
        let endless = Limit::default().at_most(Duration::MAX);
        assert_eq!(endless.within(async { Limit::current().has_passed() }).await, None);
    }

    #[tokio::test]
    async fn a_limit_holds_for_everything_that_is_done_within_it() {
        let broken_off = CancellationToken::new();
        let limit = Limit::new(broken_off.clone(), Duration::from_secs(1)).at_most(Duration::ZERO);
        let cut = limit.within(async { Limit::current().comes().await }).await;
        assert_eq!(cut, Interruption::TimedOut(Duration::ZERO));
        broken_off.cancel();
        assert_eq!(limit.has_passed(), Some(Interruption::BrokenOff(Duration::from_secs(1))));
        assert_eq!(Limit::current().has_passed(), None);
    }
}
