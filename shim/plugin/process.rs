//! A child process and its whole group: killed together, waited for always, and remembered by how it ended.
//!
//! A process id means something only until it is waited for; afterwards the system may give it, and the group of the
//! same number, to a stranger. All killing and waiting therefore goes through one lock, and the group is killed
//! *before* its leader is waited for, while the leader's zombie still guards the number. That also takes along the
//! helpers which a provider started and left behind.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::signal::unix::{SignalKind, signal};

use super::logs::LastWords;
use super::spawn::bury;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit status. A Go program that panics ends with 2.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody can tell: it was not our child, or somebody else waited for it.
    Unknown,
}

/// The end of a provider process, and what it said last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub ending: Ending,
    /// Its last lines of output, oldest first, cut, and free of control characters.
    pub last_lines: Vec<String>,
    /// The beginning of the trace, if it panicked.
    pub panic: Option<String>,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit status {code}"),
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(formatter, "signal {number} ({name})"),
                None => write!(formatter, "signal {number}"),
            },
            Self::Unknown => formatter.write_str("unknown exit status"),
        }
    }
}

/// The ending on the first line; on the following ones the trace, or else the last lines.
impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.ending)?;
        self.write_last_words(formatter)
    }
}

impl Exit {
    pub(super) fn new(ending: Ending, last_words: LastWords) -> Self {
        Self { ending, last_lines: last_words.lines, panic: last_words.panic }
    }

    /// What follows the ending in a text: nothing, when nothing was said.
    pub(super) fn write_last_words(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(panic) = &self.panic {
            write!(formatter, "; it panicked:")?;
            for line in panic.lines().take(SHOWN_PANIC_LINES) {
                write!(formatter, "\n    {line}")?;
            }
        } else if !self.last_lines.is_empty() {
            write!(formatter, "; its last lines of output:")?;
            for line in &self.last_lines {
                write!(formatter, "\n    {line}")?;
            }
        }
        Ok(())
    }
}

/// A child of ours, leader of its own process group. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct ChildProcess {
    id: Pid,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Running, or ended and not yet waited for: its id is its own.
    Present(Child),
    /// Waited for: its id belongs to nobody we know.
    Gone(Ending),
}

/// Wakes up whenever any child of this program ends. To be made before the child is, so that no end is missed.
#[derive(Debug)]
pub(super) struct Bell(tokio::signal::unix::Signal);

impl Bell {
    /// # Errors
    /// When the system does not let us handle the signal.
    pub(super) fn new() -> io::Result<Self> {
        signal(SignalKind::child()).map(Self)
    }
}

impl ChildProcess {
    pub(super) fn new(child: Child) -> Self {
        // Lossless: the system's process ids are positive signed numbers.
        let id = Pid::from_child(&child);
        Self { id, state: Mutex::new(State::Present(child)) }
    }

    /// Its process id, while that is its own.
    pub(super) fn id(&self) -> Option<u32> {
        match &*self.state() {
            State::Present(child) => Some(child.id()),
            State::Gone(_) => None,
        }
    }

    /// Kills the process and everything in its group. Without effect once it has been waited for.
    pub(super) fn kill(&self) {
        if let State::Present(_) = &*self.state() {
            // The only failure is a group that is not there any more.
            let _ = kill_process_group(self.id, Signal::KILL);
        }
    }

    /// Waits for the end; kills what is left of the group. May be cancelled and called again.
    pub(super) async fn ended(&self, bell: &mut Bell) -> Ending {
        loop {
            if let Some(ending) = self.reap() {
                return ending;
            }
            if bell.0.recv().await.is_none() {
                // Only when the runtime goes down, and this task with it.
                std::future::pending::<()>().await;
            }
        }
    }

    fn reap(&self) -> Option<Ending> {
        let mut state = self.state();
        let child = match &mut *state {
            State::Gone(ending) => return Some(*ending),
            State::Present(child) => child,
        };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if let Ok(None) | Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(self.id), look) {
            return None;
        }
        let _ = kill_process_group(self.id, Signal::KILL);
        // Returns at once: the child has ended, or (`ECHILD`) is not there to be waited for.
        let ending = child.wait().map_or(Ending::Unknown, Ending::from);
        *state = State::Gone(ending);
        Some(ending)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No update can leave the state half-made, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
        if self.reap().is_some() {
            return;
        }
        if let State::Present(child) = std::mem::replace(&mut *self.state(), State::Gone(Ending::Unknown)) {
            bury(child);
        }
    }
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

/// How much of a trace an error text shows; the rest is in [`Exit::panic`].
const SHOWN_PANIC_LINES: usize = 20;

fn signal_name(number: i32) -> Option<&'static str> {
    let named = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
        (Signal::SYS, "SIGSYS"),
    ];
    named.into_iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_tells_how_it_ended_and_what_was_said_last() {
        let exit = Exit {
            ending: Ending::Code(1),
            last_lines: vec!["cannot read".into(), "giving up".into()],
            panic: None,
        };
        assert_eq!(
            exit.to_string(),
            "exit status 1; its last lines of output:\n    cannot read\n    giving up"
        );
        let killed = Exit { ending: Ending::Signal(9), last_lines: Vec::new(), panic: None };
        assert_eq!(killed.to_string(), "signal 9 (SIGKILL)");
    }

    #[test]
    fn a_panic_is_shown_instead_of_what_came_before() {
        let exit = Exit {
            ending: Ending::Code(2),
            last_lines: vec!["starting".into()],
            panic: Some("panic: boom\n\ngoroutine 1 [running]:\n".into()),
        };
        assert_eq!(
            exit.to_string(),
            "exit status 2; it panicked:\n    panic: boom\n    \n    goroutine 1 [running]:"
        );
    }
}
