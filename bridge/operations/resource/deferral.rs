//! Warnings about deferred plans in a preview.

use isthmus_provider::Plan;

use super::Target;

impl Target<'_> {
    /// Warns of a deferred plan. Its apply fails.
    pub(super) fn warn_of_deferral(&self, plan: &Plan) {
        if let Some(deferral) = plan.deferral {
            let subject = format!("this {}", self.shape.terraform_type);
            let meanwhile = "Until then, what the provider computes is unknown, and an update fails.";
            self.warn(deferral.warning(&subject, meanwhile));
        }
    }
}
