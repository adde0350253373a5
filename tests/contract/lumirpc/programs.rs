//! A whole program: twenty resources that use each other, through all that an engine does with them.

use isthmus_proto::property::{Struct, Value};

use super::engine::{Engine, Goal, Step};
use super::{goal, kept, sandbox, text};

const RESOURCES: usize = 20;

fn name(number: usize) -> String {
    format!("note{number}")
}

/// Each note has the id of the one before it among its labels.
fn program(bodies: impl Fn(usize) -> String, color: impl Fn(usize) -> &'static str) -> Vec<Goal> {
    let note = |number: usize| {
        let mut inputs = Struct::from([
            ("urnName", Value::from(name(number))),
            ("title", name(number).into()),
            ("body", bodies(number).into()),
            ("color", color(number).into()),
        ]);
        if number > 0 {
            inputs.insert("labels", Struct::from([("after", Engine::id_of(&name(number - 1)))]));
        }
        goal("sandbox:note:Note", inputs)
    };
    (0..RESOURCES).map(note).collect()
}

fn steps(step: impl Fn(usize) -> Step) -> Vec<(String, Step)> {
    (0..RESOURCES).map(|number| (name(number), step(number))).collect()
}

#[tokio::test]
async fn a_program_of_twenty_resources_is_planned_deployed_changed_and_deleted() {
    let (mut engine, objects) = sandbox().await;
    let count = || std::fs::read_dir(&objects).expect("the provider's directory").count();
    let first = program(|_| "a".to_owned(), |_| "red");
    let created = steps(|_| Step::Create);
    assert_eq!(engine.plan(&first).await.expect("a plan"), created, "ids are unknown in it");
    assert_eq!(count(), 0, "a plan makes nothing");
    assert_eq!(engine.deploy(&first).await.expect("created"), created);
    assert_eq!(count(), RESOURCES);
    let after = |engine: &Engine, number: usize| {
        let Some(Value::Struct(labels)) = engine.resource(&name(number)).outputs.get("labels").cloned()
        else {
            panic!("no labels: {:?}", engine.resource(&name(number)));
        };
        text(&labels, "after")
    };
    for number in 1..RESOURCES {
        assert_eq!(after(&engine, number), engine.resource(&name(number - 1)).id);
    }
    assert_eq!(engine.deploy(&first).await.expect("nothing to do"), steps(|_| Step::Same));

    let edited = |number: usize| if number.is_multiple_of(5) { "b".to_owned() } else { "a".to_owned() };
    let updated = steps(|number| if number.is_multiple_of(5) { Step::Update } else { Step::Same });
    let second = program(edited, |_| "red");
    assert_eq!(engine.plan(&second).await.expect("a plan"), updated);
    assert_eq!(engine.deploy(&second).await.expect("changed"), updated);
    assert_eq!(text(&engine.resource(&name(10)).outputs, "body"), "b");

    // What uses a resource that is replaced is updated with the id of the new one.
    let third = program(edited, |number| if number == 7 { "blue" } else { "red" });
    let replaced = steps(|number| match number {
        7 => Step::Replace(vec!["color".to_owned()]),
        8 => Step::Update,
        _ => Step::Same,
    });
    let old = engine.resource(&name(7)).id.clone();
    assert_eq!(engine.plan(&third).await.expect("a plan"), replaced);
    assert_eq!(engine.deploy(&third).await.expect("replaced"), replaced);
    assert_ne!(engine.resource(&name(7)).id, old);
    assert_eq!(after(&engine, 8), engine.resource(&name(7)).id);
    assert_eq!(
        engine.get("sandbox:note:Note", &old).await.expect("an answer"),
        None,
        "the old one is deleted"
    );
    let id = engine.resource(&name(7)).id.clone();
    let found = engine.get("sandbox:note:Note", &id).await.expect("an answer").expect("the new one");
    assert_eq!(found, engine.resource(&name(7)).outputs);
    assert_eq!((count(), kept(engine.home()).await.len()), (RESOURCES, RESOURCES));

    let deleted = engine.deploy(&third[..5]).await.expect("some are not wanted any more");
    let order: Vec<&str> =
        deleted.iter().filter(|(_, step)| *step == Step::Delete).map(|(name, _)| &**name).collect();
    assert_eq!((order.len(), order[0], order[14]), (15, "note19", "note5"), "the newest first");
    engine.deploy(&[]).await.expect("deleted");
    assert_eq!((count(), kept(engine.home()).await.len()), (0, 0));
}
