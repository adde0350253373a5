//! Replicas of a shared daemon that share a database: what one does for another, and what is lost with one.

use std::time::{Duration, Instant};

use crate::harness::processes::Signal;

use crate::harness::replicas::Replicas;
use crate::harness::{Code, Host, Json, Outcome, PATIENCE, Protocol, Session, Setup, Status, json};

const NOTE: &str = "sandbox:index/note:Note";
const TOKEN: &str = "sandbox:index/ephemeralToken:ephemeralToken";

/// Waits until a process is stopped.
async fn is_stopped(process: u32) {
    let stopped = async {
        let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        while !state().rsplit(')').next().unwrap_or_default().trim_start().starts_with('T') {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, stopped).await.expect("it stops");
}

/// Kind and condition of the operations that are open.
fn open(replicas: &Replicas) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    replicas.open_operations().iter().map(|open| (text(&open["kind"]), text(&open["condition"]))).collect()
}

fn unknown(kind: &str) -> (String, String) {
    (kind.to_owned(), "unknown".to_owned())
}

/// A run by a replica.
async fn run(replicas: &Replicas, number: usize) -> Result<(Host, Session), Status> {
    let host = replicas.plugin_of(&[number]).start().await;
    let session = host.session().await?.patient(4 * PATIENCE);
    Ok((host, session))
}

/// Replicas whose first one stops at a fail point, until it is continued.
async fn with_a_slow_one(point: &str) -> Replicas {
    Replicas::start_here(&[("FAIL_POINT", point), ("FAIL_POINT_STOPS", "1")]).await
}

#[tokio::test]
async fn a_replica_that_slept_before_a_call_does_not_make_it_when_another_one_has_taken_over() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    let replicas = with_a_slow_one("intent-written").await;
    let (_slow, session) = run(&replicas, 0).await?;
    let begun = Instant::now();
    let creating = tokio::spawn(async move { session.note().create(&json!({"title": "slow"})).await });
    is_stopped(replicas.process(0)).await;
    replicas.expire_leases();

    let (other, session) = run(&replicas, 1).await?;
    let told = other.engine.warnings();
    assert!(told.iter().any(|text| text.contains("::note ")), "{told:?}");
    session.note().make(&json!({"title": "other"})).await?;
    while begun.elapsed() < Duration::from_secs(2) {
        tokio::task::yield_now().await;
    }
    replicas.signal(0, Signal::CONT);
    let status = creating.await.expect("no panic").expect_err("another replica has taken over");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("another replica has taken the operation over"), "{status}");
    assert_eq!(other.objects().len(), 1, "{:?}", other.objects());
    // What users were told of is still listed.
    assert!(open(&replicas).contains(&unknown("creation")), "{:?}", replicas.open_operations());
    Ok(())
}

#[tokio::test]
async fn a_replica_that_slept_in_a_creation_adds_the_object_to_what_another_one_has_reported() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    let replicas = with_a_slow_one("outcome-known").await;
    let (_slow, session) = run(&replicas, 0).await?;
    let creating = tokio::spawn(async move { session.note().create(&json!({"title": "slow"})).await });
    is_stopped(replicas.process(0)).await;
    replicas.expire_leases();
    let (other, _session) = run(&replicas, 1).await?;
    let told = other.engine.warnings();
    assert!(told.iter().any(|text| text.contains("::note ")), "{told:?}");
    assert_eq!(open(&replicas), [unknown("creation")]);

    replicas.signal(0, Signal::CONT);
    let made = creating.await.expect("no panic")?;
    let open = replicas.open_operations();
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["id"], made.id, "{open:?}");
    Ok(())
}

#[tokio::test]
async fn a_replica_that_slept_in_an_update_does_not_settle_what_another_one_has_settled() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    // The first time is that of the creation.
    let replicas = with_a_slow_one("outcome-known:2").await;
    let (_slow, session) = run(&replicas, 0).await?;
    let made = session.note().make(&json!({"title": "slow", "body": "first"})).await?;
    let before = made.clone();
    let updating = tokio::spawn(async move {
        session.note().update(&before, &json!({"title": "slow", "body": "late"})).await
    });
    is_stopped(replicas.process(0)).await;
    replicas.expire_leases();

    // A later update of the same object settles the earlier one.
    let (_other, session) = run(&replicas, 1).await?;
    session.note().update(&made, &json!({"title": "slow", "body": "other"})).await?;
    assert_eq!(open(&replicas), [], "{:?}", replicas.open_operations());

    replicas.signal(0, Signal::CONT);
    updating.await.expect("no panic")?;
    // Whose content the object has is not certain any more.
    assert_eq!(open(&replicas), [unknown("update")]);
    Ok(())
}

#[tokio::test]
async fn what_one_replica_has_made_another_one_hears_of_at_once() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    let replicas = Replicas::start_here(&[]).await;
    let (_first, session) = run(&replicas, 0).await?;
    let made = session.note().make(&json!({"title": "one"})).await?;
    session.cancel().await?;
    let (_second, session) = run(&replicas, 1).await?;
    session.note().delete(&made).await?;
    session.cancel().await?;
    assert_eq!(replicas.open_operations(), [Json::Null; 0], "the engine has mentioned the object");
    // The first one does not believe that the engine has forgotten the object.
    let mut told = Vec::new();
    for _ in 0..4 {
        let (host, session) = run(&replicas, 0).await?;
        session.note().make(&json!({"title": "again"})).await?;
        session.cancel().await?;
        told.extend(host.engine.warnings().into_iter().filter(|text| text.contains(&made.id)));
    }
    assert_eq!(told, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn an_engine_that_creates_what_another_replica_is_creating_is_warned_at_once() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    let replicas = Replicas::start_here(&[]).await;
    let gate = replicas.directory.path().join("gate");
    let first = replicas.plugin_of(&[0]).with_value("SANDBOX_GATE", gate.as_os_str()).start().await;
    let session = first.session().await?.patient(2 * PATIENCE);
    let creating = tokio::spawn(async move { session.note().create(&json!({"title": "one"})).await });
    first.provider_is_in("ApplyResourceChange", 1).await;
    // Its engine is gone, and the lease of the replica has not expired.
    let (second, session) = run(&replicas, 1).await?;
    assert_eq!(second.engine.warnings(), [""; 0]);
    session.note().create(&json!({"title": "two"})).await?;
    let told = second.engine.warnings();
    assert!(told.iter().any(|text| text.contains("The engine creates it now")), "{told:?}");
    std::fs::write(&gate, "").expect("a directory of ours");
    creating.await.expect("no panic")?;
    Ok(())
}

#[tokio::test]
async fn without_the_database_nothing_is_changed_and_what_was_under_way_is_noted_when_it_is_back() -> Outcome
{
    fixtures::needs!(PostgreSql, Ok(()));
    let replicas = Replicas::start_here(&[]).await;
    let gate = replicas.directory.path().join("gate");
    let waiting = replicas.plugin_of(&[0]).with_value("SANDBOX_GATE", gate.as_os_str()).start().await;
    let session = waiting.session().await?.patient(4 * PATIENCE);
    let creating = tokio::spawn(async move { session.note().create(&json!({"title": "under way"})).await });
    waiting.provider_is_in("ApplyResourceChange", 1).await;
    let (host, session) = run(&replicas, 0).await?;
    replicas.signal_database(Signal::STOP);
    std::fs::write(&gate, "").expect("a directory of ours");

    let refused = session.resource(NOTE, "refused").create(&json!({"title": "refused"})).await;
    let status = refused.expect_err("it cannot be journalled");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().starts_with("nothing was changed, because the journal"), "{status}");
    // It has the answer, and a warning.
    let made = creating.await.expect("no panic")?;
    let told = waiting.engine.warnings();
    assert!(told.iter().any(|text| text.contains("Failed to record the outcome")), "{told:?}");
    assert_eq!(host.objects().len(), 1, "{:?}", host.objects());

    replicas.signal_database(Signal::CONT);
    let noted = async {
        while !replicas.open_operations().iter().any(|open| open["id"] == made.id) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, noted).await.expect("it is noted");
    session.resource(NOTE, "refused").create(&json!({"title": "no more"})).await?;
    Ok(())
}

#[tokio::test]
async fn what_is_refused_because_the_database_is_gone_meanwhile_is_not_taken_for_interrupted() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    let replicas = with_a_slow_one("intent-written").await;
    let (slow, session) = run(&replicas, 0).await?;
    let begun = Instant::now();
    let creating = tokio::spawn(async move { session.note().create(&json!({"title": "slow"})).await });
    is_stopped(replicas.process(0)).await;
    replicas.signal_database(Signal::STOP);
    while begun.elapsed() < Duration::from_secs(2) {
        tokio::task::yield_now().await;
    }
    replicas.signal(0, Signal::CONT);
    let status =
        creating.await.expect("no panic").expect_err("it cannot look whether the operation is its own");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().starts_with("nothing was changed, because the journal"), "{status}");
    assert_eq!(slow.objects().len(), 0, "{:?}", slow.objects());

    replicas.signal_database(Signal::CONT);
    let settled = async {
        while !open(&replicas).is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("nothing was changed");
    Ok(())
}

/// Kills the replica that a plugin is connected to.
async fn lose(replicas: &mut Replicas, host: &Host) {
    let number = if replicas.connected(0).contains(&host.process()) { 0 } else { 1 };
    replicas.signal(number, Signal::KILL);
    replicas.ended(number).await;
}

#[tokio::test]
async fn withheld_values_that_only_a_lost_replica_had_are_not_taken_for_none() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    let mut replicas = Replicas::start_here(&[]).await;
    let setup = Setup::conformance(Protocol::V6).with("ISTHMUS_WRITE_ONLY", "hash");
    let host = replicas.plugin_by(setup, &[0, 1]).start().await;
    let session = host.session().await?;
    let record = session.record();
    let program = json!({"name": "first", "passwordWo": "sesame", "passwordWoVersion": 1});
    let inputs = record.checked(&program).await?;
    lose(&mut replicas, &host).await;
    let status = record.create(&inputs).await.expect_err("the value is gone");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("nothing was changed: the write-only values"), "{status}");
    assert_eq!(host.objects(), [Json::Null; 0]);
    // As the next run of the engine does.
    let inputs = record.checked(&program).await?;
    record.create(&inputs).await?;
    assert_eq!(host.objects()[0]["password"], "sesame");
    Ok(())
}

#[tokio::test]
async fn a_plan_that_only_a_lost_replica_remembered_is_made_again() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    let mut replicas = Replicas::start_here(&[]).await;
    let host = replicas.plugin_of(&[0, 1]).start().await;
    let session = host.session().await?;
    let note = session.note();
    let made = note.make(&json!({"title": "one", "body": "first"})).await?;
    let inputs = note.checked(&json!({"title": "one", "body": "second"})).await?;
    assert!(note.diff(&made, &inputs).await?.some);
    lose(&mut replicas, &host).await;
    note.update(&made, &inputs).await?;
    assert_eq!(host.objects().len(), 1);
    assert!(host.objects()[0].to_string().contains("second"), "{:?}", host.objects());
    Ok(())
}

#[tokio::test]
async fn an_engine_is_told_that_what_a_lost_replica_had_opened_is_not_closed() -> Outcome {
    fixtures::needs!(PostgreSql, Ok(()));
    let mut replicas = Replicas::start_here(&[]).await;
    let host = replicas.plugin_of(&[0, 1]).start().await;
    let session = host.session().await?;
    session.note().make(&json!({"title": "one"})).await?;
    session.invoke(TOKEN, &json!({"audience": "me"})).await?.expect("a token");
    lose(&mut replicas, &host).await;
    session.resource(NOTE, "other").make(&json!({"title": "two"})).await?;
    let told = host.engine.warnings();
    let [warning] = &told[..] else { panic!("{told:?}") };
    assert!(
        warning.contains("ephemeral resources that were opened before are neither renewed nor closed"),
        "{warning}"
    );
    session.cancel().await?;
    assert!(!host.call_names().contains(&"CloseEphemeralResource".to_owned()));
    Ok(())
}
