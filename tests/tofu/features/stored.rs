//! What is stored between runs: upgrades, moves, private data.

use isthmus_proto::tfplugin6;
use prost::Message as _;
use serde_json::{Value as Json, json};

use super::changes::is_nothing;
use super::life::{Asked, Life, Side};
use super::outcome::{Fact, Grade, Outcome};
use super::program::{Program, program};
use super::{Feature, scenario};
use crate::kinds::Provider;
use crate::steps::Decision;

pub(crate) const FEATURES: &[Feature] = &[
    scenario!(
        "state of an older schema version, in a preview",
        "an upgrade of a provider changes nothing by itself",
        upgraded
    ),
    scenario!(
        "state of an older schema version, in a delete",
        "a provider understands its newest form only",
        upgraded_before_the_end
    ),
    scenario!(
        "state of a newer schema version than the provider's",
        "an older provider would misread it",
        newer
    ),
    scenario!("an upgrade that the provider refuses", "the stored state must survive", refused_upgrade),
    scenario!("a resource whose type changed (`moved`, an alias)", "it is the same object", moved),
    scenario!("a move that the provider refuses", "the stored state must survive", refused_move),
    scenario!(
        "private data through create, update, refresh and delete",
        "some providers cannot do without",
        private_data
    ),
    scenario!(
        "private data of a plan, in the creation of a replacement",
        "it may be needed by the new object",
        private_data_of_a_replacement
    ),
];

pub(crate) fn versioned(life: &Life, version: u32, title: &str) -> Program {
    let size = if version < 2 { json!("5") } else { json!(5) };
    program("conformance_versioned", json!({"name": life.name, "title": title, "size": size}))
}

pub(crate) async fn begun(life: &mut Life, version: u32) -> Result<(), String> {
    life.start(Provider::Conformance, &[("CONFORMANCE_SCHEMA_VERSION", &version.to_string())]).await
}

async fn upgraded(life: &mut Life) -> Outcome {
    let mut facts = Vec::new();
    let mut good = true;
    for version in [1, 3] {
        if let Err(text) = begun(life, version).await {
            return Outcome::missing([Fact::NotOffered(text)]);
        }
        let all = versioned(life, version, "a");
        let seen = if version == 1 { life.up(&all).await } else { life.preview(&all).await };
        good &= seen.is_good() && (version == 1 || is_nothing(&seen));
        if version == 3 || !seen.is_good() {
            facts.extend(seen.facts_and_places());
        }
    }
    Outcome::whole_if(good, facts)
}

async fn upgraded_before_the_end(life: &mut Life) -> Outcome {
    let started = begun(life, 1).await;
    let made = life.up(&versioned(life, 1, "a")).await;
    let started = match started {
        Ok(()) => begun(life, 3).await,
        error => error,
    };
    if let (Err(text), _) | (_, Some((_, text))) = (started, made.refused) {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    life.asked();
    let seen = life.remove().await;
    let asked = life.asked();
    let is_upgraded = asked.iter().any(|asked| asked.method == "UpgradeResourceState");
    let mut facts = vec![Fact::Is(if is_upgraded {
        "the state is upgraded first"
    } else {
        "the state is sent as it was stored"
    })];
    facts.extend(seen.refusal());
    Outcome::whole_if(is_upgraded && seen.is_good() && life.objects("versioned").is_empty(), facts)
}

async fn newer(life: &mut Life) -> Outcome {
    for version in [3, 2] {
        if let Err(text) = begun(life, version).await {
            return Outcome::missing([Fact::NotOffered(text)]);
        }
        let all = versioned(life, version, "a");
        if version == 3 {
            life.up(&all).await;
        } else {
            let seen = life.preview(&all).await;
            return Outcome::whole_if(!seen.is_good(), seen.facts());
        }
    }
    unreachable!("the second version ends it")
}

async fn refused_upgrade(life: &mut Life) -> Outcome {
    if let Err(text) = begun(life, 2).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    life.up(&versioned(life, 2, "refuse")).await;
    if let Err(text) = begun(life, 3).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let seen = life.refresh_and_preview(&versioned(life, 3, "refuse")).await;
    let mut facts = seen.facts();
    facts.push(Fact::Is(if life.is_stored() { "the state stays" } else { "the state is lost" }));
    Outcome::whole_if(!seen.is_good() && life.is_stored(), facts)
}

/// What moves, before and after.
fn movable(life: &Life) -> [Program; 2] {
    let body = json!({"name": life.name, "title": "a"});
    let mut after = program("conformance_movable", body.clone());
    let of = |type_name: &str| format!("{type_name}.{}", life.name);
    after.beside = json!({"moved": [{"from": of("conformance_record"), "to": of("conformance_movable")}]});
    [program("conformance_record", body), after]
}

fn asked_to_move(asked: &[Asked]) -> bool {
    asked.iter().any(|asked| asked.method == "MoveResourceState")
}

async fn moved(life: &mut Life) -> Outcome {
    let [before, after] = movable(life);
    life.up(&before).await;
    life.asked();
    let seen = life.up(&after).await;
    let asked = asked_to_move(&life.asked());
    let mut facts = seen.facts_and_places();
    facts.push(Fact::Is(if asked {
        "the provider makes one of the other"
    } else {
        "MoveResourceState is not called"
    }));
    let stays = matches!(seen.decision, Decision::Nothing | Decision::Update);
    Outcome::whole_if(seen.is_good() && asked && stays, facts)
}

async fn refused_move(life: &mut Life) -> Outcome {
    life.name.insert_str(0, "refuse");
    let [before, after] = movable(life);
    let made = life.up(&before).await;
    life.asked();
    let seen = life.preview(&after).await;
    let asked = asked_to_move(&life.asked());
    let mut facts: Vec<Fact> = made.refusal().into_iter().collect();
    facts.extend(seen.facts());
    let stays = life.is_stored();
    facts.push(Fact::Is(if stays { "the state stays" } else { "the state is lost" }));
    Outcome::whole_if(!seen.is_good() && asked && stays, facts)
}

async fn private_data(life: &mut Life) -> Outcome {
    let of = |value: &str| program("conformance_diary", json!({"name": life.name, "value": value}));
    let (before, after) = (of("a"), of("b"));
    let steps = [
        life.up(&before).await,
        life.up(&after).await,
        life.refresh_and_preview(&after).await,
        life.remove().await,
    ];
    let good = steps.iter().filter(|seen| seen.is_good()).count();
    let mut facts = vec![Fact::Counted("steps of 4 that are done", good)];
    facts.extend(steps.iter().find_map(super::life::Seen::refusal));
    let grade = match good {
        4 => Grade::Whole,
        0 => Grade::Missing,
        _ => Grade::Partly,
    };
    Outcome::new(grade, facts)
}

async fn private_data_of_a_replacement(life: &mut Life) -> Outcome {
    let of = |name: String| program("conformance_diary", json!({"name": name, "value": "a"}));
    let (before, after) = (of(life.name.clone()), of(format!("{}b", life.name)));
    life.up(&before).await;
    life.asked();
    let seen = life.up(&after).await;
    let new_objects =
        life.asked().into_iter().filter(|asked| asked.method == "PlanResourceChange").filter_map(|asked| {
            let request = tfplugin6::plan_resource_change::Request::decode(asked.message).ok()?;
            let is_null = |value: &Option<tfplugin6::DynamicValue>| {
                value.as_ref().is_none_or(|value| *value.msgpack == [0xc0])
            };
            (is_null(&request.prior_state) && !is_null(&request.config)).then_some(request)
        });
    let (mut with, mut all) = (0, 0);
    for request in new_objects {
        all += 1;
        with += usize::from(!request.prior_private.is_empty());
    }
    let mut facts = seen.facts();
    facts.push(Fact::Is(match (all, with) {
        (0, _) => "the new object was not planned",
        (_, 0) => "the new object is planned without it",
        (all, with) if all == with => "the new object is planned with it",
        _ => "the new object is planned with it, and without",
    }));
    Outcome::whole_if(seen.is_good() && with > 0, facts)
}

/// What is stored, as JSON: of bridges the outputs.
impl Life {
    pub(crate) fn state(&self) -> Json {
        if self.side != Side::OpenTofu {
            return self.outputs();
        }
        let text =
            std::fs::read_to_string(self.tofu().directory().join("terraform.tfstate")).unwrap_or_default();
        let state: Json = serde_json::from_str(&text).unwrap_or_default();
        let resources = state["resources"].as_array().cloned().unwrap_or_default();
        let own = resources.into_iter().find(|resource| resource["name"] == self.name.as_str());
        own.map_or(Json::Null, |own| own["instances"][0]["attributes"].clone())
    }
}
