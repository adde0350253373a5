//! Other processes on Windows, which has no signals.

use isthmus_platform::process::began;
use isthmus_platform::supervise::ForeignProcess;

use super::PATIENCE;

/// What a process can be sent. Windows has nothing like it but to kill a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal(&'static str);

impl Signal {
    pub(crate) const KILL: Self = Self("SIGKILL");
    pub(crate) const TERM: Self = Self("SIGTERM");
    pub(crate) const INT: Self = Self("SIGINT");
    pub(crate) const HUP: Self = Self("SIGHUP");
    pub(crate) const STOP: Self = Self("SIGSTOP");
    pub(crate) const CONT: Self = Self("SIGCONT");
}

/// Waits until a process, which need not be a child, has ended.
pub(crate) async fn ended(process: u32) {
    let Some(found) = ForeignProcess::find(process) else { return };
    let waited = tokio::time::timeout(PATIENCE, found.ended()).await;
    assert!(waited.is_ok(), "process {process} still lives");
}

/// Whether a process lives.
pub(crate) fn lives(process: u32) -> bool {
    began(process).is_some()
}

/// The children of a process.
pub(crate) fn children(process: u32) -> Vec<u32> {
    isthmus_platform::process::children(process)
}

/// A process, and how it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) process: u32,
    pub(crate) command: String,
}

/// Not to be had: the environment of another process is in its memory alone.
pub(crate) fn with_variable(name: &str, _: &str) -> Vec<Found> {
    panic!("Windows lists no processes by a variable of their environment, such as {name}")
}

/// Sends a signal.
pub(crate) fn signal(process: u32, signal: Signal) {
    assert_eq!(signal, Signal::KILL, "Windows has no such signal");
    kill(process);
}

/// Kills a process, which may have ended.
pub(crate) fn kill(process: u32) {
    if let Some(found) = ForeignProcess::find(process) {
        found.kill();
    }
}
