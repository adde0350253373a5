//! The state of a stack.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use isthmus_proto::tfstackdata1::{DynamicValue, StateComponentInstanceV1, StateResourceInstanceObjectV1};
use prost::Message as _;
use prost_types::Any;

use super::error::{Fault, SequenceError};
use super::key::{StateKey, Treatment};
use super::sequence::{StateRecord, content, record, type_of};
use super::value::StacksValue;
use crate::addresses::{ComponentAddress, ObjectAddress, ProviderConfigAddress};
use crate::saved::SavedObject;

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
    /// Keys of unknown kinds whose records are preserved.
    pub preserved: Vec<String>,
    /// Keys of what is not known and is to be dropped when anything changes.
    pub discarded: Vec<String>,
    /// The records of components, inputs, outputs and of what is preserved, as they came, by key.
    /// They may contain more than this release knows.
    pub records: BTreeMap<String, Any>,
    /// Records that only other releases know, by key; only in a state that is read to be shown.
    pub unknown: Vec<(String, Any)>,
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

/// What to do with records that only other releases know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownRecords {
    /// Refuse the state or plan: it means something else without them.
    Refuse,
    /// Set them apart, for a state or plan that is only shown.
    SetApart,
}

impl StacksState {
    /// The state that a sequence of changes leads to.
    ///
    /// # Errors
    /// When a record cannot be read, or must not be passed over.
    pub fn read(records: Vec<StateRecord>) -> Result<Self, SequenceError> {
        Self::read_with(records, UnknownRecords::Refuse)
    }

    /// The same, to be shown: what is unknown here is set apart.
    ///
    /// # Errors
    /// When a record that is known cannot be read.
    pub fn read_to_show(records: Vec<StateRecord>) -> Result<Self, SequenceError> {
        Self::read_with(records, UnknownRecords::SetApart)
    }

    fn read_with(records: Vec<StateRecord>, unknown: UnknownRecords) -> Result<Self, SequenceError> {
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
            state.add(&key, content, unknown).map_err(|fault| SequenceError::at(number, key, fault))?;
        }
        state.complete();
        Ok(state)
    }

    pub(super) fn add(&mut self, text: &str, entry: Any, unknown: UnknownRecords) -> Result<(), Fault> {
        match self.add_known(text, &entry) {
            Err(fault) if fault.is_unknown() && unknown == UnknownRecords::SetApart => {
                self.unknown.push((text.to_owned(), entry));
                Ok(())
            }
            added => added,
        }
    }

    fn add_known(&mut self, text: &str, entry: &Any) -> Result<(), Fault> {
        let key: StateKey = text.parse()?;
        // Escapes allow several texts of one key.
        let text = key.to_string();
        match key {
            StateKey::Object { component, object } => return self.add_object(component, object, entry),
            StateKey::Component(address) => {
                require(entry, COMPONENT)?;
                let component = Component::read(content(entry)?)?;
                self.components.insert(address, component);
            }
            StateKey::Output(name) => {
                let output = value(entry, &format!("output {name}"))?;
                self.outputs.insert(name, output);
            }
            StateKey::Variable(name) => {
                let input = value(entry, &format!("input {name}"))?;
                self.inputs.insert(name, input);
            }
            StateKey::Unknown { kind, .. } => match StateKey::treatment(&kind) {
                Treatment::Refuse => return Err(Fault::MandatoryKey(kind)),
                Treatment::Preserve => self.preserved.push(text.clone()),
                Treatment::Discard => {
                    self.discarded.push(text);
                    return Ok(());
                }
            },
        }
        self.records.insert(text, entry.clone());
        Ok(())
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

    /// Orders everything by key, and adds the records of components that only objects name.
    pub(super) fn complete(&mut self) {
        self.objects.sort_by(|one, other| {
            (&one.component, &one.object.address).cmp(&(&other.component, &other.object.address))
        });
        self.preserved.sort();
        self.discarded.sort();
        for address in self.components.keys() {
            let key = StateKey::Component(address.clone()).to_string();
            self.records
                .entry(key)
                .or_insert_with(|| record(COMPONENT, &StateComponentInstanceV1::default()));
        }
    }

    /// The sequence of the state, in the order of its keys, so that components precede their
    /// objects. Every component has a record. What is to be dropped is not in it; nor is an object
    /// without an address, which has no key.
    pub fn write(mut self) -> Vec<StateRecord> {
        self.complete();
        for ComponentObject { component, object } in &self.objects {
            let Some(address) = object.address.clone() else { continue };
            let key = StateKey::Object { component: component.clone(), object: address };
            self.records.insert(key.to_string(), record(OBJECT, &object.to_message()));
        }
        let records = self.records.into_iter();
        records.map(|(key, content)| StateRecord { key, content: Some(content) }).collect()
    }
}

/// The keys of records that differ between two states, or are in one of them only.
pub fn differences<'a>(
    one: &'a BTreeMap<String, Any>,
    other: &'a BTreeMap<String, Any>,
) -> BTreeSet<&'a str> {
    let is_different = |key: &&String| match (one.get(*key), other.get(*key)) {
        (Some(one), Some(other)) => one != other && !is_same_component(one, other),
        _ => true,
    };
    one.keys().chain(other.keys()).filter(is_different).map(String::as_str).collect()
}

/// Whether two records of a component differ only in the order of maps and sets.
fn is_same_component(one: &Any, other: &Any) -> bool {
    let ordered = |entry: &Any| {
        require(entry, COMPONENT).ok()?;
        let mut message: StateComponentInstanceV1 = content(entry).ok()?;
        message.dependency_addrs.sort();
        message.dependent_addrs.sort();
        // Fields that only a newer release knows would be missing.
        (message.encoded_len() == entry.value.len()).then_some(message)
    };
    ordered(one).is_some_and(|one| ordered(other) == Some(one))
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
