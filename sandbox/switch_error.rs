//! Errors of switches.

/// A switch is invalid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum SwitchError {
    /// There is no switch of this name.
    #[error("{name} is not a switch of the sandbox; the switches are {}", known.join(", "))]
    UnknownName {
        name: String,
        /// Names of all switches.
        known: Vec<&'static str>,
    },
    /// The value is invalid.
    #[error("{name} is {value:?}, but it must be {expected}")]
    BadValue {
        name: &'static str,
        value: String,
        /// Valid values.
        expected: &'static str,
    },
    /// The file of switches cannot be read.
    #[cfg(feature = "misbehaviour")]
    #[error("SANDBOX_FILE names {path}, which cannot be read")]
    File { path: String, source: FileError },
    /// Two switches contradict each other.
    #[cfg(feature = "misbehaviour")]
    #[error(
        "SANDBOX_MINOR asks for protocol {minor}, but SANDBOX_PROTOCOL for {protocol}: set one of them, or let them agree"
    )]
    Conflict {
        /// The major of SANDBOX_MINOR.
        minor: crate::Protocol,
        /// The major of SANDBOX_PROTOCOL.
        protocol: crate::Protocol,
    },
}

/// Why a file of switches cannot be read.
#[cfg(feature = "misbehaviour")]
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum FileError {
    /// An I/O error.
    #[error("{0}")]
    Read(String),
    #[error("{0:?} is not of the form NAME=value")]
    Line(String),
}

/// An invalid value.
pub(crate) fn bad(name: &'static str, value: &str, expected: &'static str) -> SwitchError {
    SwitchError::BadValue { name, value: value.to_owned(), expected }
}
