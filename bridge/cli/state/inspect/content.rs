//! What is shown of states and plans. Members have the names that they have in Terraform's JSON of states and plans, where
//! it has them.

use std::collections::BTreeMap;

use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, Value};
use isthmus_proto::tfplan::{
    CheckResults, FunctionCallHash, ResourceInstanceActionReason,
    check_results::{ObjectKind, Status as CheckStatus},
};
use isthmus_state::stacks::{
    Component, PlannedChange, PlannedComponent, PlannedObject, StacksPlan, StacksState, StacksValue,
};
use isthmus_state::{ComponentAddress, ObjectAddress, SavedObject, Status};

use prost_types::Any;

use super::outline::Part;
use crate::cli::state::masking::{hide, private_data};

const UNKNOWN: &str = "(known after apply)";

/// How content is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    pub(super) with_secrets: bool,
}

impl Content {
    pub(super) fn state(self, state: &StacksState) -> Part {
        let mut shown = vec![("kind".to_owned(), text("state"))];
        shown.extend(self.state_members(state));
        Part::Members(shown)
    }

    fn state_members(self, state: &StacksState) -> Vec<(String, Part)> {
        let components = state.components.iter().map(|(address, component)| {
            // Objects are in the order of their components.
            let from = state.objects.partition_point(|object| object.component < *address);
            let objects = state.objects[from..].iter().take_while(|object| object.component == *address);
            self.component(address, component, objects.map(|object| &object.object))
        });
        let preserved = state.preserved.iter().filter_map(|key| state.records.get_key_value(key));
        let preserved = preserved.map(|(key, record)| self.undecoded(Some(key), record));
        let unknown = state.unknown.iter().map(|(key, record)| self.undecoded(Some(key), record));
        named([
            ("inputs", self.values(&state.inputs)),
            ("outputs", self.values(&state.outputs)),
            ("components", components.collect()),
            ("preserved", preserved.collect()),
            ("discarded", texts(&state.discarded)),
            ("unknown_records", unknown.collect()),
        ])
    }

    /// A record of an unknown kind. Those of plans have no keys.
    fn undecoded(self, key: Option<&String>, record: &Any) -> Part {
        let key = key.map(|key| ("key".to_owned(), text(key)));
        let rest = named([
            ("type", text(&record.type_url)),
            ("content", Part::Value(private_data(&record.value, self.with_secrets))),
        ]);
        Part::Members(key.into_iter().chain(rest).collect())
    }

    fn component<'a>(
        self,
        address: &ComponentAddress,
        component: &Component,
        objects: impl Iterator<Item = &'a SavedObject>,
    ) -> Part {
        let objects = objects.map(|object| {
            let mut shown = object_name(object.address.as_ref());
            shown.extend(self.object(object));
            Part::Members(shown)
        });
        members([
            ("address", text(address)),
            ("dependencies", texts(&component.dependencies)),
            ("dependents", texts(&component.dependents)),
            ("inputs", self.values(&component.inputs)),
            ("outputs", self.values(&component.outputs)),
            ("objects", objects.collect()),
        ])
    }

    fn object(self, object: &SavedObject) -> Vec<(String, Part)> {
        let (value, hidden) = self.masked(object.value.clone(), &object.sensitive_paths);
        let status = match object.status {
            Status::Ready => "ready",
            Status::Damaged => "damaged",
        };
        named([
            ("status", text(status)),
            ("provider", text(&object.provider)),
            ("schema_version", Part::Value(Json::Number(object.schema_version.to_string()))),
            ("dependencies", texts(&object.dependencies)),
            ("create_before_destroy", flag(object.create_before_destroy)),
            ("private", Part::Value(private_data(&object.private, self.with_secrets))),
            ("value", Part::Value(value)),
            ("hidden", hidden),
        ])
    }

    pub(super) fn plan(self, plan: &StacksPlan) -> Part {
        let inputs = plan.inputs.iter().map(|(name, input)| {
            let mut shown = input.value.as_ref().map(|value| self.value(value)).unwrap_or_default();
            shown.push(("required_on_apply".to_owned(), flag(input.is_required_on_apply)));
            (name.clone(), Part::Members(shown))
        });
        let components =
            plan.components.iter().map(|(address, component)| self.planned_component(address, component));
        members([
            ("kind", text("plan")),
            ("terraform_version", text(&plan.terraform_version)),
            ("applyable", flag(plan.is_applyable)),
            ("timestamp", plan.timestamp.as_ref().map_or(Part::Value(Json::Null), text)),
            ("inputs", Part::Members(inputs.collect())),
            ("deleted_inputs", texts(&plan.deleted_inputs)),
            ("deleted_outputs", texts(&plan.deleted_outputs)),
            ("deleted_components", texts(&plan.deleted_components)),
            ("components", components.collect()),
            ("function_results", function_results(&plan.function_results)),
            ("discarded_state_keys", texts(&plan.discarded_state_keys)),
            ("discarded_description_keys", texts(&plan.discarded_description_keys)),
            ("unknown_records", plan.unknown.iter().map(|record| self.undecoded(None, record)).collect()),
            ("prior_state", Part::Members(self.state_members(&plan.prior_state))),
        ])
    }

    fn planned_component(self, address: &ComponentAddress, component: &PlannedComponent) -> Part {
        members([
            ("address", text(address)),
            ("action", word(component.action.as_str_name())),
            ("mode", word(component.mode.as_str_name())),
            ("applyable", flag(component.is_applyable)),
            ("complete", flag(component.is_complete)),
            ("timestamp", text(&component.timestamp)),
            ("dependencies", texts(&component.dependencies)),
            ("inputs", self.values(&component.inputs)),
            ("outputs", self.values(&component.outputs)),
            ("check_results", component.check_results.iter().map(check_results).collect()),
            ("function_results", function_results(&component.function_results)),
            ("objects", component.objects.iter().map(|object| self.planned_object(object)).collect()),
        ])
    }

    fn planned_object(self, object: &PlannedObject) -> Part {
        let mut shown = object_name(Some(&object.address));
        shown.push(("provider".to_owned(), text(&object.provider)));
        if let Some(reason) = object.deferred {
            shown.push(("deferred".to_owned(), word(reason.as_str_name())));
        }
        if let Some(change) = &object.change {
            shown.push(("change".to_owned(), self.change(change, &object.address)));
        }
        if let Some(prior) = &object.prior {
            shown.push(("prior_state".to_owned(), Part::Members(self.object(prior))));
        }
        Part::Members(shown)
    }

    fn change(self, change: &PlannedChange, address: &ObjectAddress) -> Part {
        let mut shown = vec![("action".to_owned(), word(change.action.as_str_name()))];
        let mut member = |name: &str, part: Part| shown.push((name.to_owned(), part));
        if change.reason != ResourceInstanceActionReason::None {
            member("action_reason", word(change.reason.as_str_name()));
        }
        let previous = change.previous_address.as_ref();
        if let Some(previous) = previous.filter(|previous| previous.to_string() != address.to_string()) {
            member("previous_address", text(previous));
        }
        if let Some(import) = &change.importing {
            let id = if import.is_unknown { UNKNOWN } else { &import.id };
            let identity = import.identity.as_ref().map_or(Json::Null, json);
            member("importing", members([("id", text(id)), ("identity", Part::Value(identity))]));
        }
        for (name, value, secrets, identity) in [
            ("before", &change.before, &change.before_sensitive_paths, &change.before_identity),
            ("after", &change.after, &change.after_sensitive_paths, &change.after_identity),
        ] {
            if let Some(value) = value {
                let (value, hidden, unknown) = self.known(value, secrets);
                member(name, Part::Value(value));
                member(&format!("{name}_hidden"), hidden);
                member(&format!("{name}_unknown"), unknown);
            }
            if let Some(identity) = identity {
                member(&format!("{name}_identity"), Part::Value(json(identity)));
            }
        }
        member("replace_paths", texts(&change.replace_paths));
        if !change.generated_config.is_empty() {
            member("generated_config", text(&change.generated_config));
        }
        member("private", Part::Value(private_data(&change.private, self.with_secrets)));
        Part::Members(shown)
    }

    fn values(self, values: &BTreeMap<String, StacksValue>) -> Part {
        let shown = values.iter().map(|(name, value)| (name.clone(), Part::Members(self.value(value))));
        Part::Members(shown.collect())
    }

    fn value(self, value: &StacksValue) -> Vec<(String, Part)> {
        let (value, hidden, unknown) = self.known(&value.value, &value.sensitive_paths);
        named([("value", Part::Value(value)), ("hidden", hidden), ("unknown", unknown)])
    }

    /// A value, the paths that are masked in it, and which parts are unknown.
    fn known(self, value: &Value, secrets: &[AttributePath]) -> (Json, Part, Part) {
        let (shown, hidden) = self.masked(json(value), secrets);
        let unknown = unknown(value, &shown).unwrap_or(Json::Null);
        (shown, hidden, Part::Value(unknown))
    }

    fn masked(self, mut value: Json, secrets: &[AttributePath]) -> (Json, Part) {
        let hidden = if self.with_secrets { Vec::new() } else { hide(&mut value, secrets) };
        (value, texts(&hidden))
    }
}

/// The unknown parts of what is shown, in the form of `after_unknown` of Terraform's JSON: `true` at their places. What is
/// masked is not looked into. `None`: everything is known.
fn unknown(value: &Value, shown: &Json) -> Option<Json> {
    match (value.inner(), shown) {
        (Value::Unknown(_), Json::String(text)) => (text == UNKNOWN).then_some(Json::Bool(true)),
        (Value::List(elements) | Value::Set(elements) | Value::Tuple(elements), Json::Array(shown)) => {
            let parts = elements.iter().zip(shown).map(|(element, shown)| unknown(element, shown));
            let parts: Vec<_> = parts.collect();
            let has_unknown = parts.iter().any(Option::is_some);
            let parts = parts.into_iter().map(|part| part.unwrap_or(Json::Bool(false)));
            has_unknown.then(|| Json::Array(parts.collect()))
        }
        (Value::Map(members) | Value::Object(members), Json::Object(shown)) => {
            let parts = members
                .iter()
                .zip(shown)
                .filter_map(|((name, member), (_, shown))| Some((name.to_string(), unknown(member, shown)?)));
            let parts: Vec<_> = parts.collect();
            (!parts.is_empty()).then_some(Json::Object(parts))
        }
        _ => None,
    }
}

fn object_name(address: Option<&ObjectAddress>) -> Vec<(String, Part)> {
    let deposed = address.and_then(|address| address.deposed.as_ref());
    named([
        ("address", address.map_or(Part::Value(Json::Null), text)),
        ("deposed", deposed.map_or(Part::Value(Json::Null), |key| text(key.as_str()))),
    ])
}

fn check_results(results: &CheckResults) -> Part {
    let status = |status| {
        CheckStatus::try_from(status).map_or_else(|_| text(status), |status| word(status.as_str_name()))
    };
    let kind = results.kind;
    let kind = ObjectKind::try_from(kind).map_or_else(|_| text(kind), |kind| word(kind.as_str_name()));
    let objects = results.objects.iter().map(|object| {
        members([
            ("address", text(&object.object_addr)),
            ("status", status(object.status)),
            ("failure_messages", texts(&object.failure_messages)),
        ])
    });
    members([
        ("kind", kind),
        ("address", text(&results.config_addr)),
        ("status", status(results.status)),
        ("objects", objects.collect()),
    ])
}

fn function_results(results: &[FunctionCallHash]) -> Part {
    let shown = results
        .iter()
        .map(|result| members([("key", base64(&result.key)), ("result", base64(&result.result))]));
    shown.collect()
}

fn base64(bytes: &[u8]) -> Part {
    Part::Value(private_data(bytes, true))
}

/// The JSON of a value whose type is unknown.
fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Unknown(_) => Json::String(UNKNOWN.to_owned()),
        Value::Bool(value) => Json::Bool(*value),
        // JSON has no infinity.
        Value::Number(number) if number.is_infinite() => Json::String(number.to_decimal_text()),
        Value::Number(number) => Json::Number(number.to_decimal_text()),
        Value::String(text) => Json::String(text.to_string()),
        Value::List(elements) | Value::Set(elements) | Value::Tuple(elements) => {
            Json::Array(elements.iter().map(json).collect())
        }
        Value::Map(members) | Value::Object(members) => {
            Json::Object(members.iter().map(|(name, member)| (name.to_string(), json(member))).collect())
        }
        Value::Dynamic(both) => json(&both.1),
    }
}

/// A name of an enum's value.
fn word(name: &str) -> Part {
    Part::Text(name.to_ascii_lowercase())
}

fn text(text: impl ToString) -> Part {
    Part::Text(text.to_string())
}

fn flag(value: bool) -> Part {
    Part::Value(Json::Bool(value))
}

fn texts<Text: ToString>(all: impl IntoIterator<Item = Text>) -> Part {
    all.into_iter().map(text).collect()
}

fn named<const COUNT: usize>(members: [(&str, Part); COUNT]) -> Vec<(String, Part)> {
    members.into_iter().map(|(name, part)| (name.to_owned(), part)).collect()
}

fn members<const COUNT: usize>(members: [(&str, Part); COUNT]) -> Part {
    Part::Members(named(members))
}

impl FromIterator<Self> for Part {
    fn from_iter<Parts: IntoIterator<Item = Self>>(parts: Parts) -> Self {
        Self::List(parts.into_iter().collect())
    }
}
