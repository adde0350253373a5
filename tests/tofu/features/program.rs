//! A program of one resource, in the words of both sides.
//!
//! It is JSON by Terraform's names, blocks as lists, with two values that JSON does not have: what is known only at the
//! update, and what is secret.

use isthmus_package::shape::{ObjectShape, Shape};
use isthmus_test_engine::{secret, unknown};
use serde_json::{Map, Value as Json, json};

use crate::daemon::Options;

const LATER: &str = "$later";
const HIDDEN: &str = "$hidden";

/// A resource of a program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Terraform's type.
    pub(crate) type_name: &'static str,
    /// Its arguments, an object.
    pub(crate) body: Json,
    /// What an engine is told of it.
    pub(crate) options: Options,
    /// Its `lifecycle` in OpenTofu.
    pub(crate) lifecycle: Json,
    /// What else there is in OpenTofu's program, at the top.
    pub(crate) beside: Json,
}

/// A program without options.
pub(crate) fn program(type_name: &'static str, body: Json) -> Program {
    Program { type_name, body, options: Options::default(), lifecycle: json!({}), beside: json!({}) }
}

/// A value that is not known in a preview.
pub(crate) fn later(value: Json) -> Json {
    json!({ LATER: value })
}

/// A secret text.
pub(crate) fn hidden(text: &str) -> Json {
    json!({ HIDDEN: text })
}

/// How a value is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Preview,
    Update,
}

/// As a Pulumi program has it.
pub(crate) fn pulumi(body: &Json, shape: &ObjectShape, phase: Phase, takes_secrets: bool) -> Json {
    let members = body.as_object().expect("a body is an object").iter().map(|(name, json)| {
        let field = shape.terraform(name).unwrap_or_else(|| panic!("there is no {name} in {shape:?}"));
        (field.pulumi.clone(), pulumi_value(json, &field.shape, phase, takes_secrets))
    });
    Json::Object(members.collect())
}

fn pulumi_value(json: &Json, shape: &Shape, phase: Phase, takes_secrets: bool) -> Json {
    if let Some(value) = json.get(LATER) {
        return match phase {
            Phase::Preview => unknown(),
            Phase::Update => pulumi_value(value, shape, phase, takes_secrets),
        };
    }
    if let Some(text) = json.get(HIDDEN) {
        return if takes_secrets { secret(text.clone()) } else { text.clone() };
    }
    let inner = |json: &Json, shape: &Shape| pulumi_value(json, shape, phase, takes_secrets);
    match (json, shape) {
        (Json::Array(items), Shape::FlattenedList(element) | Shape::FlattenedSet(element)) => {
            items.first().map_or(Json::Null, |item| inner(item, element))
        }
        (Json::Array(items), Shape::List(element) | Shape::Set(element)) => {
            items.iter().map(|item| inner(item, element)).collect()
        }
        (Json::Object(_), Shape::Object(object)) => pulumi(json, object, phase, takes_secrets),
        (Json::Object(members), Shape::Map(element)) => {
            Json::Object(members.iter().map(|(key, json)| (key.clone(), inner(json, element))).collect())
        }
        // What no double holds is written as a text.
        (Json::Number(number), _) if number.as_u64().is_some_and(|whole| whole > 1 << 53) => {
            Json::String(number.to_string())
        }
        (json, _) => json.clone(),
    }
}

/// As OpenTofu's JSON has it, and what it takes from other resources for that: texts by the names of these.
pub(crate) fn tofu(body: &Json, others: &mut Map<String, Json>) -> Json {
    match body {
        Json::Object(members) => {
            if let Some(text) = members.get(LATER) {
                let name = format!("later{}", others.len());
                others.insert(name.clone(), json!({"input": text}));
                return Json::String(format!("${{terraform_data.{name}.output}}"));
            }
            if let Some(Json::String(text)) = members.get(HIDDEN) {
                return Json::String(format!("${{sensitive(\"{text}\")}}"));
            }
            Json::Object(members.iter().map(|(name, json)| (name.clone(), tofu(json, others))).collect())
        }
        Json::Array(items) => items.iter().map(|item| tofu(item, others)).collect(),
        other => other.clone(),
    }
}

/// What an engine makes of inputs that are to be ignored: those that it has stored. `*` is every index or key.
pub(crate) fn ignore(news: &mut Json, olds: &Json, path: &str) {
    let steps: Vec<&str> = path.split(['.', '[']).map(|step| step.trim_end_matches(']')).collect();
    ignore_at(news, olds, &steps);
}

fn ignore_at(news: &mut Json, olds: &Json, steps: &[&str]) {
    let Some((step, rest)) = steps.split_first() else { return };
    if *step == "*" {
        match news {
            Json::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    if let Some(old) = olds.get(at) {
                        if rest.is_empty() { *item = old.clone() } else { ignore_at(item, old, rest) }
                    }
                }
            }
            Json::Object(members) => {
                for (key, member) in members.iter_mut() {
                    if let Some(old) = olds.get(key) {
                        if rest.is_empty() { *member = old.clone() } else { ignore_at(member, old, rest) }
                    }
                }
            }
            _ => {}
        }
        return;
    }
    match (news, step.parse::<usize>()) {
        (Json::Array(items), Ok(at)) => {
            if let (Some(item), Some(old)) = (items.get_mut(at), olds.get(at)) {
                if rest.is_empty() { *item = old.clone() } else { ignore_at(item, old, rest) }
            }
        }
        (Json::Object(members), _) => match (members.get_mut(*step), olds.get(*step)) {
            (Some(member), Some(old)) if rest.is_empty() => *member = old.clone(),
            (Some(member), Some(old)) => ignore_at(member, old, rest),
            (None, Some(old)) if rest.is_empty() => drop(members.insert((*step).to_owned(), old.clone())),
            (Some(_), None) if rest.is_empty() => drop(members.remove(*step)),
            _ => {}
        },
        _ => {}
    }
}
