//! Reports about previews, sets and `ignoreChanges`.

use isthmus_cty::decode_dynamic;
use isthmus_proto::tfplugin6;
use isthmus_test_engine::json_of;
use prost::Message as _;
use serde_json::{Value as Json, json};

use super::{Report, report};
use crate::features::changes::{is_nothing, rules};
use crate::features::life::{Life, Seen};
use crate::features::outcome::{Fact, Outcome};
use crate::features::program::{Program, later, program};
use crate::kinds::Provider;
use crate::requests::shown;
use crate::steps::Decision;

pub(super) const REPORTS: &[Report] = &[
    report!(
        "bridge#3495",
        "after an import, a change in the third level of sets of blocks is shown as a change of the whole set",
        imported_sets
    ),
    report!(
        "bridge#3573",
        "a framework resource gets values that the program gives to one element of a set in another element",
        crossed_elements
    ),
    report!(
        "bridge#2527",
        "the index that a preview shows of a set's element is not the program's",
        index_of_element
    ),
    report!(
        "bridge#2688",
        "a framework resource with a set: each element moved by another shows as changed",
        element_in_front
    ),
    report!(
        "bridge#186 closed, bridge#2210 closed",
        "one element of a set changes, and the preview shows others",
        "one text changes in the third level of sets of blocks"
    ),
    report!(
        "bridge#2528 closed",
        "an element with a computed part joins a set, and the preview shows another one",
        computed_part
    ),
    report!(
        "bridge#2170 closed",
        "an element joins a set of objects that are all optional and computed: no change",
        optional_and_computed
    ),
    report!(
        "bridge#1904 closed",
        "a refresh reorders a set, and the preview shows a change",
        "a refresh of unchanged sets"
    ),
    report!(
        "pulumi-aws#6583",
        "a refresh leaves other inputs in sets of sets than the program has",
        inputs_of_sets
    ),
    report!("bridge#3567 closed", "a refresh and an update write other inputs in turn", inputs_at_rest),
    report!(
        "bridge#1417 closed",
        "a set that the program writes in another order is a change",
        "the program writes a set in another order"
    ),
    report!(
        "bridge#2529",
        "an unknown value in an element of a set: the preview shows the whole set",
        "an unknown value inside of a set's element, in the preview of an update"
    ),
    report!(
        "bridge#2032 closed",
        "blocks that are unknown as a whole have no defined meaning",
        "a list of objects that is unknown as a whole, in a preview"
    ),
    report!(
        "bridge#2898, pulumi#18554",
        "a text that the provider stores in another form differs for ever",
        stored_otherwise
    ),
    report!(
        "ptp#100 closed",
        "a resource of the older SDK has an update without a change at every run",
        legacy_at_rest
    ),
    report!(
        "bridge#2413",
        "a result that is not what was planned differs for ever, without a word",
        "a result that is not what was planned"
    ),
    report!("bridge#3186", "`ignoreChanges` of a member of a new element sets it to null", ignored_member),
    report!(
        "bridge#3560 closed",
        "`ignoreChanges` of an index that is new makes an empty element",
        ignored_index
    ),
    report!(
        "bridge#3177 closed",
        "`ignoreChanges` with `*` has no effect",
        "`ignoreChanges` of every element's member, by `*`"
    ),
    report!("bridge#1756", "`ignoreChanges` cannot name a member of a set's elements", ignored_in_set),
    report!(
        "bridge#920 closed",
        "an update of something else changes what `ignoreChanges` names",
        ignored_beside
    ),
    report!(
        "bridge#3067 closed",
        "an attribute of any type that is not set arrives with a value",
        unset_dynamic
    ),
    report!(
        "bridge#3095 closed, ptp#40 closed",
        "an attribute of any type fails at the preview after its creation",
        dynamic_at_rest
    ),
    report!("bridge#1970", "an empty set in a program arrives as null", empty_set),
    report!(
        "bridge#2555",
        "a null in a list of the provider's configuration is dropped",
        null_in_configuration
    ),
    report!(
        "bridge#2564",
        "a single block that the provider's configuration does not have arrives as one of nulls",
        absent_block
    ),
    report!(
        "bridge#2764",
        "a provider whose configuration is not known yet cannot be previewed",
        unknown_configuration
    ),
];

/// The places of this attribute that a preview shows.
fn places(seen: &Seen, attribute: &str) -> Vec<String> {
    seen.shown.iter().filter(|place| place.starts_with(attribute)).cloned().collect()
}

/// Whether a preview shows this place of an attribute and no other: an index with bridges, a count with OpenTofu.
fn only(seen: &Seen, attribute: &str, index: &str, count: &str) -> Outcome {
    let places = places(seen, attribute);
    let right = matches!(places.as_slice(), [place] if place.starts_with(index) || place.ends_with(count));
    let mut facts = seen.facts();
    facts.push(Fact::Shows(places));
    Outcome::whole_if(seen.decision == Decision::Update && right, facts)
}

async fn imported_sets(life: &mut Life) -> Outcome {
    let before = rules(life, ["a", "b", "c"]);
    life.up(&before).await;
    life.forget();
    let id = format!("{}-1", life.name);
    let still = life.import_and_preview(&before, &id).await;
    let mut after = before;
    after.body["rule"][1]["statement"][0]["match"][1]["text"] = json!("of somebody else");
    let seen = life.import_and_preview(&after, &id).await;
    let exact = !seen.shown.is_empty()
        && seen.shown.iter().all(|place| place.starts_with("rules[") || place == "rule: -1 +1");
    let facts =
        [Fact::Then("unchanged:", still.facts_and_places()), Fact::Then("changed:", seen.facts_and_places())];
    Outcome::whole_if(is_nothing(&still) && exact, facts)
}

async fn crossed_elements(life: &mut Life) -> Outcome {
    if let Err(text) = life.start(Provider::Conformance, &[("CONFORMANCE_VARIANTS", "crossed")]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let of = |path: &str| json!({"path": path, "tag": format!("tag of {path}")});
    let groups = ["@http.status_code", "env", "service", "@duration"].map(of);
    let seen = life.up(&program("conformance_crossed", json!({"name": life.name, "group": groups}))).await;
    let objects = life.objects("crossed");
    let groups =
        objects.first().and_then(|object| object["state"]["group"].as_array()).cloned().unwrap_or_default();
    let right =
        groups.iter().filter(|group| **group == of(group["path"].as_str().unwrap_or_default())).count();
    let mut facts: Vec<Fact> = seen.refusal().into_iter().collect();
    facts.push(Fact::Counted("elements of 4 with their own values", right));
    Outcome::whole_if(seen.is_good() && right == 4, facts)
}

async fn index_of_element(life: &mut Life) -> Outcome {
    let of =
        |texts: &[&str]| program("conformance_attribute_set", json!({"name": life.name, "plain": texts}));
    let (before, after) = (of(&["val2", "val3", "val1"]), of(&["val2", "val1"]));
    life.up(&before).await;
    only(&life.preview(&after).await, "plain", "plains[1]", "-1 +0")
}

async fn element_in_front(life: &mut Life) -> Outcome {
    let of =
        |texts: &[&str]| program("conformance_attribute_set", json!({"name": life.name, "plain": texts}));
    let (before, after) = (of(&["b", "c", "d"]), of(&["a", "b", "c", "d"]));
    life.up(&before).await;
    only(&life.preview(&after).await, "plain", "plains[0]", "-0 +1")
}

async fn computed_part(life: &mut Life) -> Outcome {
    let of = |blocks: Json| program("conformance_block_set", json!({"name": life.name, "plain": blocks}));
    let (before, after) =
        (of(json!([{"text": "a", "kept": "b"}])), of(json!([{"text": "a"}, {"text": "a", "kept": "b"}])));
    life.up(&before).await;
    only(&life.preview(&after).await, "plain", "plains[0]", "-0 +1")
}

async fn optional_and_computed(life: &mut Life) -> Outcome {
    let of = |items: Json| {
        program("conformance_attribute_set_nested", json!({"name": life.name, "chosen": items}))
    };
    let (before, after) = (of(json!([{"text": "a"}])), of(json!([{"text": "a"}, {"text": "b"}])));
    life.up(&before).await;
    let seen = life.up(&after).await;
    let objects = life.objects("attribute_set_nested");
    let there = objects.first().and_then(|object| object["state"]["chosen"].as_array()).map_or(0, Vec::len);
    let mut facts = seen.facts();
    facts.push(Fact::Counted("elements in the end", there));
    Outcome::whole_if(seen.decision == Decision::Update && there == 2, facts)
}

/// Whether a refresh of what is unchanged leaves the inputs as they were; OpenTofu has none.
async fn same_inputs(life: &mut Life, all: &Program) -> Outcome {
    life.up(all).await;
    let inputs = |life: &Life| life.stored.as_ref().map(|stored| json_of(&stored.inputs));
    let before = inputs(life);
    let seen = life.refresh_and_preview(all).await;
    let same = inputs(life) == before;
    let mut facts = seen.facts_and_places();
    if before.is_some() {
        facts.push(Fact::Is(if same { "the inputs stay" } else { "the inputs change" }));
    }
    Outcome::whole_if(is_nothing(&seen) && same, facts)
}

async fn inputs_of_sets(life: &mut Life) -> Outcome {
    let all = rules(life, ["zebra", "ant", "monkey"]);
    same_inputs(life, &all).await
}

async fn inputs_at_rest(life: &mut Life) -> Outcome {
    let all = program("conformance_record", json!({"name": life.name, "rule": [{"port": 1}]}));
    same_inputs(life, &all).await
}

async fn stored_otherwise(life: &mut Life) -> Outcome {
    let all =
        program("conformance_legacy_planned", json!({"name": life.name, "hashed": "{\"b\": 1, \"a\": 2}"}));
    life.up(&all).await;
    let seen = life.refresh_and_preview(&all).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn legacy_at_rest(life: &mut Life) -> Outcome {
    let all = program("conformance_legacy", json!({"name": life.name, "rule": [{"port": 1}]}));
    life.up(&all).await;
    let seen = life.refresh_and_preview(&all).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn ignored_member(life: &mut Life) -> Outcome {
    let of = |blocks: Json| program("conformance_block_list", json!({"name": life.name, "plain": blocks}));
    let first = json!({"text": "a", "level": 1});
    let (before, mut after) = (of(json!([first])), of(json!([first, {"text": "b", "level": 2}])));
    life.up(&before).await;
    after.options.ignore = vec!["plains[0].level".to_owned(), "plains[1].level".to_owned()];
    after.lifecycle = json!({"ignore_changes": ["plain[0].level", "plain[1].level"]});
    let seen = life.up(&after).await;
    let level = life.objects("block_list")[0]["state"]["plain"][1]["level"].clone();
    let mut facts = seen.facts();
    facts.push(Fact::Saw("the new member is", level.to_string()));
    Outcome::whole_if(seen.is_good() && level == 2, facts)
}

async fn ignored_index(life: &mut Life) -> Outcome {
    let of = |parts: &[&str]| program("conformance_legacy_flaky", json!({"name": life.name, "parts": parts}));
    let (before, mut after) = (of(&["a"]), of(&["a", "z"]));
    life.up(&before).await;
    after.options.ignore = vec!["parts[1]".to_owned()];
    after.lifecycle = json!({"ignore_changes": ["parts[1]"]});
    let seen = life.up(&after).await;
    let parts = life.state()["parts"].clone();
    let mut facts = seen.facts();
    facts.push(Fact::Saw("the list is", parts.to_string()));
    Outcome::whole_if(seen.is_good() && parts == json!(["a", "z"]), facts)
}

async fn ignored_in_set(life: &mut Life) -> Outcome {
    let of = |level: u32| {
        let items = json!([{"text": "b", "level": 1}, {"text": "a", "level": level}]);
        program("conformance_attribute_set_nested", json!({"name": life.name, "plain": items}))
    };
    let (before, mut after) = (of(2), of(3));
    life.up(&before).await;
    after.options.ignore = vec!["plains[*].level".to_owned()];
    after.lifecycle = json!({"ignore_changes": ["plain[*].level"]});
    let seen = life.preview(&after).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn ignored_beside(life: &mut Life) -> Outcome {
    let of = |plain: &str, secret: &str| {
        program("conformance_attribute_string", json!({"name": life.name, "plain": plain, "secret": secret}))
    };
    let (before, mut after) = (of("a", "x"), of("b", "y"));
    life.up(&before).await;
    after.options.ignore = vec!["plain".to_owned()];
    after.lifecycle = json!({"ignore_changes": ["plain"]});
    let seen = life.up(&after).await;
    let state = life.objects("attribute_string")[0]["state"].clone();
    let stays = state["plain"] == "a";
    let mut facts = seen.facts();
    facts.push(Fact::Is(if stays { "what is ignored stays" } else { "what is ignored changes" }));
    Outcome::whole_if(stays && state["secret"] == "y", facts)
}

async fn unset_dynamic(life: &mut Life) -> Outcome {
    let seen = life.up(&program("conformance_attribute_dynamic", json!({"name": life.name}))).await;
    let plain = life
        .objects("attribute_dynamic")
        .first()
        .map_or(Json::Null, |object| object["state"]["plain"].clone());
    let mut facts: Vec<Fact> = seen.refusal().into_iter().collect();
    facts.push(Fact::Saw("arrives as", plain.to_string()));
    Outcome::whole_if(seen.is_good() && plain.is_null(), facts)
}

async fn dynamic_at_rest(life: &mut Life) -> Outcome {
    let all = program("conformance_attribute_dynamic", json!({"name": life.name, "plain": {"a": "x"}}));
    life.up(&all).await;
    let seen = life.preview(&all).await;
    Outcome::whole_if(is_nothing(&seen), seen.facts_and_places())
}

async fn empty_set(life: &mut Life) -> Outcome {
    let seen = life.up(&program("conformance_attribute_set", json!({"name": life.name, "plain": []}))).await;
    let plain =
        life.objects("attribute_set").first().map_or(Json::Null, |object| object["state"]["plain"].clone());
    let mut facts: Vec<Fact> = seen.refusal().into_iter().collect();
    facts.push(Fact::Saw("arrives as", plain.to_string()));
    Outcome::whole_if(plain == json!([]), facts)
}

/// What arrives of the provider's configuration at this attribute.
async fn configured(life: &mut Life, configuration: Json, attribute: &str) -> Result<Json, String> {
    life.configuration = configuration;
    life.start(Provider::Conformance, &[]).await?;
    let seen = life.preview(&program("conformance_attribute_string", json!({"name": life.name}))).await;
    if let Some((_, text)) = seen.refused {
        return Err(text);
    }
    let asked = life.all_asked().into_iter().rfind(|asked| asked.method == "ConfigureProvider");
    let request = tfplugin6::configure_provider::Request::decode(asked.expect("it was configured").message)
        .expect("a message of the protocol");
    let config = request.config.unwrap_or_default();
    let value = decode_dynamic(&config.msgpack, &config.json, &life.configuration_type());
    Ok(shown(&value.expect("a value of the type"))[attribute].clone())
}

fn arrives(seen: Result<Json, String>, wanted: &Json) -> Outcome {
    match seen {
        Ok(value) => Outcome::whole_if(value == *wanted, [Fact::Saw("arrives as", value.to_string())]),
        Err(text) => Outcome::missing([Fact::NotOffered(text)]),
    }
}

async fn null_in_configuration(life: &mut Life) -> Outcome {
    arrives(configured(life, json!({"regions": [null, "a"]}), "regions").await, &json!([null, "a"]))
}

async fn absent_block(life: &mut Life) -> Outcome {
    arrives(configured(life, json!({"region": "a"}), "credentials").await, &Json::Null)
}

async fn unknown_configuration(life: &mut Life) -> Outcome {
    life.configuration = json!({"region": later(json!("a"))});
    if let Err(text) = life.start(Provider::Conformance, &[]).await {
        return Outcome::missing([Fact::NotOffered(text)]);
    }
    let seen = life.preview(&program("conformance_attribute_string", json!({"name": life.name}))).await;
    Outcome::whole_if(seen.is_good() && seen.decision == Decision::Create, seen.facts())
}
