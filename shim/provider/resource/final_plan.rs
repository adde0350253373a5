//! Comparison of the final plan with an earlier one.

use bytes::Bytes;
use isthmus_cty::{AttributePath, msgpack};
use sha2::{Digest as _, Sha256};

use super::{Action, Plan, Resource};
use crate::ProviderError;
use crate::rules::{self, Violation};

/// The parts of a plan for a later comparison. Values are encoded to save memory.
#[derive(Clone, Debug)]
pub struct EarlierPlan {
    action: Action,
    /// Hash of the prior state.
    prior: [u8; 32],
    config: Bytes,
    planned: Bytes,
    is_wholly_known: bool,
}

impl EarlierPlan {
    /// Memory size in bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.config.len() + self.planned.len()
    }

    /// Whether all of its inputs were known.
    pub fn is_wholly_known(&self) -> bool {
        self.is_wholly_known
    }
}

impl Resource<'_> {
    /// The parts of a plan. `None`: it cannot be encoded.
    pub fn keep(&self, plan: &Plan) -> Option<EarlierPlan> {
        let encoded = |value| msgpack::encode(value, &self.schema().block.implied_type).ok().map(Bytes::from);
        Some(EarlierPlan {
            action: plan.action.clone(),
            prior: self.digest(plan)?,
            config: encoded(&plan.config)?,
            planned: encoded(&plan.planned)?,
            is_wholly_known: plan.config.is_wholly_known(),
        })
    }

    /// Compares a final plan with an earlier one, as Terraform does in every apply: the user has
    /// confirmed the earlier plan. They are comparable if the prior state is the same, and so are
    /// all inputs that were known then.
    ///
    /// # Errors
    /// [`ProviderError::Rules`] when the plans are inconsistent, of the legacy type system or not.
    pub fn check_final(&self, earlier: &EarlierPlan, plan: &Plan) -> Result<(), ProviderError> {
        if self.digest(plan) != Some(earlier.prior) {
            return Ok(());
        }
        let decoded = |bytes| msgpack::decode(bytes, &self.schema().block.implied_type);
        let (Ok(config), Ok(planned)) = (decoded(&earlier.config), decoded(&earlier.planned)) else {
            return Ok(());
        };
        if !rules::inputs_hold(&config, &plan.config) {
            return Ok(());
        }
        let violations = if is_followed_by(&earlier.action, &plan.action) {
            rules::check_applied(&self.schema().block, &planned, &plan.planned)
        } else {
            let (then, now) = (described(&earlier.action), described(&plan.action));
            let reason = format!("the object was to be {then}, and is now to be {now}");
            vec![Violation { path: AttributePath::default(), reason }]
        };
        if violations.is_empty() {
            return Ok(());
        }
        Err(self.broken_rules("produced an inconsistent final plan", violations))
    }

    fn digest(&self, plan: &Plan) -> Option<[u8; 32]> {
        let encoded = msgpack::encode(&plan.prior, &self.schema().block.implied_type).ok()?;
        let mut digest = Sha256::new();
        digest.update(encoded.len().to_le_bytes());
        digest.update(encoded);
        digest.update(&plan.prior_private);
        Some(digest.finalize().into())
    }
}

/// A later no-op is the only other action that Terraform allows.
fn is_followed_by(then: &Action, now: &Action) -> bool {
    match (then, now) {
        (Action::Update, Action::NoOp) => true,
        (Action::Replace(_), Action::Replace(_)) => true,
        (then, now) => then == now,
    }
}

fn described(action: &Action) -> &'static str {
    match action {
        Action::Create => "created",
        Action::NoOp => "left as it is",
        Action::Update => "updated",
        Action::Replace(_) => "replaced",
        Action::Delete => "deleted",
    }
}

#[cfg(test)]
mod tests;
