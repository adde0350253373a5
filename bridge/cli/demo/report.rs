//! Output of the demonstration.

use std::time::Duration;

use super::error::DemoError;
use super::inputs::Role;
use crate::cli::print;

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
