//! The clock, replaceable in tests.

use std::fmt;
use std::time::{Duration, SystemTime};

use isthmus_common::BoxFuture;

/// A clock.
pub(crate) trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> SystemTime;

    /// Waits.
    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()>;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
