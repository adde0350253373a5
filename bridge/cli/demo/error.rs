//! Why the demonstration ended early.

use crate::cli::runtime::RuntimeError;

#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    /// A failure of the local system.
    #[error("{what}")]
    Machine {
        what: String,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("{file} cannot be used as inputs: {reason}")]
    Inputs { file: String, reason: String },
    /// The daemon did not start or report its port.
    #[error("the daemon did not start: {0}")]
    Start(String),
    #[error("{step} failed: {reason}")]
    Call {
        step: &'static str,
        /// The daemon's error.
        reason: String,
    },
    /// A result is not the expected one.
    #[error("{step}: {expectation}")]
    Expectation { step: &'static str, expectation: String },
}

impl DemoError {
    /// A failure of Check.
    pub(super) fn refused(step: &'static str, property: &str, reason: &str) -> Self {
        // The property is empty if the reason names it.
        let place = if property.is_empty() { String::new() } else { format!("{property}: ") };
        Self::Call { step, reason: format!("{place}{reason}") }
    }
}
