//! The interface of the sandbox's resources: schema, operations and their results.
//!
//! [`ResourceEntry`](crate::resource_entry::ResourceEntry) does what all resources share (decoding,
//! planning, checks, records, imitation). Handlers may block: each call has a thread.

use std::fmt::Debug;

use bytes::Bytes;
use isthmus_cty::{AttributePath, Value};
use serde_json::Map;
use tonic::Status;

use crate::call::Call;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::object::Object;
use crate::planning::Plan;
use crate::protocol::{Minor, Protocol};
use crate::schema::Schema;

/// A resource type. An `Err` is a gRPC error, which only the faulty resource returns.
pub(crate) trait Resource: Debug + Send + Sync {
    fn type_name(&self) -> &'static str;

    /// The schema for a protocol version and minor.
    fn schema(&self, protocol: Protocol, minor: Minor) -> Schema;

    /// Attributes of the identity, if any.
    fn identity(&self) -> &'static [&'static str] {
        &[]
    }

    /// Validates a configuration, which may have unknown values.
    fn validate(&self, call: &Call, config: &Object) -> Result<Diagnostics, Status> {
        let _ = (call, config);
        Ok(Diagnostics::default())
    }

    /// Modifies a plan after planning by the schema.
    fn plan(&self, call: &Call, change: &Change, plan: Plan) -> Result<Planned, Status> {
        let _ = (call, change);
        Ok(Planned::from(plan))
    }

    fn create(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status>;

    /// Refreshes an object; an outcome without an object: it is gone.
    fn read(&self, call: &Call, state: Object, private: Bytes) -> Result<Outcome, Status>;

    fn update(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status>;

    /// Deletes an object; an outcome without an object is a success.
    fn delete(&self, call: &Call, change: &Change) -> Result<Outcome, Status>;

    /// Imports an object; a read afterwards adds the rest.
    fn import(&self, call: &Call, id: &str) -> Result<Outcome, Status> {
        let _ = id;
        let summary = "Resource Import Not Implemented";
        let detail = format!("Objects of type {} cannot be imported.", call.type_name());
        Ok(Diagnostic::error(summary, detail).into())
    }

    /// Imports an object by its identity, whose attributes are complete.
    fn import_identity(&self, call: &Call, identity: &Object) -> Result<Outcome, Status> {
        self.import(call, identity.text("id").unwrap_or_default())
    }

    /// Upgrades state of an older schema version.
    fn upgrade(
        &self,
        version: i64,
        stored: Map<String, serde_json::Value>,
    ) -> Map<String, serde_json::Value> {
        let _ = version;
        stored
    }

    /// Modifies an upgraded state.
    fn upgraded(&self, call: &Call, outcome: Outcome) -> Result<Outcome, Status> {
        let _ = call;
        Ok(outcome)
    }

    /// Moves state of another type; `None` if not supported.
    fn move_state(
        &self,
        source: &str,
        stored: &Map<String, serde_json::Value>,
    ) -> Option<Map<String, serde_json::Value>> {
        let _ = (source, stored);
        None
    }
}

/// A planned or applied change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The prior state; null in a creation.
    pub prior: Value,
    /// The proposed (in a plan) or planned state; null in a deletion.
    pub planned: Value,
    /// The configuration; null in a deletion.
    pub config: Value,
    /// Private data of the previous call.
    pub private: Bytes,
}

/// Response of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub state: Answer,
    /// Attributes whose change requires replacement.
    pub requires_replace: Vec<AttributePath>,
    pub diagnostics: Diagnostics,
    /// The `Deferred.Reason` if the plan is deferred.
    pub deferred: Option<i32>,
}

/// Result of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The new state.
    pub state: Answer,
    /// Private data for the next call.
    pub private: Bytes,
    pub diagnostics: Diagnostics,
}

/// A value in a response.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A value of the resource's type, in the configured encoding.
    State(Value),
    /// A faulty value.
    #[cfg(feature = "misbehaviour")]
    Wrong(Wrong),
}

/// Fault of a value.
#[cfg(feature = "misbehaviour")]
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    /// A value of the resource's type, in JSON.
    Json(Value),
    /// A value of another type.
    Mistyped(Value, isthmus_cty::Type),
    /// These bytes instead of MessagePack.
    Bytes(Bytes),
    /// A message with neither encoding in it.
    Empty,
    /// No message.
    Absent,
}

impl Change {
    /// The prior object.
    pub(crate) fn prior_object(&self) -> Option<Object> {
        Object::from_value(&self.prior)
    }

    pub(crate) fn config_object(&self) -> Object {
        Object::from_value(&self.config).unwrap_or_default()
    }
}

impl Outcome {
    pub(crate) fn object(object: Object) -> Self {
        Self {
            state: Answer::State(object.into_value()),
            private: Bytes::new(),
            diagnostics: Diagnostics::default(),
        }
    }

    pub(crate) fn gone() -> Self {
        Self { state: Answer::State(Value::Null), private: Bytes::new(), diagnostics: Diagnostics::default() }
    }

    /// A failure with partial state.
    pub(crate) fn partial(object: Object, diagnostic: Diagnostic) -> Self {
        Self { diagnostics: diagnostic.into(), ..Self::object(object) }
    }

    /// Adds private data.
    #[must_use]
    pub(crate) fn with_private(self, private: Bytes) -> Self {
        Self { private, ..self }
    }
}

/// A failure without state.
impl From<Diagnostic> for Outcome {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: diagnostic.into(), ..Self::gone() }
    }
}

impl From<Plan> for Planned {
    fn from(plan: Plan) -> Self {
        Self {
            state: Answer::State(plan.state),
            requires_replace: plan.requires_replace,
            diagnostics: Diagnostics::default(),
            deferred: None,
        }
    }
}
