//! How a command that works on many things ended.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Something was not done or is wrong, as reported.
    Incomplete,
}

impl Outcome {
    pub(super) fn of(is_whole: bool) -> Self {
        if is_whole { Self::Done } else { Self::Incomplete }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Incomplete => Self::FAILURE,
        }
    }
}
