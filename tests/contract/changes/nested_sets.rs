//! Sets of sets of sets: a change is shown where it is and nowhere else, in the places of the user's program.

use std::collections::BTreeSet;

use crate::harness::resource::Difference;
use crate::harness::{Json, Outcome, Protocol, Setup, Stored, json, on_one_protocol};
use crate::kills::Dice;

/// So many changes are made, one or several at a time.
const STEPS: usize = 200;

/// The variable that a seed is given by, to do a run again.
const SEED: &str = "NESTED_SETS_SEED";

/// What the sets are called, from the outermost.
const SETS: [&str; 3] = ["rules", "statements", "matches"];

on_one_protocol! {
    async fn two_hundred_random_edits_are_shown_where_they_are_and_nowhere_else(protocol) {
        let seed = match std::env::var(SEED) {
            Ok(seed) => seed.parse().expect("a seed is a number"),
            Err(_) => usize::try_from(std::process::id()).expect("32 bits"),
        };
        println!("to do this again: {SEED}={seed}");
        edits(protocol, Dice::new(seed)).await?;
    }

    async fn sets_are_in_the_programs_order_from_the_preview_to_the_refresh(session: sandbox) {
        let firewall = session.resource("sandbox:index/firewall:Firewall", "firewall");
        let matches = json!([{"field": "z", "value": "1"}, {"field": "a"}, {"field": "m", "value": ""}]);
        let statements = json!([{"kind": "or", "matches": matches}, {"kind": "and", "matches": []}]);
        let mut news = json!({
            "ports": [443, 22, 80],
            "rules": [{"name": "web", "statements": statements}, {"name": "all", "statements": []}],
        });
        let inputs = firewall.checked(&news).await?;
        let planned = firewall.preview_create(&inputs).await?;
        let made = firewall.create(&inputs).await?;
        let read = firewall.refresh(&made).await?.expect("it is there");
        assert_eq!(read, made);
        for outputs in [&planned, &made.outputs] {
            assert_eq!(outputs["ports"], news["ports"]);
            assert_eq!(without_ids(&outputs["rules"]), news["rules"]);
        }
        let imported = firewall.import(&made.id).await?.expect("it is there");
        assert_eq!(imported.outputs["ports"], json!([22, 80, 443]), "whose order nobody knows has Terraform's");

        for list in ["/ports", "/rules", "/rules/1/statements", "/rules/1/statements/1/matches"] {
            news.pointer_mut(list).and_then(Json::as_array_mut).expect("a list").reverse();
        }
        let turned = firewall.checked(&news).await?;
        assert_eq!(firewall.diff(&made, &turned).await?, Difference::default(), "the order is no difference");
        news["rules"].as_array_mut().expect("a list").push(json!({"name": "new", "statements": []}));
        let longer = firewall.checked(&news).await?;
        assert_eq!(firewall.diff(&made, &longer).await?.changes, ["add rules[2]"]);
        let planned = firewall.preview_update(&made, &longer).await?;
        let changed = firewall.update(&made, &longer).await?;
        for outputs in [&planned, &changed.outputs] {
            assert_eq!(outputs["ports"], news["ports"]);
            assert_eq!(without_ids(&outputs["rules"]), news["rules"]);
        }
    }
}

async fn edits(protocol: Protocol, mut dice: Dice) -> Outcome {
    let (_host, session) = Setup::sandbox(protocol).session().await?;
    let firewall = session.resource("sandbox:index/firewall:Firewall", "firewall");
    let mut stored = firewall.make(&json!({ "rules": elements(0, &mut dice) })).await?;
    for step in 0..STEPS {
        let mut news = json!({ "rules": stored.inputs["rules"] });
        let expected: Vec<Option<Vec<String>>> =
            (0..=dice.below(2)).map(|_| edit(&mut news, &mut dice)).collect();
        let checked = firewall.check_again(&stored.inputs, &news).await?;
        assert_eq!(checked.failures, []);
        let difference = firewall.diff(&stored, &checked.inputs).await?;
        let scene = || format!("step {step}: {difference:?}\nfrom {}\nto {news}", stored.outputs["rules"]);
        match &*expected {
            // What one edit comes to is known to the letter.
            [Some(expected)] => assert_eq!(difference.changes, *expected, "{}", scene()),
            _ => judge(&stored, &news, &difference).unwrap_or_else(|reason| panic!("{reason}\n{}", scene())),
        }
        assert!(difference.replaces.is_empty(), "{}", scene());
        stored = firewall.update(&stored, &checked.inputs).await?;
        assert_eq!(without_ids(&stored.outputs["rules"]), news["rules"], "step {step}");
    }
    Ok(())
}

/// A text that was not there before.
fn text(dice: &mut Dice) -> String {
    format!("{:x}", dice.next())
}

/// Some elements of the sets of a level.
fn elements(level: usize, dice: &mut Dice) -> Json {
    Json::Array((0..1 + dice.below(3)).map(|_| element(level, dice)).collect())
}

fn element(level: usize, dice: &mut Dice) -> Json {
    match level {
        0 => json!({"name": text(dice), "statements": elements(1, dice)}),
        1 => json!({"kind": text(dice), "matches": elements(2, dice)}),
        _ => json!({"field": text(dice), "value": text(dice)}),
    }
}

/// Changes something, and tells which changes there are to be seen, if that is certain. That a rule which changes gets another
/// id is not shown: it is not in the program.
fn edit(news: &mut Json, dice: &mut Dice) -> Option<Vec<String>> {
    // Into an element of each level, as deep as chance has it.
    let depth = dice.below(SETS.len());
    let mut path = String::new();
    let mut seen = Vec::new();
    let mut place = news;
    for set in &SETS[..depth] {
        let list = place[set].as_array_mut().expect("a set is a list");
        let index = dice.below(list.len());
        path = format!("{path}{set}[{index}].");
        place = &mut list[index];
    }
    let set = SETS[depth];
    let list = place[set].as_array_mut().expect("a set is a list");
    let index = dice.below(list.len());
    let here = format!("{path}{set}[{index}]");
    match dice.below(4) {
        0 => {
            list.reverse();
            return (list.len() == 1).then(Vec::new);
        }
        1 if list.len() > 1 => {
            list.remove(index);
            seen.push(format!("delete {here}"));
        }
        2 if list.len() < 6 => {
            let end = list.len();
            list.push(element(depth, dice));
            seen.push(format!("add {path}{set}[{end}]"));
        }
        _ => {
            let leaf = ["name", "kind", "value"][depth];
            list[index][leaf] = json!(text(dice));
            seen.push(format!("update {here}.{leaf}"));
        }
    }
    Some(seen)
}

/// The same without what only the provider sets.
fn without_ids(elements: &Json) -> Json {
    let mut elements = elements.clone();
    for rule in elements.as_array_mut().into_iter().flatten() {
        rule.as_object_mut().expect("a rule").remove("id");
    }
    elements
}

/// A text that two elements have in common if they are equal, their sets in whatever order.
fn content(element: &Json) -> String {
    let Some(members) = element.as_object() else { return element.to_string() };
    let members = members.iter().filter(|(name, _)| *name != "id").map(|(name, member)| {
        let content: BTreeSet<String> = match member.as_array() {
            Some(elements) => elements.iter().map(content).collect(),
            None => BTreeSet::from([member.to_string()]),
        };
        format!("{name}: {content:?}")
    });
    members.collect::<Vec<_>>().join(", ")
}

/// Whether what is shown is in elements that are on one side only, at every level, and whether all of these are shown.
fn judge(stored: &Stored, news: &Json, difference: &Difference) -> Result<(), String> {
    let shown: Vec<(&str, &str)> =
        difference.changes.iter().filter_map(|change| change.split_once(' ')).collect();
    level(&stored.outputs, news, &SETS, &shown)
}

fn level(was: &Json, will_be: &Json, sets: &[&str], shown: &[(&str, &str)]) -> Result<(), String> {
    let Some((set, below)) = sets.split_first() else { return Ok(()) };
    let nothing = Vec::new();
    let [old, new] = [was, will_be].map(|side| side[set].as_array().unwrap_or(&nothing));
    let contents = |elements: &[Json]| elements.iter().map(content).collect::<BTreeSet<_>>();
    let (old_contents, new_contents) = (contents(old), contents(new));
    for index in 0..old.len().max(new.len()) {
        let goes = old.get(index).filter(|element| !new_contents.contains(&content(element)));
        let comes = new.get(index).filter(|element| !old_contents.contains(&content(element)));
        let place = format!("{set}[{index}]");
        let within: Vec<(&str, &str)> = shown
            .iter()
            .filter_map(|(kind, path)| Some((*kind, path.strip_prefix(&place)?)))
            .map(|(kind, path)| (kind, path.trim_start_matches('.')))
            .collect();
        match (goes, comes, &*within) {
            (None, None, []) => {}
            (None, Some(_), [("add", "")]) | (Some(_), None, [("delete", "")]) => {}
            (Some(old), Some(new), within) if !within.is_empty() => level(old, new, below, within)?,
            _ => {
                let sides = [goes, comes].map(|side| if side.is_some() { "changes" } else { "stays" });
                return Err(format!(
                    "{place}: {within:?} is shown; the old one {}, the new one {}",
                    sides[0], sides[1]
                ));
            }
        }
    }
    Ok(())
}
