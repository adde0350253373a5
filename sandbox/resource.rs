//! What a resource of the sandbox is: its schema, its five operations, and what they return.
//!
//! Everything that providers have in common (decoding, planning, checks, records, imitation of other ages) is done around
//! it, by [`ResourceEntry`](crate::resource_entry::ResourceEntry). Handlers may block: each call has a thread.

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

/// One resource type. An `Err` is an error of gRPC itself, which only the faulty resource wants.
pub(crate) trait Resource: Debug + Send + Sync {
    /// Its name in configurations.
    fn type_name(&self) -> &'static str;

    /// What it looks like to a client of this protocol, from a provider of this age.
    fn schema(&self, protocol: Protocol, minor: Minor) -> Schema;

    /// Names of the attributes that identify an object, if it has an identity beside its id.
    fn identity(&self) -> &'static [&'static str] {
        &[]
    }

    /// Judges a configuration, in which anything may be unknown.
    fn validate(&self, call: &Call, config: &Object) -> Result<Diagnostics, Status> {
        let _ = (call, config);
        Ok(Diagnostics::default())
    }

    /// Has the last word on a plan that was made by the schema's rules.
    fn plan(&self, call: &Call, change: &Change, plan: Plan) -> Result<Planned, Status> {
        let _ = (call, change);
        Ok(Planned::from(plan))
    }

    /// Makes an object.
    fn create(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status>;

    /// Looks at an object; an outcome without an object says that it is gone.
    fn read(&self, call: &Call, state: Object, private: Bytes) -> Result<Outcome, Status>;

    /// Changes an object.
    fn update(&self, call: &Call, change: &Change, planned: Object) -> Result<Outcome, Status>;

    /// Removes an object; an outcome without an object is the good one.
    fn delete(&self, call: &Call, change: &Change) -> Result<Outcome, Status>;

    /// Says what is known of an object that somebody else made; reading it afterwards fills in the rest.
    fn import(&self, call: &Call, id: &str) -> Result<Outcome, Status> {
        let _ = id;
        let summary = "Resource Import Not Implemented";
        let detail = format!("Objects of type {} cannot be imported.", call.type_name());
        Ok(Diagnostic::error(summary, detail).into())
    }

    /// The same by the object's identity, which has all attributes that the identity has.
    fn import_identity(&self, call: &Call, identity: &Object) -> Result<Outcome, Status> {
        self.import(call, identity.text("id").unwrap_or_default())
    }

    /// Brings the stored form of an older version to the current one. Called only for versions below the schema's.
    fn upgrade(
        &self,
        version: i64,
        stored: Map<String, serde_json::Value>,
    ) -> Map<String, serde_json::Value> {
        let _ = version;
        stored
    }

    /// Has the last word on an upgrade.
    fn upgraded(&self, call: &Call, outcome: Outcome) -> Result<Outcome, Status> {
        let _ = call;
        Ok(outcome)
    }

    /// Takes over the stored form of another type; `None` when it cannot.
    fn move_state(
        &self,
        source: &str,
        stored: &Map<String, serde_json::Value>,
    ) -> Option<Map<String, serde_json::Value>> {
        let _ = (source, stored);
        None
    }
}

/// What a change is about: the states before and after, the configuration, and the provider's own bytes.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The state before; null when there is no object.
    pub prior: Value,
    /// The state that is proposed (in a plan) or planned (when applying); null when the object is to go.
    pub planned: Value,
    /// What the user wrote; null when the object is to go.
    pub config: Value,
    /// What the provider said to itself in the call before.
    pub private: Bytes,
}

/// A plan on its way out.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// The planned state.
    pub state: Answer,
    /// Attributes whose change replaces the object.
    pub requires_replace: Vec<AttributePath>,
    /// What there is to say.
    pub diagnostics: Diagnostics,
    /// The plan is put off for this reason (a number of the wire's enumeration).
    pub deferred: Option<i32>,
}

/// What an operation came to.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The state after it.
    pub state: Answer,
    /// What the provider says to itself in the next call.
    pub private: Bytes,
    /// What there is to say.
    pub diagnostics: Diagnostics,
}

/// A value on its way out.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A value of the resource's type, in the encoding that is switched on.
    State(Value),
    /// What stands in its place on purpose.
    #[cfg(feature = "misbehaviour")]
    Wrong(Wrong),
}

/// What stands in the place of a value of the resource's type in MessagePack.
#[cfg(feature = "misbehaviour")]
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    /// A value of the resource's type, in JSON.
    Json(Value),
    /// A value of some other type.
    Mistyped(Value, isthmus_cty::Type),
    /// These bytes instead of MessagePack.
    Bytes(Bytes),
    /// A message with neither encoding in it.
    Empty,
    /// No message.
    Absent,
}

impl Change {
    /// The object before.
    pub(crate) fn prior_object(&self) -> Option<Object> {
        Object::from_value(&self.prior)
    }

    /// The configuration.
    pub(crate) fn config_object(&self) -> Object {
        Object::from_value(&self.config).unwrap_or_default()
    }
}

impl Outcome {
    /// There is this object.
    pub(crate) fn object(object: Object) -> Self {
        Self {
            state: Answer::State(object.into_value()),
            private: Bytes::new(),
            diagnostics: Diagnostics::default(),
        }
    }

    /// There is no object.
    pub(crate) fn gone() -> Self {
        Self { state: Answer::State(Value::Null), private: Bytes::new(), diagnostics: Diagnostics::default() }
    }

    /// It failed, and this is what there is all the same.
    pub(crate) fn partial(object: Object, diagnostic: Diagnostic) -> Self {
        Self { diagnostics: diagnostic.into(), ..Self::object(object) }
    }

    /// The same with bytes for the next call.
    #[must_use]
    pub(crate) fn with_private(self, private: Bytes) -> Self {
        Self { private, ..self }
    }
}

/// It failed, and there is nothing to keep.
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
