//! What is wrong with a switch; the user's fault.

/// A switch that cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SwitchError {
    /// There is no switch of this name.
    #[error("{name} is not a switch of the sandbox; the switches are {}", known.join(", "))]
    UnknownName {
        /// The variable's name.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// The switch has no such value.
    #[error("{name} is {value:?}, but it must be {expected}")]
    BadValue {
        /// The variable's name.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// The file with more switches cannot be read.
    #[cfg(feature = "misbehaviour")]
    #[error("SANDBOX_FILE names {path}, which cannot be read")]
    File {
        /// The file.
        path: String,
        /// Why not.
        source: FileError,
    },
    /// Two switches contradict each other.
    #[cfg(feature = "misbehaviour")]
    #[error(
        "SANDBOX_MINOR asks for protocol {minor}, but SANDBOX_PROTOCOL for {protocol}: set one of them, or let them agree"
    )]
    Conflict {
        /// The major that SANDBOX_MINOR asks for.
        minor: crate::Protocol,
        /// The major that SANDBOX_PROTOCOL asks for.
        protocol: crate::Protocol,
    },
}

/// Why a file of switches cannot be read.
#[cfg(feature = "misbehaviour")]
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FileError {
    /// The system does not let us.
    #[error("{0}")]
    Read(String),
    /// A line is no switch.
    #[error("{0:?} is not of the form NAME=value")]
    Line(String),
}

/// A value that the switch does not have.
pub(crate) fn bad(name: &'static str, value: &str, expected: &'static str) -> SwitchError {
    SwitchError::BadValue { name, value: value.to_owned(), expected }
}
