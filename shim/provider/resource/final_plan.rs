//! Plans that follow on others: that of a replacement's new object, and the last one before a change is carried out.

use bytes::Bytes;
use isthmus_cty::{AttributePath, Value, msgpack};
use isthmus_proto::tfplugin6;
use sha2::{Digest as _, Sha256};

use super::{Action, Object, Plan, Resource};
use crate::ProviderError;
use crate::rules::{self, Violation};

/// What the plan that asks for a replacement hands on to the plan of the new object.
#[derive(Clone, Debug)]
pub struct Handover {
    pub(super) private: Bytes,
    pub(super) identity: Option<tfplugin6::ResourceIdentityData>,
}

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

impl Plan {
    /// What the plan of the new object has to be told. `None`: nothing is to be replaced.
    pub fn handover(&self) -> Option<Handover> {
        matches!(self.action, Action::Replace(_))
            .then(|| Handover { private: self.private.clone(), identity: self.identity.clone() })
    }
}

impl Handover {
    /// How much memory it takes, in bytes.
    pub fn size(&self) -> usize {
        let identity = self.identity.as_ref().and_then(|identity| identity.identity_data.as_ref());
        size_of::<Self>()
            + self.private.len()
            + identity.map_or(0, |identity| identity.msgpack.len() + identity.json.len())
    }
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

/// What a plan starts from.
pub(super) struct Start {
    pub(super) value: Value,
    pub(super) private: Bytes,
    pub(super) identity: Option<tfplugin6::ResourceIdentityData>,
    /// Whether it is the second plan of a replacement. The first one was checked against the configuration, which core then
    /// does not do again.
    pub(super) is_second: bool,
}

impl Start {
    pub(super) fn at(prior: Option<&Object>) -> Self {
        Self {
            value: prior.map_or(Value::Null, |object| object.value.clone()),
            private: prior.map(|object| object.private.clone()).unwrap_or_default(),
            identity: prior.and_then(|object| object.identity.clone()),
            is_second: false,
        }
    }

    pub(super) fn after(handover: &Handover) -> Self {
        Self {
            value: Value::Null,
            private: handover.private.clone(),
            identity: handover.identity.clone(),
            is_second: true,
        }
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
