//! Output of the demonstration: its steps, and why it ended early.

use std::time::Duration;

use super::inputs::Role;
use crate::cli::print;
use crate::cli::runtime::RuntimeError;

/// Prints steps as they complete, and counts them.
#[derive(Debug, Default)]
pub(super) struct Report {
    steps: usize,
}

/// A completed call.
#[derive(Debug)]
pub(super) struct Step {
    /// Its name, such as `no-op diff`.
    pub(super) name: &'static str,
    pub(super) elapsed: Duration,
    /// Its Terraform calls, each with its duration.
    pub(super) calls: Vec<String>,
}

impl Report {
    /// Prints the title of a part.
    pub(super) fn scene(&mut self, title: &str, role: &Role) {
        print(&format!("\n{title}: {}\n", role.resource));
    }

    /// Prints a successful step and its outcome.
    pub(super) fn step(&mut self, step: Step, outcome: &str) {
        self.steps += 1;
        let milliseconds = step.elapsed.as_secs_f64() * 1e3;
        print(&format!("  {:<16} {milliseconds:>7.2} ms  {outcome}\n", step.name));
        for call in step.calls {
            print(&format!("  {:<16} {:>10}    {call}\n", "", ""));
        }
    }

    /// Prints a step that this provider does not support.
    pub(super) fn left_out(&mut self, name: &str, reason: &str) {
        print(&format!("  {name:<16} {:>10}  left out: {reason}\n", ""));
    }

    pub(super) fn steps(&self) -> usize {
        self.steps
    }
}

/// Fails unless a result is the expected one.
pub(super) fn expect(
    step: &'static str,
    holds: bool,
    expectation: impl Into<String>,
) -> Result<(), DemoError> {
    if holds { Ok(()) } else { Err(DemoError::Expectation { step, expectation: expectation.into() }) }
}

/// Why the demonstration ended early.
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
