//! What a preview decides, and what it shows of it.

use isthmus_cty::decode_dynamic;
use isthmus_proto::tfplugin6;
use isthmus_test_engine::unknown;
use prost::Message as _;
use serde_json::{Value as Json, json};

use super::life::{Life, Seen, Side, unknowns};
use super::outcome::{Fact, Grade, Outcome};
use super::program::{Program, later, program};
use super::{Feature, scenario};
use crate::kinds::Provider;
use crate::requests::shown;
use crate::steps::Decision;

pub(crate) const FEATURES: &[Feature] = &[
    scenario!(
        "one text changes in the third level of sets of blocks",
        "a rule among hundreds is one change, not all of them",
        one_match
    ),
    scenario!("the program writes a set in another order", "a set has no order", another_order),
    scenario!(
        "an element is added to a list in front of others",
        "you agree to the changes in a preview",
        in_front
    ),
    scenario!(
        "computed values of a set's elements, on creation",
        "a value on the wrong element is silently wrong",
        right_elements
    ),
    scenario!("an attribute inside of a block replaces", "the place says why", replacing_place),
    scenario!(
        "the order of a replacement that keeps its name",
        "two objects cannot have one name",
        order_of_replacement
    ),
    scenario!("`null` becomes an empty map", "some services distinguish them", null_and_empty),
    scenario!("nothing differs after an update", "a change that never ends hides those that matter", at_rest),
    scenario!("`ignoreChanges` of one key", "it is set outside the program", ignored_key),
    scenario!(
        "`ignoreChanges` of every element's member, by `*`",
        "the same, of many elements",
        ignored_everywhere
    ),
    scenario!(
        "an unknown value inside of a list of objects, in a preview",
        "the rest is known",
        unknown_inside
    ),
    scenario!(
        "a list of objects that is unknown as a whole, in a preview",
        "a program may compute it",
        unknown_list
    ),
    scenario!(
        "an unknown value inside of a set's element, in the preview of an update",
        "the other elements stay as they are",
        unknown_in_set
    ),
    scenario!(
        "an attribute that takes anything: an object, then a text",
        "its type may change",
        dynamic_attribute
    ),
    scenario!("a whole number beyond 2^53", "an account's number must stay what it is", big_number),
    scenario!(
        "a whole number beyond 2^53 that the provider made",
        "the same, on its way back to the provider",
        big_result
    ),
    scenario!(
        "too many blocks, too few blocks",
        "you see a mistake at its place, before any change",
        block_counts
    ),
    scenario!("blocks that only the provider fills", "protocol 6.11 has them", computed_blocks),
    scenario!(
        "values of an SDK provider that differ in case only (DiffSuppressFunc)",
        "the provider knows what is the same",
        suppressed
    ),
];

pub(crate) fn rules(life: &Life, texts: [&str; 3]) -> Program {
    let rule = |text: &str| {
        // All that can be said is said: the SDK plans what is left out in sets anew.
        json!({"text": text, "priority": 1, "statement": [
            {"text": "first", "negate": true, "match": [{"text": "always"}, {"text": format!("of {text}")}]},
            {"text": "second", "negate": true, "match": [{"text": "always"}]},
        ]})
    };
    program("conformance_legacy_sets", json!({"name": life.name, "rule": texts.map(rule)}))
}

async fn one_match(life: &mut Life) -> Outcome {
    let before = rules(life, ["a", "b", "c"]);
    life.up(&before).await;
    let mut after = before;
    after.body["rule"][1]["statement"][0]["match"][1]["text"] = json!("of somebody else");
    let seen = life.preview(&after).await;
    let grade = if seen.shown.is_empty() {
        Grade::Missing
    } else if seen.shown.iter().all(|place| place.starts_with("rules[1].")) {
        Grade::Whole
    } else if seen.shown.iter().all(|place| place.contains("-1 +1")) {
        Grade::Partly
    } else {
        Grade::Missing
    };
    Outcome::new(grade, seen.facts_and_places())
}

async fn another_order(life: &mut Life) -> Outcome {
    let before = rules(life, ["a", "b", "c"]);
    life.up(&before).await;
    let seen = life.preview(&rules(life, ["c", "a", "b"])).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn in_front(life: &mut Life) -> Outcome {
    let of = |items: Json| program("conformance_attribute_list", json!({"name": life.name, "plain": items}));
    let (before, after) = (of(json!(["b", "c"])), of(json!(["a", "b", "c"])));
    life.up(&before).await;
    let seen = life.preview(&after).await;
    let inside = seen.shown.iter().any(|place| place.contains('['));
    let grade = if seen.decision != Decision::Update {
        Grade::Missing
    } else if inside {
        Grade::Whole
    } else {
        Grade::Partly
    };
    Outcome::new(grade, seen.facts_and_places())
}

async fn right_elements(life: &mut Life) -> Outcome {
    let items = json!([{"text": "zebra"}, {"text": "ant"}, {"text": "monkey"}]);
    let seen = life.up(&program("conformance_block_set", json!({"name": life.name, "plain": items}))).await;
    if let Some(refusal) = seen.refusal() {
        return Outcome::missing([refusal]);
    }
    let stored = life.state();
    let mut pairs = Vec::new();
    made_of(&stored, &mut pairs);
    let right = pairs.iter().filter(|(text, made)| *made == format!("made of {text}")).count();
    let facts =
        [Fact::Counted("elements stored", pairs.len()), Fact::Counted("with their own values", right)];
    Outcome::whole_if(pairs.len() == 3 && right == 3, facts)
}

/// All pairs of a `text` and what is made of it.
fn made_of(json: &Json, pairs: &mut Vec<(String, String)>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| made_of(item, pairs)),
        Json::Object(members) => {
            if let (Some(Json::String(text)), Some(Json::String(made))) =
                (members.get("text"), members.get("made"))
            {
                pairs.push((text.clone(), made.clone()));
            }
            // What begins so is not shown: the Go bridge's form of the state repeats sets.
            let shown = members.iter().filter(|(name, _)| !name.starts_with("__"));
            shown.for_each(|(_, member)| made_of(member, pairs));
        }
        _ => {}
    }
}

async fn replacing_place(life: &mut Life) -> Outcome {
    let of = |fixed: &str| {
        let blocks = json!([{"text": "a", "fixed": "stays"}, {"text": "b", "fixed": fixed}]);
        program("conformance_block_list", json!({"name": life.name, "plain": blocks}))
    };
    let (before, after) = (of("one"), of("two"));
    life.up(&before).await;
    let seen = life.preview(&after).await;
    let exact = seen.replacing.iter().any(|place| place.contains("[1].fixed"));
    let grade = match (seen.replaces(), exact) {
        (true, true) => Grade::Whole,
        (true, false) => Grade::Partly,
        (false, _) => Grade::Missing,
    };
    let mut facts = seen.facts();
    facts.push(Fact::Saw("because of", seen.replacing.join(", ")));
    Outcome::new(grade, facts)
}

async fn order_of_replacement(life: &mut Life) -> Outcome {
    let of =
        |fixed: &str| program("conformance_attribute_string", json!({"name": life.name, "fixed": fixed}));
    let (before, after) = (of("one"), of("two"));
    life.up(&before).await;
    let seen = life.up(&after).await;
    Outcome::whole_if(seen.is_good() && seen.decision == Decision::ReplaceDeletingFirst, seen.facts())
}

async fn null_and_empty(life: &mut Life) -> Outcome {
    let before = program("conformance_attribute_map", json!({"name": life.name}));
    life.up(&before).await;
    let mut after = before;
    after.body["plain"] = json!({});
    let seen = life.up(&after).await;
    let again = life.preview(&after).await;
    let kept =
        life.objects("attribute_map").first().is_some_and(|object| object["state"]["plain"] == json!({}));
    let mut facts = seen.facts_and_places();
    facts.push(Fact::Is(if kept { "an empty map is kept" } else { "no empty map is kept" }));
    Outcome::whole_if(seen.decision == Decision::Update && kept && is_nothing(&again), facts)
}

async fn at_rest(life: &mut Life) -> Outcome {
    let all = program(
        "conformance_nested",
        json!({
            "name": life.name,
            "owner": {"name": "somebody"},
            "disks": [{"size": 1, "partitions": [{"path": "/"}, {"path": "/home"}]}, {"size": 2}],
            "mounts": [{"path": "/b"}, {"path": "/a", "mode": "ro"}],
            "zones": {"one": {"weight": 3}, "two": {}},
        }),
    );
    life.up(&all).await;
    let seen = life.refresh_and_preview(&all).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn ignored_key(life: &mut Life) -> Outcome {
    let of = |color: &str| {
        program(
            "conformance_attribute_map",
            json!({"name": life.name, "plain": {"color": color, "size": "l"}}),
        )
    };
    let (before, mut after) = (of("red"), of("green"));
    life.up(&before).await;
    after.options.ignore = vec!["plain.color".to_owned()];
    after.lifecycle = json!({"ignore_changes": ["plain[\"color\"]"]});
    let seen = life.preview(&after).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn ignored_everywhere(life: &mut Life) -> Outcome {
    let of = |text: &str| {
        let blocks = json!([{"text": "a", "level": 1}, {"text": text, "level": 2}]);
        program("conformance_block_list", json!({"name": life.name, "plain": blocks}))
    };
    let (before, mut after) = (of("b"), of("c"));
    life.up(&before).await;
    after.options.ignore = vec!["plains[*].text".to_owned()];
    after.lifecycle = json!({"ignore_changes": ["plain[*].text"]});
    let seen = life.preview(&after).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn unknown_inside(life: &mut Life) -> Outcome {
    let disks = json!([{"size": 1, "label": "known"}, {"size": 22, "label": later(json!("a label"))}]);
    let all = program("conformance_nested", json!({"name": life.name, "disks": disks}));
    let seen = life.preview(&all).await;
    if let Some(refusal) = seen.refusal() {
        return Outcome::missing([refusal]);
    }
    let disk = &seen.planned["disks"][1];
    let (unknown, known) = (unknowns(&disk["label"]) == 1, disk["size"] == 22);
    let facts = [
        Fact::Is(if known { "what is known is shown" } else { "what is known is not shown" }),
        Fact::Counted("unknown in the preview", unknowns(&seen.planned)),
    ];
    Outcome::whole_if(unknown && known, facts)
}

async fn unknown_list(life: &mut Life) -> Outcome {
    let all = program("conformance_nested", json!({"name": life.name, "disks": later(json!([{"size": 1}]))}));
    let seen = life.up(&all).await;
    if let Some(refusal) = seen.refusal() {
        return Outcome::missing([refusal]);
    }
    let is_unknown = seen.planned["disks"] == unknown();
    let made = life.objects("nested").first().is_some_and(|object| object["disks"][0]["size"] == 1);
    let facts = [
        Fact::Is(if is_unknown { "shown as unknown" } else { "not shown as unknown" }),
        Fact::Is(if made { "created as the program says" } else { "created otherwise" }),
    ];
    Outcome::whole_if(is_unknown && made, facts)
}

async fn unknown_in_set(life: &mut Life) -> Outcome {
    let of = |second: Json| {
        let blocks = json!([{"text": "a", "level": 1}, second, {"text": "c", "level": 3}]);
        program("conformance_block_set", json!({"name": life.name, "plain": blocks}))
    };
    let (before, after) =
        (of(json!({"text": "b", "level": 2})), of(json!({"text": later(json!("new")), "level": 2})));
    life.up(&before).await;
    let seen = life.up(&after).await;
    // Only the one element, wherever it is in the side's order.
    let one = seen.shown.iter().all(|place| place.starts_with("plains[1]") || place.contains("-1 +1"));
    let deep = seen.shown.iter().any(|place| place.starts_with("plains[1]"));
    let grade = match (seen.is_good() && one && !seen.shown.is_empty(), deep || life.side == Side::OpenTofu) {
        (true, true) => Grade::Whole,
        (true, false) => Grade::Partly,
        (false, _) => Grade::Missing,
    };
    Outcome::new(grade, seen.facts_and_places())
}

async fn dynamic_attribute(life: &mut Life) -> Outcome {
    let of =
        |value: Json| program("conformance_attribute_dynamic", json!({"name": life.name, "plain": value}));
    let (before, after) = (of(json!({"a": "x", "b": {"c": true}})), of(json!("text")));
    let made = life.up(&before).await;
    let still = life.refresh_and_preview(&before).await;
    let seen = life.up(&after).await;
    let kept = life
        .objects("attribute_dynamic")
        .first()
        .map_or(Json::Null, |object| object["state"]["plain"].clone());
    let mut facts =
        made.refusal().or_else(|| still.refusal()).map_or_else(|| seen.facts_and_places(), |fact| vec![fact]);
    facts.push(Fact::Saw("kept:", kept.to_string()));
    let right =
        made.is_good() && is_nothing(&still) && seen.is_good() && kept.to_string().contains("\"text\"");
    Outcome::whole_if(right, facts)
}

async fn big_number(life: &mut Life) -> Outcome {
    const NUMBER: u64 = 9_007_199_254_740_993;
    let of = |other: u64| {
        program("conformance_attribute_number", json!({"name": life.name, "plain": NUMBER, "kept": other}))
    };
    let (before, after) = (of(1), of(2));
    let made = life.up(&before).await;
    if let Some(refusal) = made.refusal() {
        return Outcome::missing([refusal]);
    }
    // The provider writes it as Go does.
    let has_it = |life: &Life| life.object_text("attribute_number").contains("9.007199254740993e+15");
    let created = has_it(life);
    let seen = life.up(&after).await;
    let updated = has_it(life);
    let mut facts = vec![
        Fact::Is(if created { "created exactly" } else { "created with another one" }),
        Fact::Is(if updated {
            "stays exact in an update of something else"
        } else {
            "sent otherwise in an update of something else"
        }),
    ];
    facts.extend(seen.refusal());
    Outcome::whole_if(created && updated && seen.is_good(), facts)
}

async fn big_result(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Sandbox, &[("SANDBOX_ODD", "usable")]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let of = |value: u32| program("sandbox_odd_numbers", json!({"value": value}));
    let made = life.up(&of(1)).await;
    let seen = life.up(&of(2)).await;
    if let Some(refusal) = made.refusal().or_else(|| seen.refusal()) {
        return Outcome::missing([refusal]);
    }
    let applied = life.all_asked().into_iter().rfind(|asked| asked.method == "ApplyResourceChange");
    let request = tfplugin6::apply_resource_change::Request::decode(applied.expect("it was updated").message)
        .expect("a message of the protocol");
    let own = &life.shape("sandbox_odd_numbers").schema.block.implied_type.clone();
    let state = request.prior_state.unwrap_or_default();
    let state = shown(&decode_dynamic(&state.msgpack, &state.json, own).expect("a value of the type"));
    let number = state["huge"]["(number)"].as_str().unwrap_or_default().to_owned();
    Outcome::whole_if(number == "9007199254740993", [Fact::Saw("9007199254740993 comes back as", number)])
}

async fn block_counts(life: &mut Life) -> Outcome {
    let of = |body: Json| {
        let mut whole = json!({
            "owner": [{"label": "a", "email": "b"}], "origin": [{"label": "a", "url": "b"}],
            "listener": [{"label": "a", "port": 1}], "zone": [{"label": "a"}], "disk": {"label": "a", "size": 1},
        });
        for (name, value) in body.as_object().into_iter().flatten() {
            whole[name] = value.clone();
        }
        program("conformance_block_limits", whole)
    };
    let zone = json!({"label": "a"});
    let many = life.preview(&of(json!({"zone": [zone, zone, zone, zone]}))).await;
    let few = life.preview(&of(json!({"listener": []}))).await;
    let asked = life.all_asked().into_iter().any(|asked| {
        asked.method == "PlanResourceChange" && contains(&asked.message, "conformance_block_limits")
    });
    let mut facts: Vec<Fact> = [&many, &few].iter().flat_map(|seen| seen.facts()).collect();
    facts.push(Fact::Is(if asked { "the provider was asked to plan it" } else { "nothing was planned" }));
    Outcome::whole_if(!many.is_good() && !few.is_good() && !asked, facts)
}

/// Whether a message has this text in it.
pub(crate) fn contains(message: &[u8], text: &str) -> bool {
    message.windows(text.len()).any(|window| window == text.as_bytes())
}

async fn computed_blocks(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Sandbox, &[("SANDBOX_ODD", "usable")]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let seen = life.up(&program("sandbox_odd_filled", json!({"label": life.name}))).await;
    if let Some(refusal) = seen.refusal() {
        return Outcome::missing([refusal]);
    }
    Outcome::whole_if(true, [Fact::Is("created"), Fact::Counted("blocks stored", blocks(&life.state()))])
}

fn blocks(state: &Json) -> usize {
    let of = |name: &str| match &state[name] {
        Json::Array(items) => items.len(),
        Json::Null => 0,
        _ => 1,
    };
    of("part") + of("parts") + of("only")
}

async fn suppressed(life: &mut Life) -> Outcome {
    let of =
        |text: &str| program("conformance_legacy_planned", json!({"name": life.name, "case_blind": text}));
    let (before, after) = (of("Text"), of("tEXT"));
    life.up(&before).await;
    let seen = life.preview(&after).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

/// Whether a preview says that nothing is to be done.
pub(crate) fn is_nothing(seen: &Seen) -> bool {
    seen.is_good() && seen.decision == Decision::Nothing
}
