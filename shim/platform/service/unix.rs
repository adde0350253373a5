//! systemd, or another manager with the same interfaces: a socket as descriptor 3 (`LISTEN_FDS`), and messages about the state
//! (`NOTIFY_SOCKET`).

use std::io;
use std::time::Duration;

use listenfd::ListenFd;
use sd_notify::NotifyState;

use super::PassedError;
use crate::local::{StdListener, listening};

/// The socket that the service manager has passed to this process. The first call takes it, and removes what names it from the
/// environment, so it precedes the first thread.
///
/// # Errors
/// When several were passed, or another kind.
pub fn passed_socket() -> Result<Option<StdListener>, PassedError> {
    let mut passed = ListenFd::from_env();
    if passed.len() > 1 {
        return Err(PassedError::Number(passed.len()));
    }
    let socket = passed.take_unix_listener(0).map_err(PassedError::Kind)?;
    socket.map(listening).transpose().map_err(PassedError::Kind)
}

/// Tells the service manager that connections are accepted, and that this is now the main process if it `replaces` another.
///
/// # Errors
/// When there is a manager that cannot be reached.
pub fn ready(replaces: bool) -> io::Result<()> {
    let main = replaces.then(|| NotifyState::MainPid(std::process::id()));
    sd_notify::notify(&main.into_iter().chain([NotifyState::Ready]).collect::<Vec<_>>())
}

/// Tells the service manager that the daemon ends, and how long that may take.
///
/// # Errors
/// When there is a manager that cannot be reached.
pub fn stopping(longest: Duration) -> io::Result<()> {
    // The crate's own state is for an hour at most.
    let timeout = format!("EXTEND_TIMEOUT_USEC={}", longest.as_micros());
    sd_notify::notify(&[NotifyState::Stopping, NotifyState::Custom(&timeout)])
}
