//! The last plan before a change is carried out, compared with an earlier one.

use bytes::Bytes;
use isthmus_cty::{AttributePath, msgpack};
use sha2::{Digest as _, Sha256};

use super::{Action, Plan, Resource};
use crate::ProviderError;
use crate::rules::{self, Violation};

/// What is kept of a plan to judge a later one by. Its values are encoded, which takes a fraction of the room.
#[derive(Clone, Debug)]
pub struct EarlierPlan {
    action: Action,
    /// Of the object that was to be changed.
    prior: [u8; 32],
    config: Bytes,
    planned: Bytes,
    is_wholly_known: bool,
}

impl EarlierPlan {
    /// How much memory it takes, in bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.config.len() + self.planned.len()
    }

    /// Whether all of its inputs were known.
    pub fn is_wholly_known(&self) -> bool {
        self.is_wholly_known
    }
}

impl Resource<'_> {
    /// What to keep of a plan. `None`: it cannot be written, so it was never sent either.
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

    /// Compares a plan that is about to be carried out with an earlier one. Core does so whenever it applies: the earlier
    /// plan is what the user has agreed to. They are comparable if the object to be changed is the same, and so is every
    /// input that was known then.
    ///
    /// # Errors
    /// [`ProviderError::Rules`] when the provider has planned something else than before, of the legacy type system or not.
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

/// That a change turned out to be none is the only other end of a plan that core allows.
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
