//! Refreshes and imports.

use serde_json::json;

use super::changes::is_nothing;
use super::life::{Life, Seen, Side};
use super::outcome::{Fact, Grade, Outcome};
use super::program::{Program, program};
use super::{Feature, scenario};
use crate::steps::Decision;

pub(crate) const FEATURES: &[Feature] = &[
    scenario!(
        "what others changed is seen by a refresh",
        "you see drift, and the next update reverts it",
        drift
    ),
    scenario!("what others removed is seen by a refresh", "it is made again", gone),
    scenario!("a refresh of unchanged sets", "their order is the provider's", sets_at_rest),
    scenario!("drift of what `ignoreChanges` names", "it is set outside the program", ignored_drift),
    scenario!("a refresh that fails", "the stored state must survive", failed_refresh),
    scenario!("an import by id, of what the program says", "an import must not change the object", import),
    scenario!("an import by identity", "some resources have no id", import_by_identity),
    scenario!("an import of what is not there", "a misspelt id is a mistake", import_of_nothing),
    scenario!("an import that comes to several objects", "you import one of them", import_of_several),
    scenario!(
        "an import that comes to another type",
        "it would be stored as what it is not",
        import_of_another
    ),
    scenario!("a resource without an attribute `id`", "no resource is out of reach", without_id),
];

fn record(life: &Life) -> Program {
    program(
        "conformance_record",
        json!({
            "name": life.name, "title": "a", "size": 5, "tags": {"one": "1", "two": "2"}, "labels": ["x", "y"],
            "rule": [{"port": 80, "protocol": "tcp"}],
        }),
    )
}

async fn drift(life: &mut Life) -> Outcome {
    let all = simple(life);
    life.up(&all).await;
    life.change_object("attribute_map", |mut object| {
        object["state"]["plain"]["two"] = json!("drifted");
        Some(object)
    });
    let seen = life.refresh_and_up(&all).await;
    let mended = life.objects("attribute_map").iter().all(|object| object["state"]["plain"]["two"] == "2");
    let one = seen.shown.iter().filter(|place| place.contains("plain")).collect::<Vec<_>>();
    let exact = one.len() == 1 && one[0].contains("two");
    let grade = match (seen.decision == Decision::Update && mended, exact) {
        (true, true) => Grade::Whole,
        (true, false) => Grade::Partly,
        (false, _) => Grade::Missing,
    };
    Outcome::new(grade, seen.facts_and_places())
}

fn simple(life: &Life) -> Program {
    program("conformance_attribute_map", json!({"name": life.name, "plain": {"one": "1", "two": "2"}}))
}

async fn gone(life: &mut Life) -> Outcome {
    let all = simple(life);
    life.up(&all).await;
    life.change_object("attribute_map", |_| None);
    let seen = life.refresh_and_up(&all).await;
    let there = life.objects("attribute_map").len() == 1;
    Outcome::whole_if(seen.decision == Decision::Create && there, seen.facts())
}

async fn sets_at_rest(life: &mut Life) -> Outcome {
    let blocks = json!([{"text": "zebra"}, {"text": "ant"}, {"text": "monkey", "inner": [{"text": "b"}, {"text": "a"}]}]);
    let all = program("conformance_block_set", json!({"name": life.name, "plain": blocks}));
    life.up(&all).await;
    let before = life.state();
    let seen = life.refresh_and_preview(&all).await;
    let same = life.state()["plains"] == before["plains"];
    let mut facts = seen.facts_and_places();
    facts.push(Fact::Is(if same { "the stored order stays" } else { "the stored order changes" }));
    Outcome::whole_if(is_nothing(&seen) && same, facts)
}

async fn ignored_drift(life: &mut Life) -> Outcome {
    let mut all = simple(life);
    life.up(&all).await;
    life.change_object("attribute_map", |mut object| {
        object["state"]["plain"]["two"] = json!("drifted");
        Some(object)
    });
    all.options.ignore = vec!["plain.two".to_owned()];
    all.lifecycle = json!({"ignore_changes": ["plain[\"two\"]"]});
    let seen = life.refresh_and_preview(&all).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn failed_refresh(life: &mut Life) -> Outcome {
    let all = program("conformance_planner", json!({"name": life.name, "value": "a", "on_read": "error"}));
    life.up(&all).await;
    let seen = life.refresh_and_preview(&all).await;
    let mut facts = seen.facts();
    facts.push(Fact::Is(if life.is_stored() { "the state stays" } else { "the state is lost" }));
    Outcome::whole_if(!seen.is_good() && life.is_stored(), facts)
}

async fn import(life: &mut Life) -> Outcome {
    let all = record(life);
    life.up(&all).await;
    life.forget();
    let id = format!("{}-1", life.name);
    let seen = life.import_and_preview(&all, &id).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn import_by_identity(life: &mut Life) -> Outcome {
    let all = program("conformance_place", json!({"name": life.name, "note": "a"}));
    let made = life.up(&all).await;
    if let Some(refusal) = made.refusal() {
        return Outcome::missing([refusal]);
    }
    life.forget();
    let id = format!("{}-1", life.name);
    if life.side == Side::OpenTofu {
        let to = format!("conformance_place.{}", life.name);
        let more = json!({
            "resource": {"conformance_place": {life.name.as_str(): all.body}},
            "import": [{"to": to, "identity": {"id": id}}],
        });
        return match life.tofu_outputs(&more) {
            Ok(_) => Outcome::whole_if(life.objects("record").len() == 1, [Fact::Is("imported")]),
            Err(text) => Outcome::missing([Fact::NotOffered(text)]),
        };
    }
    let identity = json!({"id": id});
    let seen = life.import_and_preview(&all, &identity.to_string()).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn import_of_nothing(life: &mut Life) -> Outcome {
    let all = record(life);
    let seen = life.import_and_preview(&all, "nobody-1").await;
    Outcome::whole_if(!seen.is_good(), seen.facts())
}

async fn imported(life: &mut Life, how: &str) -> Seen {
    let all = program("conformance_legacy_imported", json!({"name": life.name}));
    life.up(&all).await;
    let other = program("conformance_legacy", json!({"name": life.name}));
    life.forget();
    life.up(&other).await;
    life.forget();
    let id = format!("{}-1", life.name);
    life.import_and_preview(&all, &how.replace("ID", &id)).await
}

async fn import_of_several(life: &mut Life) -> Outcome {
    let seen = imported(life, "all:ID,ID").await;
    Outcome::whole_if(!seen.is_good(), seen.facts())
}

async fn import_of_another(life: &mut Life) -> Outcome {
    let seen = imported(life, "other:ID").await;
    Outcome::whole_if(!seen.is_good(), seen.facts())
}

async fn without_id(life: &mut Life) -> Outcome {
    let all = program("conformance_id_absent", json!({"label": life.name}));
    let made = life.up(&all).await;
    let id = life.stored.as_ref().map(|stored| stored.id.clone());
    let still = life.refresh_and_preview(&all).await;
    let gone = life.remove().await;
    let steps = [&made, &still, &gone];
    let mut facts: Vec<Fact> = steps.iter().filter_map(|seen| seen.refusal()).take(1).collect();
    if facts.is_empty() {
        facts.push(Fact::Is("created, refreshed and deleted"));
    }
    // What stands where none is known is the same for all resources.
    let is_own = id.as_ref().is_none_or(|id| id != "missing ID");
    if let Some(id) = id {
        facts.push(if is_own { Fact::Is("with an id of its own") } else { Fact::Saw("its id:", id) });
    }
    let grade = match (steps.iter().all(|seen| seen.is_good()) && is_nothing(&still), is_own) {
        (true, true) => Grade::Whole,
        (true, false) => Grade::Partly,
        (false, _) => Grade::Missing,
    };
    Outcome::new(grade, facts)
}
