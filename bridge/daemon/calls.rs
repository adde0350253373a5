//! Which calls are under way, and which of them nobody waits for any longer.
//!
//! A provider's log does not say which call a line belongs to. While there is only one, there is no doubt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The calls of one provider process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    running: Arc<Mutex<Running>>,
    ended: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    calls: Vec<Entry>,
    /// Whether nobody waits for any call any longer.
    closed: bool,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    urn: Arc<str>,
    broken_off: CancellationToken,
}

/// What the numbers of calls begin with that no engine has asked for: later than every other, they belong to no moment.
const BESIDE: u64 = 1 << 63;

/// A call under way; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Call {
    calls: Calls,
    number: u64,
    broken_off: CancellationToken,
}

/// The calls up to some moment, and none that began later.
#[derive(Clone, Debug)]
pub(crate) struct CallSnapshot {
    calls: Calls,
    next: u64,
}

impl Calls {
    /// Begins a call about the resource `urn` (empty: about none).
    pub(crate) fn begin(&self, urn: &str) -> Call {
        self.enter(0, urn)
    }

    /// Begins a call that no engine has asked for. Nobody waits for it as for the others, but a line of the provider's log
    /// may be about it.
    pub(crate) fn beside(&self) -> Call {
        self.enter(BESIDE, "")
    }

    fn enter(&self, first: u64, urn: &str) -> Call {
        let mut running = self.running();
        let number = first + running.next;
        running.next += 1;
        let broken_off = CancellationToken::new();
        if running.closed {
            broken_off.cancel();
        }
        running.calls.push(Entry { number, urn: Arc::from(urn), broken_off: broken_off.clone() });
        Call { calls: self.clone(), number, broken_off }
    }

    /// The resource of the only call under way.
    pub(crate) fn only_urn(&self) -> Option<Arc<str>> {
        match self.running().calls.as_slice() {
            [only] => Some(Arc::clone(&only.urn)),
            _ => None,
        }
    }

    /// The calls that have begun until now.
    pub(crate) fn begun(&self) -> CallSnapshot {
        let next = self.running().next;
        CallSnapshot { calls: self.clone(), next }
    }

    /// Breaks off all calls, those that begin from now on too.
    pub(crate) fn close(&self) {
        self.running().closed = true;
        self.begun().break_off();
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Ends when nobody waits for the call any longer.
    pub(crate) fn broken_off(&self) -> CancellationToken {
        self.broken_off.clone()
    }
}

impl CallSnapshot {
    /// Whether any of them is under way.
    pub(crate) fn are_running(&self) -> bool {
        self.calls.running().calls.iter().any(|call| call.number < self.next)
    }

    /// Waits until none of them is under way.
    pub(crate) async fn ended(&self) {
        loop {
            let ended = self.calls.ended.notified();
            if !self.are_running() {
                return;
            }
            ended.await;
        }
    }

    /// Sees to it that whoever waits for those that are under way is told what is known of them by now.
    pub(crate) fn break_off(&self) {
        for call in self.calls.running().calls.iter().filter(|call| call.number < self.next) {
            call.broken_off.cancel();
        }
    }

    /// Breaks off what has not ended after `grace`.
    pub(crate) async fn break_off_after(&self, stop_grace_period: Duration) {
        if tokio::time::timeout(stop_grace_period, self.ended()).await.is_err() {
            self.break_off();
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.calls.running().calls.retain(|call| call.number != self.number);
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
        let beside = calls.beside();
        assert_eq!(calls.only_urn(), None);
        drop(second);
        assert!(!calls.begun().are_running(), "what was not asked for is not waited for");
        drop(beside);
    }

    #[tokio::test]
    async fn waiting_for_the_calls_until_now_ends_with_the_last_of_them() {
        let calls = Calls::default();
        let call = calls.begin("urn:a");
        let begun = calls.begun();
        let later = calls.begin("urn:b");
        let waiter = tokio::spawn({
            let begun = begun.clone();
            async move { begun.ended().await }
        });
        assert!(begun.are_running());
        drop(call);
        waiter.await.expect("the waiter ends");
        assert!(calls.begun().are_running());
        drop(later);
    }

    #[tokio::test]
    async fn only_what_has_begun_is_broken_off() {
        let calls = Calls::default();
        let ended = calls.begin("urn:a");
        let early = calls.begin("urn:b");
        let begun = calls.begun();
        let later = calls.begin("urn:c");
        drop(ended);
        begun.break_off_after(Duration::ZERO).await;
        assert!(early.broken_off().is_cancelled());
        assert!(!later.broken_off().is_cancelled());
        calls.close();
        assert!(later.broken_off().is_cancelled());
        assert!(calls.begin("urn:d").broken_off().is_cancelled(), "nobody waits for it");
    }
}
