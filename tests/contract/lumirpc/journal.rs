//! What was being done when the plugin was killed.

use std::path::Path;
use std::time::Duration;

use isthmus_operations::resource::reports::of_operation;
use isthmus_proto::property::Value;
use isthmus_state::{Condition, EncryptedStore, OpenIntent, OperationKind, Status};

use super::engine::{Engine, State};
use super::tofu::isthmus;
use super::{goal, kept, sandbox};
use crate::harness::engine::{Line, Severity};
use crate::harness::{PATIENCE, processes};

async fn open_intents(home: &Path) -> Vec<OpenIntent> {
    let state_store = EncryptedStore::open(home, None).await.expect("the store");
    state_store.journal().open_intents().await.expect("the journal").intents
}

/// Waits for an intent, and for no more than one.
async fn first_open_intent(home: &Path) -> OpenIntent {
    let is_open = async {
        loop {
            match &open_intents(home).await[..] {
                [open] => break open.clone(),
                [] => tokio::time::sleep(Duration::from_millis(5)).await,
                several => panic!("one intent, not {several:?}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, is_open).await.expect("an intent, before the provider has answered")
}

/// Operations with an unknown outcome. The engine kills its plugin so soon after an answer that it may not have noted that it gave it.
async fn interrupted(home: &Path) -> Vec<String> {
    let open = open_intents(home).await.into_iter();
    let open = open.filter(|open| !matches!(open.condition, Condition::Unconfirmed));
    open.map(|open| of_operation(&open)).collect()
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
    let open = first_open_intent(engine.home()).await;
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
    assert!(isthmus(engine.home(), &["recover"]).well().contains("stuck"));
    let others = isthmus(engine.home(), &["recover", "--package", "time"]).well();
    assert!(!others.contains("stuck"), "{others}");
    let said = isthmus(engine.home(), &["recover", "dismiss", &number, "1700"]);
    assert!(said.code == 3 && said.stderr.contains("no operation 1700 is open"), "{said:?}");
    let said = isthmus(engine.home(), &["recover", "dismiss", &number]).succeeded();
    assert!(said.stdout.starts_with(&format!("dismissed {number}: the creation of stuck")), "{said:?}");
    assert!(!isthmus(engine.home(), &["recover"]).well().contains("stuck"));
}

/// An engine that is killed while the provider creates a resource, in this mode; waits until the plugin has ended.
async fn killed_in_a_creation(mode: &str, during: &str) -> Engine {
    let (mut engine, objects) = sandbox().await;
    engine.has_a_process();
    engine.set("ISTHMUS_STOP_GRACE_PERIOD", "1");
    let mark = objects.display().to_string();
    engine.set("JOURNAL_MARK", &mark);
    let calls = engine.home().join("calls");
    engine.set("SANDBOX_CALLS", &calls.display().to_string());
    let late = goal(
        "sandbox:faulty:Faulty",
        [("urnName", Value::from("late")), ("mode", mode.into()), ("during", during.into())],
    );
    let plugin = engine.start().await;
    let creating = plugin.begin_create(&late);
    // Not earlier: an engine that is gone before the provider is asked has no object.
    let is_asked = async {
        while !std::fs::read_to_string(&calls).is_ok_and(|calls| calls.contains("ApplyResourceChange")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, is_asked).await.expect("the provider is asked");
    // First, since the answer must not find it, however late this test goes on.
    creating.abort();
    creating.await.expect_err("it was aborted");
    plugin.kill_engine();
    drop(plugin);
    let is_over = async {
        while !processes::with_variable("JOURNAL_MARK", &mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let is_over = tokio::time::timeout(PATIENCE, is_over).await;
    assert!(is_over.is_ok(), "left: {:?}", processes::with_variable("JOURNAL_MARK", &mark));
    engine
}

/// The only object, which has this status, is reported to the next engines once.
async fn is_reported_once(engine: &Engine, expected: Status) {
    let kept = kept(engine.home()).await;
    let [(id, status)] = &kept[..] else {
        panic!("one object, not {kept:?}; open: {:#?}", open_intents(engine.home()).await)
    };
    assert_eq!(*status, expected);
    // An engine that has had the answer would mention the object in one of two runs.
    for _ in 0..4 {
        engine.start().await.kill().await;
    }
    let shown = engine.shown();
    let told = |line: &&Line| line.severity == Severity::Warning && line.message.contains(id);
    assert_eq!(shown.iter().filter(told).count(), 1, "{id} is reported once: {shown:#?}");
}

#[tokio::test]
async fn what_is_made_after_the_engine_was_killed_is_reported() {
    // The provider ends the creation when it is stopped, which it is when the engine is gone.
    let engine = killed_in_a_creation("late", "create").await;
    is_reported_once(&engine, Status::Ready).await;
}

#[tokio::test]
async fn half_of_what_is_made_after_the_engine_was_killed_is_reported() {
    // The creation fails half-way when the provider is stopped, and so does the deletion of what it has made.
    let engine = killed_in_a_creation("interrupted", "create+delete").await;
    is_reported_once(&engine, Status::Damaged).await;
}

#[tokio::test]
async fn the_creation_of_an_object_is_settled_by_a_deletion_that_is_repeated() {
    let mut engine = killed_in_a_creation("late", "create").await;
    let [(id, _)] = &kept(engine.home()).await[..] else { panic!("one object") };
    let type_token = "sandbox:faulty:Faulty".to_owned();
    let outputs = engine.get(&type_token, id).await.expect("an answer").expect("an object");
    let known = State { type_token, id: id.clone(), outputs, ..State::default() };
    engine.set("FAIL_POINT", "record-removed");
    engine.start().await.delete(&known).await.expect_err("the plugin dies when it has deleted it");
    engine.set("FAIL_POINT", "none");
    assert_eq!(
        open_intents(engine.home()).await.len(),
        1,
        "it could not say that the engine knows the object"
    );

    let plugin = engine.start().await;
    plugin.delete(&known).await.expect("it was deleted before");
    plugin.kill().await;
    let open = open_intents(engine.home()).await;
    assert!(open.is_empty(), "{open:?}");
}

#[tokio::test]
async fn a_provider_that_hangs_does_not_outlive_a_killed_engine_and_what_it_did_is_reported() {
    let engine = killed_in_a_creation("hang-forever", "create").await;
    assert_eq!(kept(engine.home()).await, []);
    engine.start().await.kill().await;
    let shown = engine.shown();
    let told = |line: &&Line| line.message.contains("the creation of late");
    assert_eq!(shown.iter().filter(told).count(), 1, "it is reported once: {shown:#?}");
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
