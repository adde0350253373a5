//! What was being done when the plugin was killed.

use std::path::Path;
use std::time::Duration;

use isthmus_proto::property::Value;
use isthmus_state::{Condition, EncryptedStore, OpenIntent, OperationKind};

use super::engine::Engine;
use super::tofu::isthmus;
use super::{goal, kept, sandbox};
use crate::harness::PATIENCE;
use crate::harness::engine::Severity;

async fn open_intents(home: &Path) -> Vec<OpenIntent> {
    let state_store = EncryptedStore::open(home, None).await.expect("the store");
    state_store.journal().open_intents().await.expect("the journal").intents
}

/// What nobody knows the end of. The engine kills its plugin so soon after an answer that it may not have noted that it gave it.
async fn interrupted(home: &Path) -> Vec<String> {
    let open = open_intents(home).await.into_iter();
    let open = open.filter(|open| !matches!(open.condition, Condition::Unconfirmed));
    open.map(|open| open.report()).collect()
}

#[tokio::test]
async fn a_creation_that_was_killed_is_listed_and_reported_at_the_next_start() {
    let (engine, _objects) = sandbox().await;
    let goals = [goal(
        "sandbox:faulty:Faulty",
        [("urnName", Value::from("stuck")), ("mode", "hang-forever".into()), ("during", "create".into())],
    )];
    let plugin = engine.start().await;
    let creating = plugin.begin_create(&goals[0]);
    let is_open = async {
        loop {
            match &open_intents(engine.home()).await[..] {
                [open] => break open.clone(),
                [] => tokio::time::sleep(Duration::from_millis(5)).await,
                several => panic!("one intent, not {several:?}"),
            }
        }
    };
    let open =
        tokio::time::timeout(PATIENCE, is_open).await.expect("an intent, before the provider has answered");
    assert_eq!((open.intent.intention, open.intent.subject.as_str()), (OperationKind::Create, "stuck"));
    assert!(matches!(open.condition, Condition::InProgress), "{open:?}");
    plugin.kill().await;
    creating.await.expect("the call").expect_err("nobody answers");

    let open = open_intents(engine.home()).await;
    assert!(matches!(&open[..], [open] if matches!(open.condition, Condition::Interrupted)), "{open:?}");
    assert_eq!(kept(engine.home()).await, []);
    engine.start().await.kill().await;
    let warned: Vec<String> = engine
        .shown()
        .into_iter()
        .filter(|line| line.severity == Severity::Warning)
        .map(|line| line.message)
        .collect();
    let [warning] = &warned[..] else { panic!("one warning, not {warned:?}") };
    for part in
        ["the creation of stuck", "sandbox_faulty", "its outcome is unknown", "isthmus recover dismiss"]
    {
        assert!(warning.contains(part), "{part:?} is not in: {warning}");
    }

    let number = open[0].id.to_string();
    engine.start().await.kill().await;
    assert_eq!(engine.shown().len(), 1, "it is told once: {:?}", engine.shown());
    assert!(isthmus(engine.home(), &["recover"]).well().stdout.contains("stuck"));
    let said = isthmus(engine.home(), &["recover", "dismiss", &number, "1700"]);
    assert!(said.code == 3 && said.stderr.contains("no operation 1700 is open"), "{said:?}");
    let said = isthmus(engine.home(), &["recover", "dismiss", &number]).well();
    assert!(said.stdout.starts_with(&format!("dismissed {number}: the creation of stuck")), "{said:?}");
    assert!(!isthmus(engine.home(), &["recover"]).well().stdout.contains("stuck"));
}

#[tokio::test]
async fn what_has_ended_is_not_in_the_journal() {
    let mut engine = Engine::with_tool("time").await;
    let offset = |days: f64| {
        [goal("time:offset:Offset", [("urnName", Value::from("later")), ("offsetDays", Value::from(days))])]
    };
    engine.deploy(&offset(1.0)).await.expect("created");
    engine.deploy(&offset(7.0)).await.expect("changed");
    assert_eq!(interrupted(engine.home()).await, Vec::<String>::new());
    engine.deploy(&[]).await.expect("deleted");
    assert_eq!(interrupted(engine.home()).await, Vec::<String>::new());
    assert_eq!(kept(engine.home()).await, []);
}
