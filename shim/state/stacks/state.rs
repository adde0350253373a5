//! The state of a stack.

use std::collections::{BTreeMap, HashMap};

use isthmus_proto::tfstackdata1::{DynamicValue, StateComponentInstanceV1, StateResourceInstanceObjectV1};
use prost_types::Any;

use super::error::{Fault, SequenceError};
use super::key::{StateKey, Treatment};
use super::sequence::{StateRecord, content, record, type_of};
use super::value::StacksValue;
use crate::addresses::{ComponentAddress, ObjectAddress, ProviderConfigAddress};
use crate::record::SavedObject;

/// A state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StacksState {
    /// Components, those that only objects speak of included.
    pub components: BTreeMap<ComponentAddress, Component>,
    /// Objects, in the order of their addresses.
    pub objects: Vec<ComponentObject>,
    /// Outputs of the stack.
    pub outputs: BTreeMap<String, StacksValue>,
    /// Inputs of the stack.
    pub inputs: BTreeMap<String, StacksValue>,
    /// What is not known and stays as it is, to the byte.
    pub preserved: Vec<(String, Any)>,
    /// Keys of what is not known and is to be dropped when anything changes.
    pub discarded: Vec<String>,
}

/// A component in a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Component {
    /// Its outputs, of the last apply.
    pub outputs: BTreeMap<String, StacksValue>,
    /// Its inputs, of the last apply.
    pub inputs: BTreeMap<String, StacksValue>,
    /// The components that it depended on, all instances together.
    pub dependencies: Vec<ComponentAddress>,
    /// The components that depended on it.
    pub dependents: Vec<ComponentAddress>,
}

/// An object in a state.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentObject {
    /// The component that it belongs to.
    pub component: ComponentAddress,
    /// The object, with its address in the component.
    pub object: SavedObject,
}

/// The types of a state's records.
const OBJECT: &str = "StateResourceInstanceObjectV1";
const COMPONENT: &str = "StateComponentInstanceV1";
const VALUE: &str = "DynamicValue";

impl StacksState {
    /// The state that a sequence of changes leads to.
    ///
    /// # Errors
    /// When a record cannot be read, or must not be passed over.
    pub fn read(records: Vec<StateRecord>) -> Result<Self, SequenceError> {
        let mut last = HashMap::with_capacity(records.len());
        for (index, StateRecord { key, content }) in records.into_iter().enumerate() {
            match content {
                Some(content) => last.insert(key, (index + 1, content)),
                None => last.remove(&key),
            };
        }
        let mut entries: Vec<(usize, String, Any)> =
            last.into_iter().map(|(key, (number, content))| (number, key, content)).collect();
        // In their order, so that of several faults the first one is told.
        entries.sort_by_key(|entry| entry.0);
        let mut state = Self::default();
        for (number, key, content) in entries {
            state.add(&key, content).map_err(|fault| SequenceError::at(number, key, fault))?;
        }
        state.order();
        Ok(state)
    }

    pub(super) fn add(&mut self, text: &str, entry: Any) -> Result<(), Fault> {
        match text.parse::<StateKey>()? {
            StateKey::Object { component, object } => self.add_object(component, object, &entry),
            StateKey::Component(address) => {
                require(&entry, COMPONENT)?;
                let component = Component::read(content(&entry)?)?;
                self.components.insert(address, component);
                Ok(())
            }
            StateKey::Output(name) => {
                self.outputs.insert(name.clone(), value(&entry, &format!("output {name}"))?);
                Ok(())
            }
            StateKey::Variable(name) => {
                self.inputs.insert(name.clone(), value(&entry, &format!("input {name}"))?);
                Ok(())
            }
            StateKey::Unknown { kind, .. } => {
                match StateKey::treatment(&kind) {
                    Treatment::Refuse => return Err(Fault::MandatoryKey(kind)),
                    Treatment::Preserve => self.preserved.push((text.to_owned(), entry)),
                    Treatment::Discard => self.discarded.push(text.to_owned()),
                }
                Ok(())
            }
        }
    }

    fn add_object(
        &mut self,
        component: ComponentAddress,
        address: ObjectAddress,
        entry: &Any,
    ) -> Result<(), Fault> {
        require(entry, OBJECT)?;
        let mut object = read_object(content(entry)?)?;
        object.address = Some(address);
        // Records come one by one, so that an object may be known before its component is.
        self.components.entry(component.clone()).or_default();
        self.objects.push(ComponentObject { component, object });
        Ok(())
    }

    pub(super) fn order(&mut self) {
        self.objects.sort_by(|one, other| {
            (&one.component, &one.object.address).cmp(&(&other.component, &other.object.address))
        });
        self.preserved.sort_by(|one, other| one.0.cmp(&other.0));
        self.discarded.sort();
    }

    /// The sequence that stands for the state, in the order of its keys: components, then objects. What is to be dropped is
    /// not in it; nor is an object without an address, which has no key.
    pub fn write(&self) -> Vec<StateRecord> {
        let entry = |key: StateKey, content| StateRecord { key: key.to_string(), content: Some(content) };
        let mut records = Vec::new();
        for (address, component) in &self.components {
            let message = component.to_message();
            records.push(entry(StateKey::Component(address.clone()), record(COMPONENT, &message)));
        }
        for ComponentObject { component, object } in &self.objects {
            let Some(address) = &object.address else { continue };
            let key = StateKey::Object { component: component.clone(), object: address.clone() };
            records.push(entry(key, record(OBJECT, &object.to_message())));
        }
        for (name, value) in &self.outputs {
            let content = value.to_message().map(|message| record(VALUE, &message));
            records.extend(content.map(|content| entry(StateKey::Output(name.clone()), content)));
        }
        for (name, value) in &self.inputs {
            let content = value.to_message().map(|message| record(VALUE, &message));
            records.extend(content.map(|content| entry(StateKey::Variable(name.clone()), content)));
        }
        let preserved = self.preserved.iter().cloned();
        records.extend(preserved.map(|(key, content)| StateRecord { key, content: Some(content) }));
        records
    }
}

impl Component {
    fn read(message: StateComponentInstanceV1) -> Result<Self, Fault> {
        Ok(Self {
            outputs: values(message.output_values, "output")?,
            inputs: values(message.input_variables, "input")?,
            dependencies: components(&message.dependency_addrs)?,
            dependents: components(&message.dependent_addrs)?,
        })
    }

    fn to_message(&self) -> StateComponentInstanceV1 {
        let values = |values: &BTreeMap<String, StacksValue>| {
            let messages =
                values.iter().filter_map(|(name, value)| Some((name.clone(), value.to_message()?)));
            messages.collect()
        };
        let texts = |addresses: &[ComponentAddress]| addresses.iter().map(ToString::to_string).collect();
        StateComponentInstanceV1 {
            output_values: values(&self.outputs),
            input_variables: values(&self.inputs),
            dependency_addrs: texts(&self.dependencies),
            dependent_addrs: texts(&self.dependents),
        }
    }
}

/// An object, without an address.
pub(super) fn read_object(message: StateResourceInstanceObjectV1) -> Result<SavedObject, Fault> {
    message.provider_config_addr.parse::<ProviderConfigAddress>()?;
    for dependency in &message.dependencies {
        dependency.parse::<ObjectAddress>()?;
    }
    Ok(SavedObject::from_message(message)?)
}

pub(super) fn values(
    messages: impl IntoIterator<Item = (String, DynamicValue)>,
    what: &str,
) -> Result<BTreeMap<String, StacksValue>, Fault> {
    let read = |(name, message)| {
        let value = StacksValue::read(message, &format!("{what} {name}"))?;
        Ok((name, value))
    };
    messages.into_iter().map(read).collect()
}

/// Addresses of components, where instances have no place.
pub(super) fn components(texts: &[String]) -> Result<Vec<ComponentAddress>, Fault> {
    let read = |text: &String| {
        let address: ComponentAddress = text.parse()?;
        if address.key.is_some() { Err(Fault::Instance(text.clone())) } else { Ok(address) }
    };
    texts.iter().map(read).collect()
}

fn value(entry: &Any, what: &str) -> Result<StacksValue, Fault> {
    require(entry, VALUE)?;
    StacksValue::read(content(entry)?, what)
}

fn require(entry: &Any, wanted: &str) -> Result<(), Fault> {
    let found = type_of(entry)?;
    if found == wanted { Ok(()) } else { Err(Fault::Type { found: found.to_owned() }) }
}
