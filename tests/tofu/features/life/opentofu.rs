//! A life under OpenTofu: programs in JSON, plans and applies by its command line, and what its plans show.

use std::sync::Arc;

use isthmus_package::shape::Shape;
use isthmus_test_engine::unknown;
use serde_json::{Map, Value as Json, json};
use tokio::task::block_in_place;

use super::{Life, Seen};
use crate::features::outcome::When;
use crate::features::program::{Program, tofu};
use crate::steps::Decision;
use crate::tofu::Tofu;

impl Life {
    pub(super) fn tofu_step(
        &mut self,
        program: Option<&Program>,
        update: bool,
        refresh: bool,
        import: Option<&str>,
    ) -> Seen {
        let mut seen = Seen::nothing();
        let project = self.project.as_ref().expect("it is OpenTofu");
        let mut text = self.tofu_head();
        if let Some(program) = program {
            let mut others = Map::new();
            let mut body = tofu(&program.body, &mut others);
            if program.lifecycle != json!({}) {
                body["lifecycle"] = program.lifecycle.clone();
            }
            merge(&mut text, json!({"resource": {program.type_name: {&self.name: body}}}));
            if !others.is_empty() {
                merge(&mut text, json!({"resource": {"terraform_data": others}}));
            }
            if let Some(beside) = program.beside.as_object() {
                for (name, value) in beside {
                    merge(&mut text[name], value.clone());
                }
            }
            if let Some(id) = import {
                text["import"] = json!([{"to": format!("{}.{}", program.type_name, self.name), "id": id}]);
            }
        }
        write(project, &text);
        let refresh = if refresh { "-refresh=true" } else { "-refresh=false" };
        let planned = run(project, &["plan", "-json", "-input=false", "-out=plan", refresh]);
        seen.warnings = planned.said("warning");
        if let Some(error) = planned.error() {
            let when = if import.is_some() { When::Import } else { When::Preview };
            return seen.refuse(when, error);
        }
        let plan = show(project);
        let changes = plan["resource_changes"].as_array().cloned().unwrap_or_default();
        let own = changes.iter().find(|change| change["name"] == self.name.as_str());
        if let Some(change) = own.map(|change| &change["change"]) {
            seen.decision = Decision::of_actions(&change["actions"]);
            if let Some(program) = program {
                let shape = self.shape(program.type_name);
                let after = with_unknowns(&change["after"], &change["after_unknown"]);
                if !change["before"].is_null() {
                    shown_places(
                        &mut seen.shown,
                        "",
                        &change["before"],
                        &after,
                        &Shape::Object(Arc::clone(&shape.object)),
                    );
                    let paths = change["replace_paths"].as_array().cloned().unwrap_or_default();
                    seen.replacing = paths.iter().map(place).collect();
                }
                seen.planned = after;
            }
        }
        if update {
            let applied = run(project, &["apply", "-json", "-input=false", "plan"]);
            seen.warnings.extend(applied.said("warning"));
            if let Some(error) = applied.error() {
                return seen.refuse(When::Update, error);
            }
        }
        seen
    }

    /// What each program of OpenTofu begins with.
    fn tofu_head(&self) -> Json {
        let name = self.provider.name();
        let mut others = Map::new();
        let configuration = tofu(&self.configuration, &mut others);
        let mut head = json!({
            "terraform": {"required_providers": {name: {"source": format!("isthmus/{name}")}}},
            "provider": {name: configuration},
        });
        if !others.is_empty() {
            head["resource"] = json!({ "terraform_data": others });
        }
        head
    }

    /// OpenTofu's answer to a program that has more than resources: the values of its outputs, or what is wrong.
    pub(crate) fn tofu_outputs(&self, more: &Json) -> Result<Json, String> {
        block_in_place(|| {
            let project = self.project.as_ref().expect("it is OpenTofu");
            let mut text = self.tofu_head();
            merge(&mut text, more.clone());
            write(project, &text);
            let applied = run(project, &["apply", "-json", "-input=false", "-auto-approve"]);
            if let Some(error) = applied.error() {
                return Err(error);
            }
            let outputs = project.output(&["output", "-json"]);
            let outputs: Json = serde_json::from_slice(&outputs.stdout).expect("outputs are JSON");
            let values = outputs.as_object().expect("outputs are an object").iter();
            Ok(Json::Object(values.map(|(name, output)| (name.clone(), output["value"].clone())).collect()))
        })
    }

    /// The plan of such a program: outputs as they are planned, with what is unknown.
    pub(crate) fn tofu_planned_outputs(&self, more: &Json) -> Result<Json, String> {
        block_in_place(|| {
            let project = self.project.as_ref().expect("it is OpenTofu");
            let mut text = self.tofu_head();
            merge(&mut text, more.clone());
            write(project, &text);
            let planned = run(project, &["plan", "-json", "-input=false", "-out=plan"]);
            if let Some(error) = planned.error() {
                return Err(error);
            }
            let plan = show(project);
            let changes = plan["output_changes"].as_object().cloned().unwrap_or_default();
            let values = changes
                .into_iter()
                .map(|(name, change)| (name, with_unknowns(&change["after"], &change["after_unknown"])));
            Ok(Json::Object(values.collect()))
        })
    }

    /// OpenTofu, for what is special.
    pub(crate) fn tofu(&self) -> &Tofu {
        self.project.as_ref().expect("it is OpenTofu")
    }
}

impl Decision {
    /// What OpenTofu's plan calls it.
    fn of_actions(actions: &Json) -> Self {
        let actions: Vec<&str> = actions.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        match actions.as_slice() {
            ["create"] => Self::Create,
            ["update"] => Self::Update,
            ["delete", "create"] => Self::ReplaceDeletingFirst,
            ["create", "delete"] => Self::ReplaceCreatingFirst,
            ["delete"] => Self::Delete,
            ["no-op"] => Self::Nothing,
            other => panic!("OpenTofu plans {other:?}"),
        }
    }
}

/// What OpenTofu said in JSON.
#[derive(Debug)]
struct Told(Vec<Json>);

impl Told {
    fn said(&self, severity: &str) -> Vec<String> {
        let diagnostics = self.0.iter().filter(|line| line["type"] == "diagnostic");
        let of = diagnostics.map(|line| &line["diagnostic"]).filter(|said| said["severity"] == severity);
        of.map(|said| format!("{}: {}", text(&said["summary"]), text(&said["detail"])))
            .filter(|said| !said.starts_with("Provider development overrides"))
            .collect()
    }

    fn error(&self) -> Option<String> {
        self.said("error").into_iter().next()
    }
}

fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

fn run(project: &Tofu, arguments: &[&str]) -> Told {
    let output = project.output(arguments);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut told: Vec<Json> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let told_error = told.iter().any(|line| line["diagnostic"]["severity"] == "error");
    if !output.status.success() && !told_error {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let diagnostic = json!({"severity": "error", "summary": stderr, "detail": lines});
        told.push(json!({"type": "diagnostic", "diagnostic": diagnostic}));
    }
    Told(told)
}

/// The plan that was made last.
fn show(project: &Tofu) -> Json {
    let shown = project.output(&["show", "-json", "plan"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    // What development overrides have to say is beside the document.
    let document = text.find('{').map_or("", |start| &text[start..]);
    serde_json::from_str(document)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&shown.stderr)))
}

fn write(project: &Tofu, program: &Json) {
    let text = serde_json::to_string_pretty(program).expect("JSON can be written");
    std::fs::write(project.directory().join("main.tf.json"), text).expect("a file in a directory of ours");
}

/// Puts one object into another.
fn merge(into: &mut Json, from: Json) {
    match (into, from) {
        (Json::Object(into), Json::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Json::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// A planned value of OpenTofu's, in which what is unknown is [`unknown`].
fn with_unknowns(after: &Json, unknowns: &Json) -> Json {
    match (after, unknowns) {
        (_, Json::Bool(true)) => unknown(),
        (after, Json::Object(unknowns)) => {
            let mut members = after.as_object().cloned().unwrap_or_default();
            for (name, unknowns) in unknowns {
                let member = with_unknowns(members.get(name).unwrap_or(&Json::Null), unknowns);
                members.insert(name.clone(), member);
            }
            Json::Object(members)
        }
        (Json::Array(items), Json::Array(unknowns)) => {
            let none = Json::Null;
            let items = items.iter().enumerate();
            items.map(|(at, item)| with_unknowns(item, unknowns.get(at).unwrap_or(&none))).collect()
        }
        (after, _) => after.clone(),
    }
}

/// The places at which OpenTofu's plan shows a change: elements of sets come and go as wholes.
fn shown_places(places: &mut Vec<String>, at: &str, before: &Json, after: &Json, shape: &Shape) {
    if before == after {
        return;
    }
    match (before, after, shape) {
        (Json::Object(_), Json::Object(members), Shape::Object(object)) => {
            for name in members.keys() {
                let field = object.terraform(name).map(|field| &field.shape);
                let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                shown_places(places, &path, &before[name], &after[name], field.unwrap_or(&Shape::Dynamic));
            }
        }
        (Json::Array(old), Json::Array(new), Shape::Set(_) | Shape::FlattenedSet(_)) => {
            let only =
                |these: &[Json], those: &[Json]| these.iter().filter(|item| !those.contains(item)).count();
            places.push(format!("{at}: -{} +{}", only(old, new), only(new, old)));
        }
        (Json::Array(old), Json::Array(new), Shape::List(element) | Shape::FlattenedList(element)) => {
            for index in 0..old.len().max(new.len()) {
                let none = Json::Null;
                let (old, new) = (old.get(index).unwrap_or(&none), new.get(index).unwrap_or(&none));
                shown_places(places, &format!("{at}[{index}]"), old, new, element);
            }
        }
        (Json::Object(old), Json::Object(new), Shape::Map(element)) => {
            let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                shown_places(places, &format!("{at}[{key:?}]"), &before[key], &after[key], element);
            }
        }
        _ => places.push(at.to_owned()),
    }
}

/// A path as OpenTofu's JSON has it.
fn place(path: &Json) -> String {
    let mut place = String::new();
    for step in path.as_array().into_iter().flatten() {
        match step {
            Json::String(name) if place.is_empty() => place.push_str(name),
            Json::String(name) => place.push_str(&format!(".{name}")),
            other => place.push_str(&format!("[{other}]")),
        }
    }
    place
}
