//! `customTimeouts`: the user's limits for operations on a resource.
//!
//! Terraform has no such option. Its resources take timeouts as configuration, in a block or
//! attribute `timeouts`, to which the engine's are added if the resource has it: then the provider
//! itself ends the operation and returns what it leaves behind. For an update they are part of the
//! plan; delete and read, which have no configuration, find them in the state. Providers on the old
//! SDK use another place ([`sdk`]). Timeouts in the program's inputs take precedence.
//!
//! They come with each call and are not part of the inputs. If they were only added there, the
//! state would forever differ from the next configuration. So `timeouts` in the state that no
//! program has set count as configured ([`Target::keep_timeouts`]).
//!
//! For resources without timeouts, they limit the calls of the operation ([`Target::time_limit`],
//! [`interruption`]).

mod duration;
mod interruption;
mod sdk;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use isthmus_cty::Value;
use isthmus_proto::property::Struct;
use isthmus_provider::Object;

use super::target::Target;
use isthmus_package::shape::{Field, ObjectShape, Shape};
use isthmus_translate::property::{PropertyView, unwrap};

pub use interruption::Remedy;

/// The block or attribute, by convention of HashiCorp's libraries.
const TIMEOUTS: &str = "timeouts";

/// Applies to all operations without their own timeout.
const DEFAULT: &str = "default";

impl Target<'_> {
    /// Sets operation and timeout in seconds (0: none). `stored` are the inputs that the state was
    /// written with, if the engine sends them.
    #[must_use]
    pub fn timed(mut self, operation: Operation, seconds: f64, stored: Option<&Struct>) -> Self {
        let program = stored.map(|inputs| {
            let Some((field, object)) = self.timeouts_field() else { return Vec::new() };
            set_by_program(inputs, field, object)
        });
        self.timeouts =
            Timeouts { operation: Some(operation), allowed: duration::of_seconds(seconds), program };
        self
    }

    /// Sets up a comparison, for which engines send no timeout.
    #[must_use]
    pub fn compared(mut self, stored: Option<&Struct>) -> Self {
        self = self.timed(Operation::Update, 0.0, stored);
        self.timeouts.operation = None;
        self
    }

    /// The time limit of the operation's calls; `None` if there is none, or the provider itself
    /// applies it.
    pub fn time_limit(&self) -> Option<Duration> {
        let operation = self.timeouts.operation?;
        self.timeouts.allowed.filter(|_| !self.takes_timeout(operation))
    }

    /// The program's timeouts, before any is added.
    pub(super) fn programs_timeouts(&self, config: &Value) -> Value {
        timeouts_in(config).cloned().unwrap_or(Value::Null)
    }

    /// Adds the operation's timeout to a configuration unless the program sets one. Returns whether
    /// that changed anything.
    pub(super) fn allow(&self, config: &mut Value, programs: &Value) -> bool {
        let Some((operation, object)) = self.timeout_place() else { return false };
        let is_set = |key| member(programs, key).is_some_and(|value| !value.is_null());
        if !programs.is_known() || is_set(operation.key()) || is_set(DEFAULT) {
            return false;
        }
        let Some(timeouts) = timeouts_of(config) else { return false };
        let before = timeouts.clone();
        let allowed = self.timeouts.allowed.map_or(Value::Null, |time| Value::string(duration::text(time)));
        set(timeouts, object, operation.key(), allowed);
        if programs.is_null() && is_empty(timeouts) {
            *timeouts = Value::Null;
        }
        *timeouts != before
    }

    /// Copies timeouts of the state to a configuration, except those that a program had set and
    /// removed.
    pub(super) fn keep_timeouts(&self, config: &mut Value, prior: &Value) {
        let Some((_, object)) = self.timeouts_field() else { return };
        let (Some(before @ Value::Object(kept)), Some(timeouts)) = (timeouts_in(prior), timeouts_of(config))
        else {
            return;
        };
        let programs = self.timeouts.program.as_deref().unwrap_or_default();
        if programs.is_empty() && timeouts.is_null() {
            // Unchanged, so that an object of nulls stays one.
            timeouts.clone_from(before);
            return;
        }
        if !timeouts.is_known() {
            return;
        }
        for (key, value) in kept.iter().filter(|(key, value)| !value.is_null() && !programs.contains(key)) {
            if member(timeouts, key).is_none_or(Value::is_null) {
                set(timeouts, object, key, value.clone());
            }
        }
    }

    /// The state with the timeout of an operation without configuration, where the provider expects
    /// it; `None` if it is unchanged.
    pub(super) fn allow_in_state(&self, stored: &Object) -> Option<Object> {
        let (operation, fields) = self.timeout_place()?;
        let time = self.timeouts.allowed?;
        let key = operation.key();
        let timeouts = timeouts_in(&stored.value)?;
        let is_programs = |key: &str| {
            let may_be = self.timeouts.program.as_ref();
            let may_be = may_be.is_none_or(|keys| keys.iter().any(|own| own.as_ref() == key));
            may_be && member(timeouts, key).is_some_and(|value| !value.is_null())
        };
        if is_programs(key) || is_programs(DEFAULT) {
            return None;
        }
        let mut object = stored.clone();
        set(timeouts_of(&mut object.value)?, fields, key, Value::string(duration::text(time)));
        if let Some(private) = sdk::with_timeout(&object.private, key, time) {
            object.private = private;
        }
        Some(object)
    }

    /// Removes from a read object what [`Self::allow_in_state`] added.
    pub(super) fn without_timeout(&self, mut read: Object, sent: &Object, stored: &Object) -> Object {
        if let (Some(before), Some(sent)) = (timeouts_in(&stored.value), timeouts_in(&sent.value))
            && let Some(timeouts) = timeouts_of(&mut read.value)
            && timeouts == sent
        {
            timeouts.clone_from(before);
        }
        if read.private == sent.private {
            read.private.clone_from(&stored.private);
        }
        read
    }

    fn takes_timeout(&self, operation: Operation) -> bool {
        self.timeouts_field().is_some_and(|(_, object)| {
            object.terraform(operation.key()).is_some_and(|field| {
                matches!(field.shape, Shape::String) && (field.optional || field.required)
            })
        })
    }

    /// The operation and the shape of its timeouts, if the resource has them.
    fn timeout_place(&self) -> Option<(Operation, &ObjectShape)> {
        let operation = self.timeouts.operation.filter(|operation| self.takes_timeout(*operation))?;
        self.timeouts_field().map(|(_, object)| (operation, object))
    }

    fn timeouts_field(&self) -> Option<(&Field, &ObjectShape)> {
        let field = self.shape.object.terraform(TIMEOUTS)?;
        match &field.shape {
            Shape::Object(object) if field.optional || field.required => Some((field, object)),
            _ => None,
        }
    }
}

/// The timeouts in a program's inputs. Unreadable inputs, which may be of another version, have
/// none.
fn set_by_program(inputs: &Struct, field: &Field, object: &ObjectShape) -> Vec<Arc<str>> {
    let Some(Ok((PropertyView::Object(timeouts), _))) = inputs.get(&field.pulumi).map(unwrap) else {
        return Vec::new();
    };
    let set = timeouts.iter().filter(|(_, value)| !value.is_null());
    set.filter_map(|(name, _)| Some(Arc::clone(&object.pulumi(name)?.terraform))).collect()
}

fn timeouts_in(value: &Value) -> Option<&Value> {
    match value {
        Value::Object(members) => members.get(TIMEOUTS),
        _ => None,
    }
}

fn timeouts_of(value: &mut Value) -> Option<&mut Value> {
    match value {
        Value::Object(members) => members.get_mut(TIMEOUTS),
        _ => None,
    }
}

fn member<'a>(timeouts: &'a Value, key: &str) -> Option<&'a Value> {
    match timeouts {
        Value::Object(members) => members.get(key),
        _ => None,
    }
}

fn is_empty(timeouts: &Value) -> bool {
    matches!(timeouts, Value::Object(members) if members.values().all(Value::is_null))
}

/// Sets one timeout; a null object becomes one of nulls.
fn set(timeouts: &mut Value, object: &ObjectShape, key: &str, timeout: Value) {
    if timeouts.is_null() && !timeout.is_null() {
        let nulls = object.fields.iter().map(|field| (Arc::clone(&field.terraform), Value::Null));
        *timeouts = Value::Object(nulls.collect::<BTreeMap<_, _>>());
    }
    if let Value::Object(members) = timeouts
        && let Some(member) = members.get_mut(key)
    {
        *member = timeout;
    }
}

/// The operations that timeouts distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Read,
    Update,
    Delete,
}

/// The engine's timeout of a call.
#[derive(Clone, Debug, Default)]
pub struct Timeouts {
    operation: Option<Operation>,
    allowed: Option<Duration>,
    /// The timeouts that the program had set when the state was written; `None` if the engine does
    /// not send them.
    program: Option<Vec<Arc<str>>>,
}

impl Operation {
    /// Its key in `timeouts` and in `customTimeouts`.
    const fn key(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}
