//! The plan of a stack, for the state that it was made from.
//!
//! Nothing else of a plan is used, but all of it is checked: a plan that contradicts itself was damaged, or is of a release
//! that is not known, and then so may be its state.

use std::collections::{BTreeMap, BTreeSet};

use isthmus_proto::tfplan::Action;
use isthmus_proto::tfstackdata1::{
    DeletedComponent, DeletedRootInputVariable, DeletedRootOutputValue, FunctionResults, PlanApplyable,
    PlanComponentInstance, PlanDeferredResourceInstanceChange, PlanDiscardStateMapKeys, PlanHeader,
    PlanPriorStateElem, PlanRootInputValue, PlanTimestamp,
};
use prost_types::Any;

use super::error::{Fault, Position, SequenceError};
use super::key::is_name;
use super::plan_change::{check_change, require_action, require_mode};
use super::plan_time::require_time;
use super::sequence::{content, type_of};
use super::state::{StacksState, components, values};
use super::value::StacksValue;
use crate::addresses::ComponentAddress;

/// A plan that is being read.
#[derive(Debug)]
struct Reader<'a> {
    version: &'a str,
    prior_state: StacksState,
    has_header: bool,
    prior_keys: BTreeSet<String>,
    components: BTreeMap<ComponentAddress, Announced>,
    /// Components that the state is to lose, and nothing more.
    deleted: BTreeSet<ComponentAddress>,
}

/// A component, as the plan announces it.
#[derive(Debug)]
struct Announced {
    /// Which record announces it.
    number: usize,
    stays: bool,
    dependencies: Vec<ComponentAddress>,
}

/// Reads a plan as the release `version` of Terraform does, and returns the state that it was made from.
///
/// # Errors
/// When a record cannot be read, when another release made the plan, or when its parts contradict each other.
pub fn prior_state_of_plan(records: Vec<Any>, version: &str) -> Result<StacksState, SequenceError> {
    let mut reader = Reader {
        version,
        prior_state: StacksState::default(),
        has_header: false,
        prior_keys: BTreeSet::new(),
        components: BTreeMap::new(),
        deleted: BTreeSet::new(),
    };
    for (index, record) in records.iter().enumerate() {
        reader.add(index + 1, record).map_err(|fault| {
            let what = type_of(record).unwrap_or(&record.type_url);
            SequenceError::at(index + 1, what, fault)
        })?;
    }
    if !reader.has_header {
        return Err(SequenceError { position: Position::End, fault: Box::new(Fault::NoHeader) });
    }
    reader.require_order()?;
    let mut prior_state = reader.prior_state;
    prior_state.order();
    Ok(prior_state)
}

impl Reader<'_> {
    fn add(&mut self, number: usize, record: &Any) -> Result<(), Fault> {
        match type_of(record)? {
            "PlanHeader" => {
                let PlanHeader { terraform_version: found } = content(record)?;
                if found != self.version {
                    return Err(Fault::Version { found, wanted: self.version.to_owned() });
                }
                self.has_header = true;
            }
            "PlanPriorStateElem" => {
                let PlanPriorStateElem { key, raw } = content(record)?;
                if !self.prior_keys.insert(key.clone()) {
                    return Err(Fault::KeyTwice);
                }
                // A key without content is no entry.
                if let Some(raw) = raw {
                    self.prior_state.add(&key, raw)?;
                }
            }
            "PlanTimestamp" => require_time(&content::<PlanTimestamp>(record)?.plan_timestamp)?,
            "PlanRootInputValue" => {
                let PlanRootInputValue { name, value, .. } = content(record)?;
                if let Some(value) = value {
                    StacksValue::read(value, &format!("input {name}"))?;
                }
                require_name(&name)?;
            }
            "DeletedRootInputVariable" => {
                require_name(&content::<DeletedRootInputVariable>(record)?.name)?;
            }
            "DeletedRootOutputValue" => require_name(&content::<DeletedRootOutputValue>(record)?.name)?,
            "DeletedComponent" => {
                self.deleted.insert(content::<DeletedComponent>(record)?.component_instance_addr.parse()?);
            }
            "PlanApplyable" => drop(content::<PlanApplyable>(record)?),
            "FunctionResults" => drop(content::<FunctionResults>(record)?),
            "PlanDiscardStateMapKeys" => drop(content::<PlanDiscardStateMapKeys>(record)?),
            "PlanComponentInstance" => self.announce(number, content(record)?)?,
            "PlanResourceInstanceChangePlanned" => {
                self.require_component(&check_change(content(record)?)?)?
            }
            "PlanDeferredResourceInstanceChange" => {
                let PlanDeferredResourceInstanceChange { deferred, change } = content(record)?;
                // One that is not known is none that could be acted on, but no fault either: Terraform has it so.
                deferred.ok_or(Fault::Missing("reason"))?;
                let change = change.ok_or(Fault::Missing("change"))?;
                let is_whole = change.change.is_some();
                let component = check_change(change)?;
                if !is_whole {
                    return Err(Fault::Missing("change"));
                }
                self.require_component(&component)?;
            }
            other => return Err(Fault::Type { found: other.to_owned() }),
        }
        Ok(())
    }

    fn announce(&mut self, number: usize, message: PlanComponentInstance) -> Result<(), Fault> {
        let address: ComponentAddress = message.component_instance_addr.parse()?;
        if self.components.contains_key(&address) {
            return Err(Fault::ComponentTwice(address.to_string()));
        }
        require_time(&message.plan_timestamp)?;
        let stays = require_action(message.planned_action)? != Action::Delete;
        require_mode(message.mode)?;
        let dependencies = components(&message.depends_on_component_addrs)?;
        values(message.planned_input_values, "input")?;
        values(message.planned_output_values, "output")?;
        self.components.insert(address, Announced { number, stays, dependencies });
        Ok(())
    }

    fn require_component(&self, address: &ComponentAddress) -> Result<(), Fault> {
        let is_announced = self.components.contains_key(address);
        if is_announced { Ok(()) } else { Err(Fault::NoComponent(address.to_string())) }
    }

    /// What stays cannot depend on what goes: the configuration would speak of a component that it does not have. A component
    /// of which only some instances go is still there.
    fn require_order(&self) -> Result<(), SequenceError> {
        let mut stays = BTreeMap::<ComponentAddress, bool>::new();
        for (address, component) in &self.components {
            *stays.entry(address.without_key()).or_default() |= component.stays;
        }
        for address in &self.deleted {
            stays.entry(address.without_key()).or_default();
        }
        let mut announced: Vec<_> = self.components.iter().collect();
        announced.sort_by_key(|(_, component)| component.number);
        for (address, component) in announced {
            let gone = component.dependencies.iter().find(|dependency| stays.get(dependency) == Some(&false));
            if let (Some(dependency), true) = (gone, component.stays) {
                let fault = Fault::KeptDependent {
                    component: address.to_string(),
                    dependency: dependency.to_string(),
                };
                return Err(SequenceError::at(component.number, "PlanComponentInstance", fault));
            }
        }
        Ok(())
    }
}

fn require_name(name: &str) -> Result<(), Fault> {
    if is_name(name) { Ok(()) } else { Err(Fault::Missing("name of an input or output")) }
}
