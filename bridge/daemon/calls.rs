//! Which calls are under way.
//!
//! A provider's log does not say which call a line belongs to. While there is only one, there is no doubt.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The calls of one provider process.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    running: Arc<Mutex<Running>>,
    ended: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    urns: Vec<(u64, Arc<str>)>,
}

/// A call under way; it ends when this is dropped.
#[derive(Debug)]
pub struct Call {
    calls: Calls,
    number: u64,
}

/// The calls up to some moment, and none that began later.
#[derive(Clone, Debug)]
pub struct Begun {
    calls: Calls,
    next: u64,
}

impl Calls {
    /// Begins a call about the resource `urn` (empty: about none).
    pub fn begin(&self, urn: &str) -> Call {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let number = running.next;
        running.next += 1;
        running.urns.push((number, Arc::from(urn)));
        Call { calls: self.clone(), number }
    }

    /// The resource of the only call under way.
    pub fn only_urn(&self) -> Option<Arc<str>> {
        match self.running.lock().unwrap_or_else(PoisonError::into_inner).urns.as_slice() {
            [(_, urn)] => Some(Arc::clone(urn)),
            _ => None,
        }
    }

    /// The calls that have begun until now.
    pub fn begun(&self) -> Begun {
        let next = self.running.lock().unwrap_or_else(PoisonError::into_inner).next;
        Begun { calls: self.clone(), next }
    }
}

impl Begun {
    /// Whether any of them is under way.
    pub fn are_running(&self) -> bool {
        let running = self.calls.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.urns.iter().any(|(number, _)| *number < self.next)
    }

    /// Waits until none of them is under way.
    pub async fn ended(&self) {
        loop {
            let ended = self.calls.ended.notified();
            if !self.are_running() {
                return;
            }
            ended.await;
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut running = self.calls.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.urns.retain(|(number, _)| *number != self.number);
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
        drop(second);
        assert!(!calls.begun().are_running());
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
}
