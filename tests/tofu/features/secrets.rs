//! Secrets, and values that nobody is to store.

use isthmus_test_engine::{SIGNATURE, json_of};
use serde_json::{Value as Json, json};

use super::changes::is_nothing;
use super::life::{Life, Side};
use super::outcome::{Fact, Grade, Outcome};
use super::program::{hidden, program};
use super::{Feature, scenario};

pub(crate) const FEATURES: &[Feature] = &[
    scenario!(
        "a sensitive input inside of an object",
        "a sensitive value of the schema is a secret in every place",
        sensitive_input
    ),
    scenario!("a sensitive output inside of a set", "the same", sensitive_output),
    scenario!(
        "a secret that a program gives to a plain attribute's list",
        "the program knows what is secret",
        secret_input
    ),
    scenario!("a write-only attribute", "it reaches the provider and is not in what is read", write_only),
    scenario!(
        "a write-only attribute that the schema does not call sensitive",
        "a write-only value must not be stored",
        write_only_and_open
    ),
    scenario!(
        "a write-only value that changes, and nothing else",
        "as in Terraform, its version says that it changed",
        write_only_changes
    ),
    scenario!(
        "a sensitive result of a data source",
        "a password stays a secret wherever it comes from",
        data_source
    ),
];

const CLASSIFIED: &str = "classified";

/// How a text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kept {
    Not,
    Secret,
    Plain,
}

impl Kept {
    const fn fact(self) -> Fact {
        Fact::Is(match self {
            Self::Not => "not there",
            Self::Secret => "a secret",
            Self::Plain => "in the clear",
        })
    }

    pub(crate) const fn outcome(self) -> (Grade, Fact) {
        let grade = match self {
            Self::Secret => Grade::Whole,
            Self::Not | Self::Plain => Grade::Missing,
        };
        (grade, self.fact())
    }
}

/// How a text is kept in a bag.
pub(crate) fn kept(json: &Json, is_it: &dyn Fn(&str, &Json) -> bool) -> Kept {
    fn at(name: &str, json: &Json, is_it: &dyn Fn(&str, &Json) -> bool, secret: bool) -> Kept {
        if is_it(name, json) {
            return if secret { Kept::Secret } else { Kept::Plain };
        }
        match json {
            Json::Array(items) => {
                items.iter().map(|item| at(name, item, is_it, secret)).max().unwrap_or(Kept::Not)
            }
            Json::Object(members) => {
                let is_secret = members.contains_key(SIGNATURE);
                // What a secret wraps has the name of the secret.
                let of = |own: &String| if is_secret { name.to_owned() } else { own.clone() };
                let all = members.iter().filter(|(own, _)| !own.starts_with("__"));
                all.map(|(own, member)| at(&of(own), member, is_it, secret || is_secret))
                    .max()
                    .unwrap_or(Kept::Not)
            }
            _ => Kept::Not,
        }
    }
    at("", json, is_it, false)
}

fn is_classified(_: &str, json: &Json) -> bool {
    json == CLASSIFIED
}

/// What OpenTofu calls sensitive in its state, of a place.
fn tofu_hides(life: &Life, pointer: &str) -> Kept {
    let shown = tokio::task::block_in_place(|| life.tofu().output(&["show", "-json"]));
    let shown: Json = serde_json::from_slice(&shown.stdout).expect("a state is shown as JSON");
    let resources = shown["values"]["root_module"]["resources"].as_array().cloned().unwrap_or_default();
    let own =
        resources.into_iter().find(|resource| resource["name"] == life.name.as_str()).unwrap_or_default();
    match own["sensitive_values"].pointer(pointer) {
        Some(Json::Bool(true)) => Kept::Secret,
        _ => Kept::Plain,
    }
}

async fn sensitive_input(life: &mut Life) -> Outcome {
    let owner = json!({"name": "somebody", "key": CLASSIFIED});
    let made = life.up(&program("conformance_nested", json!({"name": life.name, "owner": owner}))).await;
    if let Some(refusal) = made.refusal() {
        return Outcome::missing([refusal]);
    }
    let seen = if life.side == Side::OpenTofu {
        tofu_hides(life, "/owner/key")
    } else {
        kept(&life.outputs(), &is_classified)
    };
    let (grade, fact) = seen.outcome();
    Outcome::new(grade, [fact])
}

async fn sensitive_output(life: &mut Life) -> Outcome {
    let made =
        life.up(&program("conformance_nested", json!({"name": life.name, "mounts": [{"path": "/a"}]}))).await;
    if let Some(refusal) = made.refusal() {
        return Outcome::missing([refusal]);
    }
    let seen = if life.side == Side::OpenTofu {
        tofu_hides(life, "/mounts/0/ticket").min(tofu_hides(life, "/mounts"))
    } else {
        kept(&life.outputs(), &|name, json| name == "ticket" && json.is_string())
    };
    let (grade, fact) = seen.outcome();
    Outcome::new(grade, [fact])
}

async fn secret_input(life: &mut Life) -> Outcome {
    let items = json!(["open", hidden(CLASSIFIED)]);
    let made =
        life.up(&program("conformance_attribute_list", json!({"name": life.name, "plain": items}))).await;
    if let Some(refusal) = made.refusal() {
        return Outcome::missing([refusal]);
    }
    let seen = if life.side == Side::OpenTofu {
        tofu_hides(life, "/plain/1").min(tofu_hides(life, "/plain"))
    } else {
        kept(&life.outputs(), &is_classified)
    };
    let (grade, fact) = seen.outcome();
    Outcome::new(grade, [fact])
}

/// What became of a write-only value: whether it arrived, and where it is kept.
fn became(life: &Life) -> Outcome {
    let arrived =
        life.objects("vault").first().is_some_and(|object| object["notes"].to_string().contains(CLASSIFIED));
    let mut facts = vec![Fact::Is(if arrived { "it arrives" } else { "it does not arrive" })];
    let Some(stored) = &life.stored else {
        let there = life.stored_text().contains(CLASSIFIED);
        facts.push(Fact::Is(if there { "it is in the state" } else { "it is not in the state" }));
        return Outcome::whole_if(arrived && !there, facts);
    };
    let (inputs, outputs) =
        (kept(&json_of(&stored.inputs), &is_classified), kept(&json_of(&stored.outputs), &is_classified));
    facts.extend([
        Fact::Then("in outputs", vec![outputs.fact()]),
        Fact::Then("in the engine's inputs", vec![inputs.fact()]),
    ]);
    let grade = match (arrived && outputs == Kept::Not, inputs) {
        (false, _) | (_, Kept::Plain) => Grade::Missing,
        // An engine keeps all inputs; whether it keeps a value or a hash of it is a setting.
        (true, Kept::Secret | Kept::Not) => Grade::Whole,
    };
    Outcome::new(grade, facts)
}

async fn write_only(life: &mut Life) -> Outcome {
    let body = json!({"name": life.name, "secret_wo": CLASSIFIED, "secret_wo_version": 1});
    let made = life.up(&program("conformance_vault", body)).await;
    made.refusal().map_or_else(|| became(life), |refusal| Outcome::missing([refusal]))
}

async fn write_only_and_open(life: &mut Life) -> Outcome {
    let body = json!({"name": life.name, "door": [{"label": "a", "code_wo": CLASSIFIED}]});
    let made = life.up(&program("conformance_vault", body)).await;
    made.refusal().map_or_else(|| became(life), |refusal| Outcome::missing([refusal]))
}

async fn write_only_changes(life: &mut Life) -> Outcome {
    let of = |text: &str, version: u32| {
        program(
            "conformance_vault",
            json!({"name": life.name, "secret_wo": text, "secret_wo_version": version}),
        )
    };
    let (before, after, newer) = (of("a", 1), of("b", 1), of("b", 2));
    life.up(&before).await;
    let alone = life.preview(&after).await;
    let seen = life.up(&newer).await;
    let facts = [Fact::Then("alone:", alone.facts()), Fact::Then("with its version:", seen.facts())];
    Outcome::whole_if(is_nothing(&alone) && seen.decision == crate::steps::Decision::Update, facts)
}

async fn data_source(life: &mut Life) -> Outcome {
    if life.side == Side::OpenTofu {
        let more = json!({
            "data": {"conformance_later": {"x": {}}},
            "output": {"secret": {"value": "${data.conformance_later.x.secret}"}},
        });
        return match life.tofu_outputs(&more) {
            Ok(_) => Outcome::missing([Kept::Plain.fact()]),
            Err(text) => Outcome::whole_if(text.contains("sensitive"), [Kept::Secret.fact()]),
        };
    }
    match life.invoke("conformance:index/getLater:getLater", &json!({}), false).await {
        Ok(result) => {
            let (grade, fact) = kept(&result, &|name, json| name == "secret" && json.is_string()).outcome();
            Outcome::new(grade, [fact])
        }
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}
