//! The changes of objects in a plan.

use isthmus_proto::tfplan::{Action, Mode, ResourceInstanceActionReason, ResourceInstanceChange};
use isthmus_proto::tfstackdata1::PlanResourceInstanceChangePlanned;

use super::error::Fault;
use super::state::read_object;
use super::value::read_paths;
use crate::addresses::{ComponentAddress, DeposedKey, ObjectAddress, ProviderConfigAddress};

/// Checks a change, and returns the component that it belongs to.
pub(super) fn check_change(message: PlanResourceInstanceChangePlanned) -> Result<ComponentAddress, Fault> {
    let component: ComponentAddress = message.component_instance_addr.parse()?;
    let provider: ProviderConfigAddress = message.provider_config_addr.parse()?;
    let object = object(&message.resource_instance_addr, &message.deposed_key)?;
    message.prior_state.map(read_object).transpose()?;
    if let Some(change) = message.change {
        check(change, &object, &provider)?;
    }
    Ok(component)
}

fn check(
    change: ResourceInstanceChange,
    of: &ObjectAddress,
    provider: &ProviderConfigAddress,
) -> Result<(), Fault> {
    // What is said twice must be the same.
    if object(&change.addr, &change.deposed_key)? != *of {
        return Err(Fault::Inconsistent("objects"));
    }
    if change.provider.parse::<ProviderConfigAddress>()? != *provider {
        return Err(Fault::Inconsistent("providers"));
    }
    if !change.prev_run_addr.is_empty() {
        change.prev_run_addr.parse::<ObjectAddress>()?;
    }
    let inner = change.change.ok_or(Fault::Missing("change"))?;
    let (action, wanted) = values(require_action(inner.action)?);
    let found = inner.values.len();
    if found != wanted {
        return Err(Fault::Values { action, found, wanted });
    }
    if ResourceInstanceActionReason::try_from(change.action_reason).is_err() {
        return Err(Fault::Number { what: "reason of an action", value: change.action_reason });
    }
    read_paths(inner.before_sensitive_paths)?;
    read_paths(inner.after_sensitive_paths)?;
    read_paths(change.required_replace)?;
    Ok(())
}

pub(super) fn require_action(value: i32) -> Result<Action, Fault> {
    Action::try_from(value).map_err(|_| Fault::Number { what: "action", value })
}

pub(super) fn require_mode(value: i32) -> Result<Mode, Fault> {
    Mode::try_from(value).map_err(|_| Fault::Number { what: "mode", value })
}

/// What an action is called in messages, and how many values a change by it has.
fn values(action: Action) -> (&'static str, usize) {
    match action {
        Action::Noop => ("no action", 1),
        Action::Create => ("creation", 1),
        Action::Read => ("reading", 2),
        Action::Update => ("update", 2),
        Action::Delete => ("deletion", 1),
        Action::DeleteThenCreate | Action::CreateThenDelete | Action::CreateThenForget => ("replacement", 2),
        Action::Forget => ("forgetting", 1),
    }
}

fn object(address: &str, deposed: &str) -> Result<ObjectAddress, Fault> {
    let mut object: ObjectAddress = address.parse()?;
    if !deposed.is_empty() {
        let key = DeposedKey::parse(deposed).ok_or_else(|| Fault::Deposed(deposed.to_owned()))?;
        object.deposed = Some(key);
    }
    Ok(object)
}
