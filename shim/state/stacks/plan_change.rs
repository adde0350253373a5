//! The planned changes of a stack's objects.

use bytes::Bytes;
use isthmus_cty::{AttributePath, Value, msgpack};
use isthmus_proto::tfplan::{self, Action, DeferredReason, ResourceInstanceActionReason};
use isthmus_proto::tfstackdata1::PlanResourceInstanceChangePlanned;

use super::error::Fault;
use super::state::read_object;
use super::value::read_paths;
use crate::addresses::{ComponentAddress, DeposedKey, ObjectAddress, ProviderConfigAddress};
use crate::saved::SavedObject;

/// A record about an object: its prior state, its change, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedObject {
    /// Which object.
    pub address: ObjectAddress,
    /// The provider configuration, as `provider["registry.terraform.io/hashicorp/random"]`.
    pub provider: String,
    /// The object that the change starts from, upgraded and refreshed.
    pub prior: Option<SavedObject>,
    /// `None`: the object was only refreshed.
    pub change: Option<PlannedChange>,
    /// Why the change is deferred, if it is.
    pub deferred: Option<DeferredReason>,
}

/// A planned change. Its values have the resource's type, which only the provider knows: they are read without it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedChange {
    /// What is planned.
    pub action: Action,
    /// Why, where the action alone does not show it.
    pub reason: ResourceInstanceActionReason,
    /// The address in the previous run, of an object that was moved.
    pub previous_address: Option<ObjectAddress>,
    /// The value before the change, if the action has one.
    pub before: Option<Value>,
    /// The value after it, if the action has one. Parts of it may be unknown.
    pub after: Option<Value>,
    /// Secret parts of the value before.
    pub before_sensitive_paths: Vec<AttributePath>,
    /// Secret parts of the value after.
    pub after_sensitive_paths: Vec<AttributePath>,
    /// Paths that require a replacement.
    pub replace_paths: Vec<AttributePath>,
    /// The identity before the change.
    pub before_identity: Option<Value>,
    /// The identity after it.
    pub after_identity: Option<Value>,
    /// The import that the change includes.
    pub importing: Option<PlannedImport>,
    /// Configuration that Terraform generated for an import; empty: none.
    pub generated_config: String,
    /// The provider's private data of the plan.
    pub private: Bytes,
}

/// An import within a change.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedImport {
    /// The id to import by; empty if it is imported by identity.
    pub id: String,
    /// Whether the id is unknown yet.
    pub is_unknown: bool,
    /// The identity to import by.
    pub identity: Option<Value>,
}

impl PlannedObject {
    /// The component that a record belongs to, and the record.
    pub(super) fn read(
        message: PlanResourceInstanceChangePlanned,
    ) -> Result<(ComponentAddress, Self), Fault> {
        let component: ComponentAddress = message.component_instance_addr.parse()?;
        let provider: ProviderConfigAddress = message.provider_config_addr.parse()?;
        let address = object(&message.resource_instance_addr, &message.deposed_key)?;
        let prior = message.prior_state.map(read_object).transpose()?;
        let prior = prior.map(|prior| SavedObject { address: Some(address.clone()), ..prior });
        let change = message.change.map(|change| PlannedChange::read(change, &address, &provider));
        let change = change.transpose()?;
        let provider = message.provider_config_addr;
        Ok((component, Self { address, provider, prior, change, deferred: None }))
    }
}

impl PlannedChange {
    fn read(
        message: tfplan::ResourceInstanceChange,
        of: &ObjectAddress,
        provider: &ProviderConfigAddress,
    ) -> Result<Self, Fault> {
        // The record repeats what it is about: both must agree.
        if object(&message.addr, &message.deposed_key)? != *of {
            return Err(Fault::Inconsistent("objects"));
        }
        if message.provider.parse::<ProviderConfigAddress>()? != *provider {
            return Err(Fault::Inconsistent("providers"));
        }
        let previous = Some(message.prev_run_addr).filter(|address| !address.is_empty());
        let previous_address = previous.map(|address| address.parse()).transpose()?;
        let reason = message.action_reason;
        let reason = ResourceInstanceActionReason::try_from(reason)
            .map_err(|_| Fault::Number { what: "reason of an action", value: reason })?;
        let change = message.change.ok_or(Fault::Missing("change"))?;
        let action = require_action(change.action)?;
        let (before, after) = values(action, change.values)?;
        let importing = change.importing.map(|importing| {
            let identity = optional(importing.identity, "the identity to import by")?;
            Ok::<_, Fault>(PlannedImport { id: importing.id, is_unknown: importing.unknown, identity })
        });
        Ok(Self {
            action,
            reason,
            previous_address,
            before,
            after,
            before_sensitive_paths: read_paths(change.before_sensitive_paths)?,
            after_sensitive_paths: read_paths(change.after_sensitive_paths)?,
            replace_paths: read_paths(message.required_replace)?,
            before_identity: optional(change.before_identity, "the identity before the change")?,
            after_identity: optional(change.after_identity, "the identity after the change")?,
            importing: importing.transpose()?,
            generated_config: change.generated_config,
            private: message.private,
        })
    }
}

pub(super) fn require_action(value: i32) -> Result<Action, Fault> {
    Action::try_from(value).map_err(|_| Fault::Number { what: "action", value })
}

/// The values before and after a change: which of them a record has depends on the action.
fn values(
    action: Action,
    messages: Vec<tfplan::DynamicValue>,
) -> Result<(Option<Value>, Option<Value>), Fault> {
    let (name, wanted) = match action {
        Action::Noop => ("no action", 1),
        Action::Create => ("creation", 1),
        Action::Read => ("reading", 2),
        Action::Update => ("update", 2),
        Action::Delete => ("deletion", 1),
        Action::DeleteThenCreate | Action::CreateThenDelete | Action::CreateThenForget => ("replacement", 2),
        Action::Forget => ("forgetting", 1),
    };
    let found = messages.len();
    let read = |message| untyped(message, "the object");
    let values = messages.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    match (action, <[Value; 2]>::try_from(values)) {
        (_, Ok([before, after])) if wanted == 2 => Ok((Some(before), Some(after))),
        (Action::Create, Err(mut one)) if found == 1 => Ok((None, one.pop())),
        (Action::Noop, Err(mut one)) if found == 1 => Ok((one.last().cloned(), one.pop())),
        (Action::Delete | Action::Forget, Err(mut one)) if found == 1 => Ok((one.pop(), None)),
        _ => Err(Fault::Values { action: name, found, wanted }),
    }
}

fn optional(message: Option<tfplan::DynamicValue>, what: &str) -> Result<Option<Value>, Fault> {
    message.map(|message| untyped(message, what)).transpose()
}

fn untyped(message: tfplan::DynamicValue, what: &str) -> Result<Value, Fault> {
    msgpack::decode_untyped(&message.msgpack)
        .map_err(|error| Fault::UntypedValue { what: what.to_owned(), error })
}

fn object(address: &str, deposed: &str) -> Result<ObjectAddress, Fault> {
    let mut object: ObjectAddress = address.parse()?;
    if !deposed.is_empty() {
        let key = DeposedKey::parse(deposed).ok_or_else(|| Fault::Deposed(deposed.to_owned()))?;
        object.deposed = Some(key);
    }
    Ok(object)
}
