//! What the demonstration prints.

use std::time::Duration;

use super::DemoError;
use super::inputs::Role;
use crate::cli::print;

/// Prints steps as they happen, and counts them.
#[derive(Debug, Default)]
pub(super) struct Report {
    steps: usize,
}

/// One step, under way.
#[derive(Debug)]
pub(super) struct Step {
    /// What it is called, such as `no-op diff`.
    pub(super) name: &'static str,
    /// How long the daemon took.
    pub(super) elapsed: Duration,
    /// The Terraform calls beneath, each with its time.
    pub(super) calls: Vec<String>,
}

impl Report {
    /// A new daemon takes the stage.
    pub(super) fn scene(&mut self, title: &str, role: &Role) {
        print(&format!("\n{title}: {}\n", role.resource));
    }

    /// A step that went well; `outcome` says what came of it.
    pub(super) fn step(&mut self, step: Step, outcome: &str) {
        self.steps += 1;
        let milliseconds = step.elapsed.as_secs_f64() * 1e3;
        print(&format!("  {:<16} {milliseconds:>7.2} ms  {outcome}\n", step.name));
        for call in step.calls {
            print(&format!("  {:<16} {:>10}    {call}\n", "", ""));
        }
    }

    /// A step that this provider makes impossible.
    pub(super) fn left_out(&mut self, name: &str, reason: &str) {
        print(&format!("  {name:<16} {:>10}  left out: {reason}\n", ""));
    }

    /// How many steps there were.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }
}

/// An answer must be as it is expected.
pub(super) fn expect(
    step: &'static str,
    holds: bool,
    expectation: impl Into<String>,
) -> Result<(), DemoError> {
    if holds { Ok(()) } else { Err(DemoError::Expectation { step, expectation: expectation.into() }) }
}
