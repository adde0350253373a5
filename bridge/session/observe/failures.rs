//! The calls that failed last, for the status page: what failed, where and when, and no text, which may quote values.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tonic::Code;

/// How many are remembered.
const REMEMBERED: usize = 50;

/// A call that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub at: SystemTime,
    pub rpc: &'static str,
    /// The provider's label.
    pub provider: Arc<str>,
    pub code: Code,
}

/// The last failures.
#[derive(Debug, Default)]
pub(super) struct RecentFailures(Mutex<VecDeque<Failure>>);

impl RecentFailures {
    pub(super) fn add(&self, failure: Failure) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        all.push_back(failure);
    }

    /// The newest first.
    pub(super) fn list(&self) -> Vec<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_come_first_and_old_ones_are_forgotten() {
        let failures = RecentFailures::default();
        for rpc in ["Create"; REMEMBERED].into_iter().chain(["Read", "Delete"]) {
            let (at, provider, code) = (SystemTime::now(), "none".into(), Code::Unknown);
            failures.add(Failure { at, rpc, provider, code });
        }
        let listed: Vec<&str> = failures.list().iter().map(|failure| failure.rpc).collect();
        assert_eq!((listed.len(), &listed[..3]), (REMEMBERED, &["Delete", "Read", "Create"][..]));
    }
}
