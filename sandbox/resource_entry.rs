//! A resource with what all resources share: planning, state upgrades, identities, and completion
//! of states.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_cty::{Type, Value};
use serde_json::Map;
use tonic::Status;

use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::{Object, at};
use crate::protocol::Client;
use crate::resource::{Answer, Change, Outcome, Planned, Resource};
use crate::schema::{Attribute, Block, Nesting, Schema};
use crate::{planning, wire};

/// A resource and what is derived from its schema.
#[derive(Debug)]
pub(crate) struct ResourceEntry {
    pub(crate) resource: Box<dyn Resource>,
    pub schema: Schema,
    /// The type of its values.
    pub kind: Type,
}

impl ResourceEntry {
    /// The attributes that identify an object, in the schema's order.
    pub(crate) fn identity_attributes(&self) -> Vec<&Attribute> {
        let names = self.resource.identity();
        self.schema.block.attributes.iter().filter(|attribute| names.contains(&attribute.name)).collect()
    }

    /// The identity of an object, if the resource has one and all its attributes are known.
    pub(crate) fn identity_of(&self, state: &Value) -> Option<Value> {
        let object = Object::from_value(state)?;
        let parts = self.identity_attributes().into_iter().map(|attribute| {
            let value = object.value(attribute.name).clone();
            (!matches!(value, Value::Null | Value::Unknown(_))).then(|| (Arc::from(attribute.name), value))
        });
        let identity: BTreeMap<Arc<str>, Value> = parts.collect::<Option<_>>()?;
        (!identity.is_empty()).then_some(Value::Object(identity))
    }

    /// Validates a configuration.
    pub(crate) fn validate(
        &self,
        call: &Call,
        client: Client,
        config: &Value,
    ) -> Result<Diagnostics, Status> {
        let Some(object) = Object::from_value(config) else { return Ok(Diagnostics::default()) };
        for attribute in self.schema.block.attributes.iter().filter(|attribute| attribute.write_only) {
            if !client.write_only && !matches!(object.value(attribute.name), Value::Null) {
                let detail = format!("The client would store {}, which must not be stored.", attribute.name);
                let diagnostic = Diagnostic::error("WriteOnly Attribute Not Allowed", detail);
                return Ok(diagnostic.at(at(attribute.name)).into());
            }
        }
        self.resource.validate(call, &object)
    }

    /// Plans a change, or defers it.
    pub(crate) fn plan(
        &self,
        call: &Call,
        client: Client,
        change: &Change,
        deferred: Option<i32>,
    ) -> Result<Planned, Status> {
        let plan = planning::plan(&self.schema.block, &change.prior, &change.planned, &change.config);
        if !client.computed_blocks && self.schema.block.blocks.iter().any(|nested| nested.computed) {
            let detail = "The client does not say that it knows blocks that only the provider fills.";
            let refusal = Diagnostic::error("Computed Blocks Not Allowed", detail);
            return Ok(Planned { diagnostics: refusal.into(), ..Planned::from(plan) });
        }
        if deferred.is_some() {
            let proposed = planning::Plan { state: change.planned.clone(), requires_replace: Vec::new() };
            return Ok(Planned { deferred, ..Planned::from(proposed) });
        }
        self.resource.plan(call, change, plan)
    }

    /// Creates, updates or deletes an object.
    pub(crate) fn apply(&self, call: &Call, change: &Change) -> Result<Outcome, Status> {
        let outcome = match (&change.prior, Object::from_value(&change.planned)) {
            (Value::Null, Some(planned)) => self.resource.create(call, change, planned),
            (_, Some(planned)) => self.resource.update(call, change, planned),
            (_, None) => self.resource.delete(call, change),
        };
        outcome.map(|outcome| self.completed(outcome))
    }

    /// Refreshes an object.
    pub(crate) fn read(&self, call: &Call, state: &Value, private: Bytes) -> Result<Outcome, Status> {
        let Some(object) = Object::from_value(state) else { return Ok(Outcome::gone()) };
        self.resource.read(call, object, private).map(|outcome| self.completed(outcome))
    }

    /// Imports an object by its id.
    pub(crate) fn import(&self, call: &Call, id: &str) -> Result<Outcome, Status> {
        self.resource.import(call, id).map(|outcome| self.completed(outcome))
    }

    /// Imports an object by its identity.
    pub(crate) fn import_identity(&self, call: &Call, identity: &Value) -> Result<Outcome, Status> {
        let identity = Object::from_value(identity).unwrap_or_default();
        self.resource.import_identity(call, &identity).map(|outcome| self.completed(outcome))
    }

    /// Upgrades a stored state.
    pub(crate) fn upgrade(&self, call: &Call, version: i64, stored: &[u8]) -> Result<Outcome, Status> {
        let current = self.schema.version;
        let outcome = if version > current {
            let detail = format!("It is of version {version}; this provider knows versions up to {current}.");
            Diagnostic::error("The state is newer than the provider", detail).into()
        } else if version == current {
            self.understand_exactly(stored)
        } else {
            self.understand(stored, |stored| self.resource.upgrade(version, stored))
        };
        self.resource.upgraded(call, outcome)
    }

    /// Decodes stored state by the current schema, with exact numbers.
    fn understand_exactly(&self, stored: &[u8]) -> Outcome {
        match Json::parse(stored) {
            Ok(Json::Object(mut members)) => {
                if let Type::Object(object) = &self.kind {
                    members.retain(|(name, _)| object.attributes.contains_key(name.as_str()));
                }
                self.understand_text(&Json::Object(members).to_string())
            }
            Ok(_) => {
                Diagnostic::error("The stored state is not a JSON object", "It is something else.").into()
            }
            Err(error) => {
                Diagnostic::error("The stored state is not a JSON object", error.to_string()).into()
            }
        }
    }

    /// Moves state of another provider or type.
    pub(crate) fn move_state(&self, source: &str, stored: &[u8]) -> Outcome {
        let taken = serde_json::from_slice(stored).ok();
        let taken = taken
            .and_then(|stored: Map<String, serde_json::Value>| self.resource.move_state(source, &stored));
        match taken {
            Some(taken) => self.understand_object(taken),
            None => {
                let detail =
                    format!("{} cannot take over objects of type {source:?}.", self.resource.type_name());
                Diagnostic::error("Unable to Move Resource State", detail).into()
            }
        }
    }

    fn understand(
        &self,
        stored: &[u8],
        change: impl FnOnce(Map<String, serde_json::Value>) -> Map<String, serde_json::Value>,
    ) -> Outcome {
        match serde_json::from_slice(stored) {
            Ok(stored) => self.understand_object(change(stored)),
            Err(error) => {
                Diagnostic::error("The stored state is not a JSON object", error.to_string()).into()
            }
        }
    }

    /// Decodes stored state, ignoring attributes that are not in the schema, as frameworks do.
    fn understand_object(&self, mut stored: Map<String, serde_json::Value>) -> Outcome {
        if let Type::Object(object) = &self.kind {
            stored.retain(|name, _| object.attributes.contains_key(name.as_str()));
        }
        self.understand_text(&serde_json::Value::Object(stored).to_string())
    }

    fn understand_text(&self, text: &str) -> Outcome {
        match wire::from_json(text.as_bytes(), &self.kind) {
            Ok(value) => self.completed(Outcome::object(Object::from_value(&value).unwrap_or_default())),
            Err(error) => {
                Diagnostic::error("The stored state does not fit the schema", wire::explain(&error)).into()
            }
        }
    }

    /// Adds nulls and empty blocks, which handlers may omit.
    fn completed(&self, outcome: Outcome) -> Outcome {
        let state = match outcome.state {
            Answer::State(Value::Object(attributes)) => {
                Answer::State(complete(&self.schema.block, attributes))
            }
            other => other,
        };
        Outcome { state, ..outcome }
    }
}

/// An object with every attribute and block of its type.
fn complete(block: &Block, mut attributes: BTreeMap<Arc<str>, Value>) -> Value {
    for attribute in &block.attributes {
        attributes.entry(Arc::from(attribute.name)).or_insert(Value::Null);
    }
    for nested in &block.blocks {
        let value = attributes.entry(Arc::from(nested.name)).or_insert(Value::Null);
        if matches!(value, Value::Null) {
            *value = match nested.nesting {
                Nesting::Single => Value::Null,
                Nesting::List => Value::List(Vec::new()),
                Nesting::Set => Value::set(Vec::new()),
                Nesting::Map => Value::Map(BTreeMap::new()),
            };
        }
    }
    Value::Object(attributes)
}

/// The same state as of providers built on SDKv2: absent blocks are null.
#[cfg(feature = "misbehaviour")]
pub(crate) fn loosened(block: &Block, state: &Value) -> Value {
    let Value::Object(attributes) = state else { return state.clone() };
    let mut attributes = attributes.clone();
    for nested in &block.blocks {
        if let Some(value) = attributes.get_mut(nested.name)
            && matches!(value, Value::List(elements) | Value::Set(elements) if elements.is_empty())
        {
            *value = Value::Null;
        }
    }
    Value::Object(attributes)
}
