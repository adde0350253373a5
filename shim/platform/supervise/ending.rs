//! How a program ended.

use std::fmt;
use std::process::ExitStatus;

use super::family::{signal_name, signal_of};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit status.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed because its guardian process was killed by this signal.
    WithGuardian(Option<i32>),
    /// Unknown: it was not our child, or was reaped elsewhere.
    Unknown,
}

impl Ending {
    /// Whether it ended by an abort of its own.
    pub fn is_abort(self) -> bool {
        matches!(self, Self::Signal(number) if signal_name(number) == Some("SIGABRT"))
    }
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

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), signal_of(status)) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}
