//! The example for the legacy engine: its resources are planned, created, changed and deleted.

use super::engine::{Engine, Goal, Step};
use super::goal;
use crate::harness::{Json, bag};

const RESOURCES: &str = include_str!("../../../examples/legacy-engine/resources.json");

/// The resources of the example, the pet with this many words.
fn resources(words: u32) -> Vec<Goal> {
    let mut resources: Json = serde_json::from_str(RESOURCES).expect("JSON");
    resources[0]["properties"]["length"] = words.into();
    let resources = resources.as_array().expect("a list");
    let goals = resources.iter().map(|resource| {
        let type_token = resource["type"].as_str().expect("a type token");
        goal(type_token, bag(&resource["properties"]))
    });
    goals.collect()
}

fn steps(pet: &Step, friend: &Step) -> [(String, Step); 2] {
    [("pet".to_owned(), pet.clone()), ("friend".to_owned(), friend.clone())]
}

#[tokio::test]
async fn the_resources_of_the_example_come_change_and_go() {
    let mut engine = Engine::with_linked_tool("random").await;
    let created = steps(&Step::Create, &Step::Create);
    assert_eq!(engine.plan(&resources(2)).await.expect("a plan"), created);
    assert_eq!(engine.deploy(&resources(2)).await.expect("created"), created);
    let pet = engine.resource("pet").id.clone();
    assert_eq!(pet.split('-').count(), 2, "{pet}");
    let friend = &engine.resource("friend").id;
    assert!(friend.starts_with(&format!("{pet}-")), "{friend} has the id of {pet} before its name");
    let same = steps(&Step::Same, &Step::Same);
    assert_eq!(engine.deploy(&resources(2)).await.expect("nothing to do"), same);

    let replaced =
        steps(&Step::Replace(vec!["length".to_owned()]), &Step::Replace(vec!["prefix".to_owned()]));
    assert_eq!(engine.deploy(&resources(3)).await.expect("replaced"), replaced);
    assert_eq!(engine.resource("pet").id.split('-').count(), 3);
    engine.deploy(&[]).await.expect("deleted");
}
