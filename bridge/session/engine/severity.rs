//! How severe a log line is.

/// The numbers are those of both engines' `LogSeverity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Shown for debugging only.
    Debug = 0,
    Info = 1,
    Warning = 2,
    /// Accompanies a call that fails.
    Error = 3,
}
