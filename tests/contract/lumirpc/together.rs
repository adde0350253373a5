//! Several plugins on one store at the same time.

use std::collections::HashSet;

use isthmus_proto::property::Value;

use super::engine::{Engine, Goal, Step};
use super::{goal, kept, text};

/// How many engines there are, each with a plugin of its own.
const ENGINES: usize = 8;

/// The resources of one engine: some with ids of their own, some with an id that all have.
fn goals(engine: usize, round: usize) -> Vec<Goal> {
    let pet = |number: usize| {
        let inputs =
            [("urnName", Value::from(format!("pet{number}"))), ("length", (2.0 + round as f64).into())];
        goal("random:pet:Pet", inputs)
    };
    let password = |number: usize| {
        let inputs = [
            ("urnName", Value::from(format!("password{number}"))),
            ("length", ((10 + round) as f64).into()),
            ("keepers", Value::Struct([("engine", Value::from(format!("{engine}")))].into())),
        ];
        goal("random:password:Password", inputs)
    };
    (0..3).map(pet).chain((0..2).map(password)).collect()
}

#[tokio::test]
async fn what_nothing_tells_apart_gets_ids_of_its_own_if_it_is_made_in_the_same_moment() {
    let home = tempfile::tempdir().expect("a directory");
    let mut deploying = tokio::task::JoinSet::new();
    for _ in 0..ENGINES {
        let mut engine = Engine::with_tool("random").await.with_store_in(home.path());
        deploying.spawn(async move {
            let password = |number: usize| {
                let name = Value::from(format!("password{number}"));
                goal("random:password:Password", [("urnName", name), ("length", 12.0.into())])
            };
            engine.deploy(&(0..3).map(password).collect::<Vec<_>>()).await.expect("created");
            engine
        });
    }
    let engines = deploying.join_all().await;
    let mut ids = HashSet::new();
    for engine in &engines {
        for name in ["password0", "password1", "password2"] {
            let id = &engine.resource(name).id;
            assert!(ids.insert(id.clone()), "{id} is somebody else's");
        }
    }
    for mut engine in engines {
        engine.deploy(&[]).await.expect("deleted");
    }
    assert_eq!(kept(home.path()).await, []);
}

#[tokio::test]
async fn eight_plugins_work_on_one_store_and_keep_their_objects_apart() {
    let home = tempfile::tempdir().expect("a directory");
    let mut engines = Vec::new();
    for _ in 0..ENGINES {
        engines.push(Engine::with_tool("random").await.with_store_in(home.path()));
    }
    let mut results = HashSet::new();
    for round in 0..2 {
        let mut deploying = tokio::task::JoinSet::new();
        for (number, mut engine) in engines.drain(..).enumerate() {
            deploying.spawn(async move {
                let steps = engine.deploy(&goals(number, round)).await.expect("deployed");
                let is_expected = |step: &Step| match round {
                    0 => *step == Step::Create,
                    _ => matches!(step, Step::Replace(by) if by == &["length"]),
                };
                assert!(steps.iter().all(|(_, step)| is_expected(step)), "engine {number}: {steps:?}");
                (number, engine)
            });
        }
        let mut deployed = deploying.join_all().await;
        deployed.sort_by_key(|(number, _)| *number);
        engines = deployed.into_iter().map(|(_, engine)| engine).collect();
        assert_eq!(kept(home.path()).await.len(), ENGINES * 5, "each resource has one record");
        for engine in &engines {
            for name in ["password0", "password1"] {
                let result = text(&engine.resource(name).outputs, "result");
                assert!(result.len() == 10 + round && results.insert(result), "{name} is somebody else's");
            }
        }
    }
    let mut deleting = tokio::task::JoinSet::new();
    for mut engine in engines {
        deleting.spawn(async move {
            let passwords: Vec<String> =
                ["password0", "password1"].map(|name| text(&engine.resource(name).outputs, "result")).into();
            engine.deploy(&[]).await.expect("deleted");
            passwords
        });
    }
    let deleted: HashSet<String> = deleting.join_all().await.into_iter().flatten().collect();
    assert!(deleted.len() == ENGINES * 2 && deleted.is_subset(&results));
    assert_eq!(kept(home.path()).await, []);
}
