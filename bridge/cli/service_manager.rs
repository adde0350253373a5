//! Reports the daemon's state to its service manager.
//!
//! Providers get the environment of their plugin, so that no variable of the manager reaches them.

use std::io;
use std::time::Duration;

use isthmus_platform::service;

use super::output::warn;

/// Tells the service manager that connections are accepted, and that this is now the main process if it `replaces` another.
pub(super) fn ready(replaces: bool) {
    reported(service::ready(replaces));
}

/// Tells the service manager that the daemon ends, and how long that may take.
pub(super) fn stopping(longest: Duration) {
    reported(service::stopping(longest));
}

fn reported(told: io::Result<()>) {
    if let Err(error) = told {
        warn(&format!("the service manager cannot be notified: {error}"));
    }
}
