//! Entrances for the counted paths (`benches/instructions`): the checks of responses.

use isthmus_cty::Value;

use crate::rules::{self, Violation};
use crate::schema::Block;

/// The check of a plan.
pub fn check_planned(block: &Block, prior: &Value, config: &Value, planned: &Value) -> Vec<Violation> {
    rules::check_planned(block, prior, config, planned)
}

/// The check of an applied change.
pub fn check_applied(block: &Block, planned: &Value, actual: &Value) -> Vec<Violation> {
    rules::check_applied(block, planned, actual)
}
