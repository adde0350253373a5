//! The daemon as a service of systemd, or of another manager with the same interfaces: the socket that the manager passes to it
//! (`LISTEN_FDS`), and what it tells the manager of its state (`NOTIFY_SOCKET`).
//!
//! Providers get the environment of their plugin, so that neither variable reaches them.

use std::io;
use std::time::Duration;

use listenfd::ListenFd;
use sd_notify::NotifyState;

use super::output::warn;
use isthmus_platform::local::{StdListener, listening};

/// Why a socket of the service manager is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum ActivationError {
    #[error("{0} sockets were passed, and a daemon listens on one")]
    Number(usize),
    #[error("it is not a listening stream socket with a path")]
    Kind(#[source] io::Error),
}

/// The socket that the service manager has passed to this process. The first call takes it, and removes what names it from the
/// environment, so it precedes the first thread.
pub(super) fn passed_socket() -> Result<Option<StdListener>, ActivationError> {
    let mut passed = ListenFd::from_env();
    if passed.len() > 1 {
        return Err(ActivationError::Number(passed.len()));
    }
    let socket = passed.take_unix_listener(0).map_err(ActivationError::Kind)?;
    socket.map(listening).transpose().map_err(ActivationError::Kind)
}

/// Tells the service manager that connections are accepted, and that this is now the main process if it `replaces` another.
pub(super) fn ready(replaces: bool) {
    let main = replaces.then(|| NotifyState::MainPid(std::process::id()));
    notify(&main.into_iter().chain([NotifyState::Ready]).collect::<Vec<_>>());
}

/// Tells the service manager that the daemon ends, and how long that may take.
pub(super) fn stopping(longest: Duration) {
    // The crate's own state is for an hour at most.
    let timeout = format!("EXTEND_TIMEOUT_USEC={}", longest.as_micros());
    notify(&[NotifyState::Stopping, NotifyState::Custom(&timeout)]);
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn(&format!("the service manager cannot be notified: {error}"));
    }
}
