//! Rules of Terraform core: proposed new state, and checks of responses.
//!
//! Everything here is pure: from a schema and values follow a value or a list of violations. A
//! provider cannot distinguish it from Terraform.

mod apply_check;
mod dynamic_blocks;
mod final_plan;
mod ignored;
mod normalise;
mod plan_check;
mod proposed_new;
mod replacement;
mod sensitive;
#[cfg(test)]
pub(crate) mod testing;
mod write_only;

use std::fmt;

use isthmus_cty::AttributePath;

pub use apply_check::check_applied;
pub(crate) use apply_check::was_left_to_the_provider;
pub(crate) use dynamic_blocks::join_blocks;
pub(crate) use final_plan::inputs_hold;
pub(crate) use ignored::keep_ignored;
pub use normalise::empty_block;
pub(crate) use normalise::normalise_blocks;
pub use plan_check::check_planned;
pub use proposed_new::{planned_from_config, proposed_new};
pub use replacement::{InvalidReplacePath, replacement_paths};
pub(crate) use sensitive::each_secret;
pub use sensitive::{has_sensitive, sensitive_paths};
pub(crate) use write_only::{without_write_only, write_only_paths};

/// A violated rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Path in the resource's object.
    pub path: AttributePath,
    /// The rule. Never contains a value, which may be secret.
    pub reason: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.0.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.reason)
    }
}
