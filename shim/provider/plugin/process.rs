//! A provider process in the daemon: its id while it is valid, killing it, and its exit.
//!
//! A process id is valid until the process is reaped; then it may be reused. Only the guardian
//! reaps it, and only the guardian kills by id: the daemon kills by shutting down the guardian's
//! socket.

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
    /// By itself, with this exit status. Go programs that panic exit with 2.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed because its guardian process was killed by this signal.
    WithGuardian(Option<i32>),
    /// Unknown: it was not our child, or was reaped elsewhere.
    Unknown,
}

/// The exit of a provider process, and its last output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub ending: Ending,
    /// Its last lines of output, oldest first, truncated and escaped.
    pub last_lines: Vec<String>,
    /// The beginning of a panic's trace.
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

/// The ending on the first line, followed by the trace, or else the last lines.
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

    /// The last output after the ending, if any.
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

/// A provider with a guardian. Dropping it kills it and its session.
#[derive(Debug)]
pub(super) struct ChildProcess {
    id: Pid,
    guardian: UnixStream,
    has_ended: AtomicBool,
}

impl ChildProcess {
    /// The provider of this id, and the socket of its guardian.
    pub(super) fn new(id: Pid, guardian: UnixStream) -> Self {
        Self { id, guardian, has_ended: AtomicBool::new(false) }
    }

    /// Its process id, while it is valid.
    pub(super) fn id(&self) -> Option<u32> {
        let id = self.id.as_raw_nonzero().get().unsigned_abs();
        (!self.has_ended.load(Ordering::Acquire)).then_some(id)
    }

    /// The guardian has reported its exit.
    pub(super) fn note_end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Kills the process and its session. No effect after its exit.
    pub(super) fn kill(&self) {
        // It fails only if the guardian has exited.
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

/// Maximum lines of a trace in an error text; all are in [`Exit::panic`].
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
