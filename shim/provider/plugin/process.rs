//! A provider process as the daemon sees it: its id while that is its own, the way to kill it, and how it ended.
//!
//! A process id means something only until it is waited for; afterwards the system may give it to a stranger. Only the
//! guardian waits, and only it kills by a number: here a provider is killed by shutting down the guardian's socket.

use std::fmt;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal};

use super::logs::LastWords;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit status. A Go program that panics ends with 2.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed because its guardian process had ended, which was ended by this signal.
    WithGuardian(Option<i32>),
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
            Self::WithGuardian(Some(number)) => {
                write!(
                    formatter,
                    "killed with its guardian process, which ended by {}",
                    Self::Signal(*number)
                )
            }
            Self::WithGuardian(None) => formatter.write_str("killed with its guardian process, which ended"),
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

/// A provider under guard. Dropping it kills it, with all that it has started.
#[derive(Debug)]
pub(super) struct ChildProcess {
    id: Pid,
    guardian: UnixStream,
    has_ended: AtomicBool,
}

impl ChildProcess {
    /// The provider of this id, and the way to its guardian.
    pub(super) fn new(id: Pid, guardian: UnixStream) -> Self {
        Self { id, guardian, has_ended: AtomicBool::new(false) }
    }

    /// Its process id, while that is its own.
    pub(super) fn id(&self) -> Option<u32> {
        let id = self.id.as_raw_nonzero().get().unsigned_abs();
        (!self.has_ended.load(Ordering::Acquire)).then_some(id)
    }

    /// Notes that the guardian has reported its end.
    pub(super) fn note_end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Kills the process and everything in its session. Without effect once it has ended.
    pub(super) fn kill(&self) {
        // The only failure is a guardian that is not there any more.
        let _ = self.guardian.shutdown(Shutdown::Write);
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
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
