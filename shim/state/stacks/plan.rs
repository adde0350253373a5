//! The plan of a stack.

use std::collections::{BTreeMap, BTreeSet};

use isthmus_proto::tfplan::FunctionCallHash;
use isthmus_proto::tfstackdata1::{
    DeletedComponent, DeletedRootInputVariable, DeletedRootOutputValue, FunctionResults, PlanApplyable,
    PlanComponentInstance, PlanDeferredResourceInstanceChange, PlanDiscardStateMapKeys, PlanHeader,
    PlanPriorStateElem, PlanResourceInstanceChangePlanned, PlanRootInputValue, PlanTimestamp,
};
use prost_types::Any;

use super::error::{Fault, Position, SequenceError};
use super::key::is_name;
use super::plan_parts::{
    DeferralReason, DeferredChange, PlannedAction, PlannedChange, PlannedComponent, PlannedInput,
    require_time,
};
use super::sequence::{content, type_of};
use super::state::StacksState;
use super::value::StacksValue;
use crate::addresses::ComponentAddress;

/// A plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StacksPlan {
    /// The release of Terraform that made it.
    pub terraform_version: String,
    /// The state that it was made from.
    pub prior_state: StacksState,
    /// Whether it may be carried out, as the last record that says so has it.
    pub is_applyable: bool,
    /// When it was made, as RFC 3339.
    pub timestamp: Option<String>,
    /// Inputs of the stack.
    pub inputs: BTreeMap<String, PlannedInput>,
    /// Inputs that the state is to lose.
    pub deleted_inputs: BTreeSet<String>,
    /// Outputs that the state is to lose.
    pub deleted_outputs: BTreeSet<String>,
    /// Components that the state is to lose, and nothing more.
    pub deleted_components: BTreeSet<ComponentAddress>,
    /// Results of functions that the apply is held to.
    pub function_results: Vec<FunctionCallHash>,
    /// Components, with the changes of their objects.
    pub components: BTreeMap<ComponentAddress, PlannedComponent>,
    /// Keys of the state that the apply drops.
    pub discarded_state_keys: Vec<String>,
    /// Keys of what describes the state that the apply drops.
    pub discarded_description_keys: Vec<String>,
}

/// A plan that is being read.
#[derive(Debug)]
struct Reader<'a> {
    version: &'a str,
    plan: StacksPlan,
    has_header: bool,
    prior_keys: BTreeSet<String>,
    /// The record that announces each component.
    announced: BTreeMap<ComponentAddress, usize>,
}

impl StacksPlan {
    /// Reads a plan as the release `version` of Terraform does.
    ///
    /// # Errors
    /// When a record cannot be read, when another release made the plan, or when its parts contradict each other.
    pub fn read(records: Vec<Any>, version: &str) -> Result<Self, SequenceError> {
        let mut reader = Reader {
            version,
            plan: Self::default(),
            has_header: false,
            prior_keys: BTreeSet::new(),
            announced: BTreeMap::new(),
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
        let mut plan = reader.plan;
        plan.prior_state.order();
        Ok(plan)
    }
}

impl Reader<'_> {
    fn add(&mut self, number: usize, record: &Any) -> Result<(), Fault> {
        let plan = &mut self.plan;
        match type_of(record)? {
            "PlanHeader" => {
                let PlanHeader { terraform_version } = content(record)?;
                if terraform_version != self.version {
                    let wanted = self.version.to_owned();
                    return Err(Fault::Version { found: terraform_version, wanted });
                }
                plan.terraform_version = terraform_version;
                self.has_header = true;
            }
            "PlanPriorStateElem" => {
                let PlanPriorStateElem { key, raw } = content(record)?;
                if !self.prior_keys.insert(key.clone()) {
                    return Err(Fault::KeyTwice);
                }
                // A key without content is no entry.
                if let Some(raw) = raw {
                    plan.prior_state.add(&key, raw)?;
                }
            }
            "PlanApplyable" => plan.is_applyable = content::<PlanApplyable>(record)?.applyable,
            "PlanTimestamp" => {
                let PlanTimestamp { plan_timestamp } = content(record)?;
                require_time(&plan_timestamp)?;
                plan.timestamp = Some(plan_timestamp);
            }
            "PlanRootInputValue" => {
                let PlanRootInputValue { name, value, required_on_apply } = content(record)?;
                let value =
                    value.map(|value| StacksValue::read(value, &format!("input {name}"))).transpose()?;
                plan.inputs.insert(required_name(name)?, PlannedInput { value, required_on_apply });
            }
            "DeletedRootInputVariable" => {
                plan.deleted_inputs.insert(required_name(content::<DeletedRootInputVariable>(record)?.name)?);
            }
            "DeletedRootOutputValue" => {
                plan.deleted_outputs.insert(required_name(content::<DeletedRootOutputValue>(record)?.name)?);
            }
            "DeletedComponent" => {
                let DeletedComponent { component_instance_addr } = content(record)?;
                plan.deleted_components.insert(component_instance_addr.parse()?);
            }
            "FunctionResults" => {
                plan.function_results.extend(content::<FunctionResults>(record)?.function_results);
            }
            "PlanComponentInstance" => {
                let message: PlanComponentInstance = content(record)?;
                let address: ComponentAddress = message.component_instance_addr.parse()?;
                if self.announced.insert(address.clone(), number).is_some() {
                    return Err(Fault::ComponentTwice(address.to_string()));
                }
                plan.components.insert(address, PlannedComponent::read(message)?);
            }
            "PlanResourceInstanceChangePlanned" => {
                let (component, change) = PlannedChange::read(content(record)?)?;
                self.component(&component)?.changes.push(change);
            }
            "PlanDeferredResourceInstanceChange" => {
                let PlanDeferredResourceInstanceChange { deferred, change } = content(record)?;
                let reason = DeferralReason::read(deferred.ok_or(Fault::Missing("reason"))?.reason);
                let message: PlanResourceInstanceChangePlanned = change.ok_or(Fault::Missing("change"))?;
                let (component, change) = PlannedChange::read(message)?;
                if change.message.is_none() {
                    return Err(Fault::Missing("change"));
                }
                self.component(&component)?.deferred.push(DeferredChange { reason, change });
            }
            "PlanDiscardStateMapKeys" => {
                let message: PlanDiscardStateMapKeys = content(record)?;
                plan.discarded_state_keys.extend(message.raw_state_keys);
                plan.discarded_description_keys.extend(message.description_keys);
            }
            other => return Err(Fault::Type { found: other.to_owned() }),
        }
        Ok(())
    }

    fn component(&mut self, address: &ComponentAddress) -> Result<&mut PlannedComponent, Fault> {
        let found = self.plan.components.get_mut(address);
        found.ok_or_else(|| Fault::NoComponent(address.to_string()))
    }

    /// What stays cannot depend on what goes: the configuration would speak of a component that it does not have. A component
    /// of which only some instances go is still there.
    fn require_order(&self) -> Result<(), SequenceError> {
        let components = &self.plan.components;
        let mut stays = BTreeMap::<ComponentAddress, bool>::new();
        for (address, component) in components {
            *stays.entry(address.without_key()).or_default() |= component.action != PlannedAction::Delete;
        }
        for address in &self.plan.deleted_components {
            stays.entry(address.without_key()).or_default();
        }
        let mut announced: Vec<_> =
            self.announced.iter().map(|(address, number)| (*number, address)).collect();
        announced.sort();
        for (number, address) in announced {
            let component = &components[address];
            let gone = component.dependencies.iter().find(|dependency| stays.get(dependency) == Some(&false));
            if let (Some(dependency), true) = (gone, component.action != PlannedAction::Delete) {
                let fault = Fault::KeptDependent {
                    component: address.to_string(),
                    dependency: dependency.to_string(),
                };
                return Err(SequenceError::at(number, "PlanComponentInstance", fault));
            }
        }
        Ok(())
    }
}

fn required_name(name: String) -> Result<String, Fault> {
    if is_name(&name) { Ok(name) } else { Err(Fault::Missing("name of an input or output")) }
}
