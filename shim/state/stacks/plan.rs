//! The plan of a stack.
//!
//! All of a plan is checked: one that contradicts itself was damaged, or is of a release that is not known, and then so may
//! be the state that it was made from.

use std::collections::{BTreeMap, BTreeSet};

use isthmus_proto::tfplan::{Action, CheckResults, DeferredReason, FunctionCallHash, Mode};
use isthmus_proto::tfstackdata1::{
    DeletedComponent, DeletedRootInputVariable, DeletedRootOutputValue, FunctionResults, PlanApplyable,
    PlanComponentInstance, PlanDeferredResourceInstanceChange, PlanDiscardStateMapKeys, PlanHeader,
    PlanPriorStateElem, PlanRootInputValue, PlanTimestamp,
};
use prost_types::Any;

use super::error::{Fault, Position, SequenceError};
use super::key::is_name;
use super::plan_change::{PlannedObject, require_action};
use super::sequence::{content, type_of};
use super::state::{StacksState, UnknownRecords, components, values};
use super::value::StacksValue;
use crate::addresses::ComponentAddress;

/// A plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StacksPlan {
    /// The release of Terraform that made it.
    pub terraform_version: String,
    /// The state that it was made from.
    pub prior_state: StacksState,
    /// Whether it can be applied, by the last record about that.
    pub is_applyable: bool,
    /// When it was made, as RFC 3339.
    pub timestamp: Option<String>,
    /// Inputs of the stack.
    pub inputs: BTreeMap<String, PlannedInput>,
    /// Inputs that the apply removes from the state.
    pub deleted_inputs: BTreeSet<String>,
    /// Outputs that the apply removes from the state.
    pub deleted_outputs: BTreeSet<String>,
    /// Components that the apply only removes from the state.
    pub deleted_components: BTreeSet<ComponentAddress>,
    /// Results of functions that the apply has to repeat.
    pub function_results: Vec<FunctionCallHash>,
    /// Components, with the changes of their objects.
    pub components: BTreeMap<ComponentAddress, PlannedComponent>,
    /// Keys of the state that the apply drops.
    pub discarded_state_keys: Vec<String>,
    /// Keys of the state's description that the apply drops.
    pub discarded_description_keys: Vec<String>,
    /// Records that only other releases know; only in a plan that is read to be shown.
    pub unknown: Vec<Any>,
}

/// An input of the stack in a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedInput {
    /// `None`: the plan does not have it.
    pub value: Option<StacksValue>,
    /// Whether the apply needs it again.
    pub is_required_on_apply: bool,
}

/// A component in a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedComponent {
    /// Which record announces it, counted from 1.
    number: usize,
    /// What is planned for it as a whole.
    pub action: Action,
    /// The mode of its plan.
    pub mode: Mode,
    /// When its plan was made, as RFC 3339.
    pub timestamp: String,
    /// Whether its plan can be applied.
    pub is_applyable: bool,
    /// Whether nothing is deferred.
    pub is_complete: bool,
    /// The components that it depends on.
    pub dependencies: Vec<ComponentAddress>,
    /// Its inputs, with unknowns.
    pub inputs: BTreeMap<String, StacksValue>,
    /// Its outputs, with unknowns.
    pub outputs: BTreeMap<String, StacksValue>,
    /// Results of its checks.
    pub check_results: Vec<CheckResults>,
    /// Results of functions that the apply has to repeat.
    pub function_results: Vec<FunctionCallHash>,
    /// Its objects, in the order of the plan.
    pub objects: Vec<PlannedObject>,
}

/// A plan that is being read.
#[derive(Debug)]
struct Reader<'a> {
    version: Option<&'a str>,
    plan: StacksPlan,
    has_header: bool,
    prior_keys: BTreeSet<String>,
}

impl StacksPlan {
    /// Reads a plan as the release `version` of Terraform does; `None`: as the one that made it, to
    /// be shown, with what is unknown here set apart.
    ///
    /// # Errors
    /// When a record cannot be read, when another release made the plan, or when its parts contradict each other.
    pub fn read(records: Vec<Any>, version: Option<&str>) -> Result<Self, SequenceError> {
        let mut reader =
            Reader { version, plan: Self::default(), has_header: false, prior_keys: BTreeSet::new() };
        for (index, record) in records.iter().enumerate() {
            match reader.add(index + 1, record) {
                Err(fault) if fault.is_unknown() && version.is_none() => {
                    reader.plan.unknown.push(record.clone());
                }
                added => added.map_err(|fault| {
                    let what = type_of(record).unwrap_or(&record.type_url);
                    SequenceError::at(index + 1, what, fault)
                })?,
            }
        }
        if !reader.has_header {
            return Err(SequenceError { position: Position::End, fault: Box::new(Fault::NoHeader) });
        }
        let mut plan = reader.plan;
        plan.require_order()?;
        plan.prior_state.complete();
        Ok(plan)
    }

    /// What stays cannot depend on what goes: the configuration would speak of a component that it does not have. A component
    /// of which only some instances go is still there.
    fn require_order(&self) -> Result<(), SequenceError> {
        let mut stays = BTreeMap::<ComponentAddress, bool>::new();
        for (address, component) in &self.components {
            *stays.entry(address.without_key()).or_default() |= component.stays();
        }
        for address in &self.deleted_components {
            stays.entry(address.without_key()).or_default();
        }
        let mut announced: Vec<_> = self.components.iter().collect();
        announced.sort_by_key(|(_, component)| component.number);
        for (address, component) in announced {
            let gone = component.dependencies.iter().find(|dependency| stays.get(dependency) == Some(&false));
            if let (Some(dependency), true) = (gone, component.stays()) {
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

impl Reader<'_> {
    fn add(&mut self, number: usize, record: &Any) -> Result<(), Fault> {
        let unknown = if self.version.is_none() { UnknownRecords::SetApart } else { UnknownRecords::Refuse };
        let plan = &mut self.plan;
        match type_of(record)? {
            "PlanHeader" => {
                let PlanHeader { terraform_version: found } = content(record)?;
                if let Some(wanted) = self.version.filter(|wanted| *wanted != found) {
                    return Err(Fault::Version { found, wanted: wanted.to_owned() });
                }
                plan.terraform_version = found;
                self.has_header = true;
            }
            "PlanPriorStateElem" => {
                let PlanPriorStateElem { key, raw } = content(record)?;
                if !self.prior_keys.insert(key.clone()) {
                    return Err(Fault::KeyTwice);
                }
                // A key without content is no entry.
                if let Some(raw) = raw {
                    plan.prior_state.add(&key, raw, unknown)?;
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
                let value = value.map(|value| StacksValue::read(value, &format!("input {name}")));
                let input =
                    PlannedInput { value: value.transpose()?, is_required_on_apply: required_on_apply };
                plan.inputs.insert(require_name(name)?, input);
            }
            "DeletedRootInputVariable" => {
                plan.deleted_inputs.insert(require_name(content::<DeletedRootInputVariable>(record)?.name)?);
            }
            "DeletedRootOutputValue" => {
                plan.deleted_outputs.insert(require_name(content::<DeletedRootOutputValue>(record)?.name)?);
            }
            "DeletedComponent" => {
                let DeletedComponent { component_instance_addr } = content(record)?;
                plan.deleted_components.insert(component_instance_addr.parse()?);
            }
            "FunctionResults" => {
                plan.function_results.extend(content::<FunctionResults>(record)?.function_results);
            }
            "PlanDiscardStateMapKeys" => {
                let message: PlanDiscardStateMapKeys = content(record)?;
                plan.discarded_state_keys.extend(message.raw_state_keys);
                plan.discarded_description_keys.extend(message.description_keys);
            }
            "PlanComponentInstance" => {
                let message: PlanComponentInstance = content(record)?;
                let address: ComponentAddress = message.component_instance_addr.parse()?;
                if plan.components.contains_key(&address) {
                    return Err(Fault::ComponentTwice(address.to_string()));
                }
                plan.components.insert(address, PlannedComponent::read(number, message)?);
            }
            "PlanResourceInstanceChangePlanned" => {
                let (component, object) = PlannedObject::read(content(record)?)?;
                self.component(&component)?.objects.push(object);
            }
            "PlanDeferredResourceInstanceChange" => {
                let PlanDeferredResourceInstanceChange { deferred, change } = content(record)?;
                let reason = deferred.ok_or(Fault::Missing("reason"))?.reason;
                let (component, mut object) = PlannedObject::read(change.ok_or(Fault::Missing("change"))?)?;
                if object.change.is_none() {
                    return Err(Fault::Missing("change"));
                }
                // An unknown reason is no fault: Terraform has it so.
                object.deferred = Some(DeferredReason::try_from(reason).unwrap_or(DeferredReason::Invalid));
                self.component(&component)?.objects.push(object);
            }
            other => return Err(Fault::Type { found: other.to_owned() }),
        }
        Ok(())
    }

    fn component(&mut self, address: &ComponentAddress) -> Result<&mut PlannedComponent, Fault> {
        let found = self.plan.components.get_mut(address);
        found.ok_or_else(|| Fault::NoComponent(address.to_string()))
    }
}

impl PlannedComponent {
    fn read(number: usize, message: PlanComponentInstance) -> Result<Self, Fault> {
        require_time(&message.plan_timestamp)?;
        let mode = message.mode;
        Ok(Self {
            number,
            action: require_action(message.planned_action)?,
            mode: Mode::try_from(mode).map_err(|_| Fault::Number { what: "mode", value: mode })?,
            timestamp: message.plan_timestamp,
            is_applyable: message.plan_applyable,
            is_complete: message.plan_complete,
            dependencies: components(&message.depends_on_component_addrs)?,
            inputs: values(message.planned_input_values, "input")?,
            outputs: values(message.planned_output_values, "output")?,
            check_results: message.planned_check_results,
            function_results: message.function_results,
            objects: Vec::new(),
        })
    }

    fn stays(&self) -> bool {
        self.action != Action::Delete
    }
}

fn require_name(name: String) -> Result<String, Fault> {
    if is_name(&name) { Ok(name) } else { Err(Fault::Missing("name of an input or output")) }
}

/// Refuses what is no time as RFC 3339 has it: `2006-01-02T15:04:05Z`, perhaps with parts of seconds and an offset.
pub(super) fn require_time(text: &str) -> Result<(), Fault> {
    let is_time = || {
        let (date, rest) = text.split_at_checked(10)?;
        let (clock, rest) = rest.strip_prefix(['T', 't'])?.split_at_checked(8)?;
        has_form(date, "0000-00-00").then_some(())?;
        has_form(clock, "00:00:00").then_some(())?;
        let rest = match rest.strip_prefix('.') {
            Some(fraction) => {
                let rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
                (rest.len() < fraction.len()).then_some(rest)?
            }
            None => rest,
        };
        let offset = rest.strip_prefix(['+', '-']);
        (matches!(rest, "Z" | "z") || offset.is_some_and(|offset| has_form(offset, "00:00"))).then_some(())
    };
    is_time().ok_or_else(|| Fault::Time(text.chars().take(40).collect()))
}

fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_rfc_3339() {
        for text in ["2017-07-31T00:00:00Z", "2017-07-31T00:00:00.123456789+02:00"] {
            require_time(text).unwrap_or_else(|error| panic!("{error}"));
        }
        for text in
            ["", "2017-07-31", "2017-07-31 00:00:00Z", "2017-07-31T00:00:00", "2017-07-31T00:00:00.Z", "é"]
        {
            require_time(text).expect_err(text);
        }
    }
}
