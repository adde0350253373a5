//! Plugins on several machines, which share nothing but a database server.

use fixtures::postgres::PostgresServer;
use isthmus_common::Secret;
use isthmus_proto::property::Value;
use isthmus_state::{Condition, EncryptedStore, KeySource, OpenIntent, StoreAddress};

use super::engine::{Engine, Goal, Step};
use super::goal;

/// How many machines there are.
const MACHINES: usize = 4;

fn goals(machine: usize, days: f64) -> Vec<Goal> {
    (0..3)
        .map(|number| {
            let name = format!("offset{number}");
            let triggers = Value::Struct([("machine", Value::from(format!("{machine}")))].into());
            let inputs =
                [("urnName", Value::from(name)), ("offsetDays", days.into()), ("triggers", triggers)];
            goal("time:offset:Offset", inputs)
        })
        .collect()
}

#[tokio::test]
async fn plugins_on_several_machines_keep_their_objects_in_one_database() {
    fixtures::needs!(PostgreSql);
    let server = tokio::task::spawn_blocking(|| PostgresServer::start(None, false)).await.expect("started");
    let server = server.unwrap_or_else(|reason| panic!("this test needs a PostgreSQL server: {reason}"));
    let (address, key) = (server.address("postgres"), "7".repeat(64));
    let mut engines = Vec::new();
    for _ in 0..MACHINES {
        let mut engine = Engine::with_tool("time").await;
        engine.set("ISTHMUS_STORE", &address);
        engine.set("ISTHMUS_KEY", &key);
        engines.push(engine);
    }
    let place = StoreAddress::parse(&address).expect("an address");
    let state_store =
        EncryptedStore::connect(&place, &KeySource::Digits(Secret::new(key))).await.expect("the store");
    for (days, expected) in [(1.0, Step::Create), (7.0, Step::Update)] {
        let mut deploying = tokio::task::JoinSet::new();
        for (machine, mut engine) in engines.drain(..).enumerate() {
            let expected = expected.clone();
            deploying.spawn(async move {
                let steps = engine.deploy(&goals(machine, days)).await.expect("deployed");
                assert!(steps.iter().all(|(_, step)| *step == expected), "machine {machine}: {steps:?}");
                (machine, engine)
            });
        }
        let mut deployed = deploying.join_all().await;
        deployed.sort_by_key(|(machine, _)| *machine);
        engines = deployed.into_iter().map(|(_, engine)| engine).collect();
        assert_eq!(state_store.list(None).await.expect("records").len(), MACHINES * 3, "after {days}");
        // Its engine ends a plugin so soon after an answer that it may not have noted that it gave it.
        let open = state_store.journal().open_intents().await.expect("the journal").intents;
        let is_answered = |open: &OpenIntent| matches!(open.condition, Condition::Unconfirmed);
        assert!(open.iter().all(is_answered), "{open:?}");
    }
    for engine in &mut engines {
        engine.deploy(&[]).await.expect("deleted");
        assert!(!engine.home().join("state.sqlite").exists(), "nothing is kept on the machine");
    }
    assert!(state_store.list(None).await.expect("records").is_empty());

    let mut stranger = Engine::with_tool("time").await;
    stranger.set("ISTHMUS_STORE", &address);
    let failure = stranger.try_start().await.expect_err("no key");
    for part in ["no key is set", "ISTHMUS_KEY_FILE, ISTHMUS_KEY or ISTHMUS_PASSPHRASE", "every machine"] {
        assert!(failure.contains(part), "{part:?} is not in: {failure}");
    }
    stranger.set("ISTHMUS_KEY", &"8".repeat(64));
    let failure = stranger.try_start().await.expect_err("a key of its own");
    assert!(failure.contains("another key") && failure.contains("ISTHMUS_KEY"), "{failure}");
}
