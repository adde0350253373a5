//! PlanResourceChange.

use bytes::Bytes;
use isthmus_cty::{AttributePath, Value};
use isthmus_proto::tfplugin6;

use super::{Object, Resource, Unknowns};
use crate::deferral::DeferralSupport;
use crate::diagnostics::attribute_path;
use crate::{Deferral, Diagnostic, ProviderError, Rpc, rules};

/// The action of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A new object.
    Create,
    /// The plan equals the prior state.
    NoOp,
    /// An update in place.
    Update,
    /// A replacement, because of these attributes. The planned state is of an update in place,
    /// which the provider cannot do; the new object has its own plan.
    Replace(Vec<AttributePath>),
    /// A destroy.
    Delete,
}

/// A provider's plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its action.
    pub action: Action,
    /// The planned state, unknown until apply in parts. Null: a destroy.
    pub planned: Value,
    /// Why it cannot be applied yet, if it was deferred. The planned state is then the
    /// configuration, with unknown computed values.
    pub deferral: Option<Deferral>,
    pub(super) prior: Value,
    pub(super) prior_private: Bytes,
    pub(super) prior_identity: Option<tfplugin6::ResourceIdentityData>,
    pub(super) config: Value,
    pub(super) private: Bytes,
    pub(super) identity: Option<tfplugin6::ResourceIdentityData>,
    pub(super) legacy: bool,
    /// How often the provider had been stopped when planning began.
    pub(super) stops: u64,
}

impl Plan {
    /// Data for the plan of the new object. `None`: no replacement.
    pub fn handover(&self) -> Option<ReplacementData> {
        matches!(self.action, Action::Replace(_))
            .then(|| ReplacementData { private: self.private.clone(), identity: self.identity.clone() })
    }
}

impl Resource<'_> {
    /// Plans the change from `prior` (`None`: a creation) to `config`.
    pub async fn plan(
        &self,
        prior: Option<&Object>,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Plan, ProviderError> {
        self.plan_from(Start::at(prior), config, warnings).await
    }

    /// Plans the new object of a replacement, by the `handover` of the plan that requires it.
    pub async fn plan_replacement(
        &self,
        handover: &ReplacementData,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Plan, ProviderError> {
        self.plan_from(Start::after(handover), config, warnings).await
    }

    async fn plan_from(
        &self,
        start: Start,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Plan, ProviderError> {
        let rpc = Rpc::PlanResourceChange;
        let stops = self.provider.stops();
        let block = &self.schema.block;
        let before = start.value;
        let proposed = rules::proposed_new(block, &before, config);
        let request = tfplugin6::plan_resource_change::Request {
            type_name: self.type_name.to_string(),
            prior_state: self.encode(rpc, &before)?,
            proposed_new_state: self.encode(rpc, &proposed)?,
            config: self.encode(rpc, config)?,
            prior_private: start.private.clone(),
            provider_meta: self.provider.provider_meta(rpc)?,
            client_capabilities: self.provider.client_capabilities(DeferralSupport::Allowed),
            prior_identity: start.identity.clone(),
            planned_private: Bytes::new(),
        };
        let response: tfplugin6::plan_resource_change::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        let deferral = self.deferral(rpc, response.deferred, DeferralSupport::Allowed)?;
        let legacy = response.legacy_type_system;
        // Blocks are unchanged, even null or unknown ones of the legacy type system: as in
        // Terraform, the provider gets its own plan back.
        let mut planned = self.decode(rpc, response.planned_state.as_ref())?;
        if deferral.is_some() && planned.is_null() {
            planned = rules::planned_from_config(block, config);
        }
        if planned.is_null() && !config.is_null() {
            // Much is tolerated of the legacy type system, but here nothing could be applied.
            return Err(self.invalid_answer(rpc, "nothing is planned for a resource that is configured"));
        }
        if deferral.is_none() {
            self.require_no_write_only(rpc, &planned)?;
            let violations = rules::check_planned(block, &before, config, &planned);
            if legacy {
                self.provider.log_tolerated("the plan", &self.type_name, &violations);
            } else if !(start.is_second || violations.is_empty()) {
                return Err(self.broken_rules("produced an invalid plan", violations));
            }
        }
        // Before any comparison: reverted values require no replacement.
        let planned = if legacy && !before.is_null() {
            rules::keep_ignored(&before, planned, &self.ignored)
        } else {
            planned
        };
        let named = response.requires_replace.into_iter().map(attribute_path).collect();
        let replacing = rules::replacement_paths(block, &before, &planned, named)
            .map_err(|error| self.invalid_answer(rpc, &error.to_string()))?;
        let action = if before.is_null() {
            Action::Create
        } else if !replacing.is_empty() {
            Action::Replace(replacing)
        } else if planned.is_wholly_known() && planned == before {
            Action::NoOp
        } else {
            Action::Update
        };
        // A new object may get its identity from the apply.
        let unknowns = match action {
            Action::Create | Action::Replace(_) => Unknowns::Allowed,
            Action::NoOp | Action::Update | Action::Delete => Unknowns::Refused,
        };
        let identity = self.received_identity(rpc, response.planned_identity, unknowns, warnings).await?;
        // A deferred plan's computed values may be wrong, so they become unknown.
        let planned = if deferral.is_some() { rules::planned_from_config(block, config) } else { planned };
        Ok(Plan {
            action,
            planned,
            deferral,
            prior: before,
            prior_private: start.private,
            prior_identity: start.identity.filter(|_| !start.is_second),
            config: config.clone(),
            private: response.planned_private,
            identity,
            legacy,
            stops,
        })
    }

    /// Plans a destroy. A provider without `plan_destroy` is not called: older ones cannot respond.
    pub async fn plan_destroy(
        &self,
        prior: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Plan, ProviderError> {
        let stops = self.provider.stops();
        let plan = |private, identity| Plan {
            action: Action::Delete,
            planned: Value::Null,
            deferral: None,
            prior: prior.value.clone(),
            prior_private: prior.private.clone(),
            prior_identity: prior.identity.clone(),
            config: Value::Null,
            private,
            identity,
            legacy: false,
            stops,
        };
        if !self.provider.catalogue().capabilities().plan_destroy {
            return Ok(plan(prior.private.clone(), prior.identity.clone()));
        }
        let rpc = Rpc::PlanResourceChange;
        let request = tfplugin6::plan_resource_change::Request {
            type_name: self.type_name.to_string(),
            prior_state: self.encode(rpc, &prior.value)?,
            proposed_new_state: self.encode(rpc, &Value::Null)?,
            config: self.encode(rpc, &Value::Null)?,
            prior_private: prior.private.clone(),
            provider_meta: self.provider.provider_meta(rpc)?,
            client_capabilities: self.provider.client_capabilities(DeferralSupport::Refused),
            prior_identity: prior.identity.clone(),
            planned_private: Bytes::new(),
        };
        let response: tfplugin6::plan_resource_change::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        self.deferral(rpc, response.deferred, DeferralSupport::Refused)?;
        if !self.decode(rpc, response.planned_state.as_ref())?.is_null() {
            return Err(self.invalid_answer(rpc, "the planned value of a destroyed object is not null"));
        }
        let identity =
            self.received_identity(rpc, response.planned_identity, Unknowns::Refused, warnings).await?;
        Ok(plan(response.planned_private, identity))
    }
}

/// Data from the plan that requires a replacement for the plan of the new object.
#[derive(Clone, Debug)]
pub struct ReplacementData {
    pub(super) private: Bytes,
    pub(super) identity: Option<tfplugin6::ResourceIdentityData>,
}

impl ReplacementData {
    /// Memory size in bytes.
    pub fn size(&self) -> usize {
        let identity = self.identity.as_ref().and_then(|identity| identity.identity_data.as_ref());
        size_of::<Self>()
            + self.private.len()
            + identity.map_or(0, |identity| identity.msgpack.len() + identity.json.len())
    }
}

/// The start of a plan.
pub(super) struct Start {
    pub(super) value: Value,
    pub(super) private: Bytes,
    pub(super) identity: Option<tfplugin6::ResourceIdentityData>,
    /// Whether it is the second plan of a replacement. Terraform checks only the first against the
    /// configuration.
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

    pub(super) fn after(handover: &ReplacementData) -> Self {
        Self {
            value: Value::Null,
            private: handover.private.clone(),
            identity: handover.identity.clone(),
            is_second: true,
        }
    }
}

#[cfg(test)]
mod tests;
