//! What a preview says of a plan that the provider puts off.

use isthmus_provider::Plan;

use super::{OperationWarnings, Target};

impl Target<'_> {
    /// Warns of a plan that cannot be applied yet. Applying it fails by itself.
    pub(super) fn warn_of_deferral(&self, plan: &Plan, notes: &mut OperationWarnings) {
        if let Some(deferral) = plan.deferral {
            let subject = format!("this {}", self.shape.terraform_type);
            let meanwhile = "Until then, what the provider computes is unknown, and an update fails.";
            notes.warnings.push(deferral.warning(&subject, meanwhile));
        }
    }
}
