//! Time, so that tests need not wait for it.

use std::fmt;
use std::time::{Duration, SystemTime};

use isthmus_common::BoxFuture;

/// Tells the time and lets it pass.
pub(crate) trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time of day.
    fn now(&self) -> SystemTime;

    /// Waits.
    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()>;
}

/// The machine's clock.
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
