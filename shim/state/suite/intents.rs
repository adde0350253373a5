//! The journal.

use bytes::Bytes;

use super::over_each_store;
use super::world::{World, is_empty, key, result, results, saved};
use crate::store::{Kind, RecordNumber};
use crate::{
    Condition, Deletion, EncryptedStore, EncryptedStoreError, Intent, IntentGuard, OpenIntent, OperationId,
    OperationKind,
};

over_each_store! {
    an_intent_is_there_from_its_beginning_to_its_end,
    an_object_is_stored_with_the_end_of_its_intent,
    an_object_is_unconfirmed_until_the_engine_has_the_answer,
    an_intent_without_an_end_is_interrupted_when_its_process_has_ended,
    nobody_else_changes_an_object_that_is_being_changed,
    who_was_killed_is_overtaken_at_once,
    the_outcome_of_who_was_overtaken_is_kept_with_the_intent,
    an_object_that_somebody_removed_meanwhile_is_kept_anew,
    what_is_known_of_an_unknown_end_is_kept,
    an_open_intent_is_dismissed_by_its_number,
    of_two_that_choose_one_key_in_the_same_moment_one_is_refused,
    a_damaged_intent_does_not_hide_the_others_and_can_be_dismissed,
    intents_of_a_resource_are_read_without_those_of_others,
}

fn intent(intention: OperationKind, id: &str) -> Intent {
    Intent {
        intention,
        key: key(id),
        subject: "urn:pulumi:dev::zoo::random:index/pet:Pet::mascot".to_owned(),
        prior: (intention != OperationKind::Create).then(|| saved("before")),
        companion: Bytes::from_static(b"inputs"),
    }
}

/// The number of an intent in the store.
fn number_of(open: &OpenIntent) -> RecordNumber {
    let OperationId::InStore(number) = open.id else { panic!("{open:?} is not in the store") };
    number
}

fn deletion() -> Deletion {
    Deletion { properties: [1; 32], inputs: None, at: std::time::SystemTime::now() }
}

async fn conditions(store: &EncryptedStore) -> Vec<Condition> {
    store
        .journal()
        .open_intents()
        .await
        .expect("intents")
        .intents
        .into_iter()
        .map(|open| open.condition)
        .collect()
}

/// Simulates that all holders of leases were killed, and their process ids reused.
pub(super) async fn kill_holders(world: &World) {
    let text = format!("'{}'", crate::holder::Holder::ended().text());
    assert!(world.sql(&format!("UPDATE leases SET holder = {text}")).await > 0, "there are leases");
}

/// Begins an operation that no other process is working on.
pub(super) async fn begin(
    store: &EncryptedStore,
    kind: OperationKind,
    id: &str,
    record: Option<RecordNumber>,
) -> IntentGuard {
    store.journal().begin(intent(kind, id), record).await.expect("begun")
}

async fn an_intent_is_there_from_its_beginning_to_its_end(world: &World) {
    let (ours, theirs) = (world.encrypted_store().await, world.encrypted_store().await);
    let mut begun = begin(&ours, OperationKind::Update, "a", None).await;
    let open = theirs.journal().open_intents().await.expect("intents").intents;
    let [open] = &open[..] else { panic!("one intent, not {open:?}") };
    assert_eq!(open.id, OperationId::InStore(begun.number()));
    assert_eq!((open.intent.intention, &open.intent.key), (OperationKind::Update, &key("a")));
    assert_eq!(open.intent.prior.as_ref().map(result).as_deref(), Some("before"));
    assert_eq!(open.intent.companion, "inputs");
    assert!(open.since.elapsed().is_ok_and(|age| age.as_secs() < 60), "{:?}", open.since);
    assert!(matches!(open.condition, Condition::InProgress), "{open:?}");
    begun.end().await.expect("ended");
    assert!(theirs.journal().open_intents().await.expect("intents").intents.is_empty());
}

async fn an_object_is_stored_with_the_end_of_its_intent(world: &World) {
    let store = world.encrypted_store().await;
    let mut begun = begin(&store, OperationKind::Create, "", None).await;
    let made = begun.store(None, &key("a"), &saved("one")).await.expect("stored");
    assert_eq!(results(&store, "a").await, ["one"]);
    let mut begun = begin(&store, OperationKind::Update, "a", Some(made.number)).await;
    let changed = begun.store(Some(made), &key("a"), &saved("two")).await.expect("stored");
    assert_eq!(results(&store, "a").await, ["two"]);
    let mut begun = begin(&store, OperationKind::Delete, "a", Some(made.number)).await;
    begun.remove(Some(changed), &deletion()).await.expect("removed");
    assert!(store.find(&key("a")).await.expect("records").is_empty());
    assert!(conditions(&store).await.is_empty());
}

async fn an_object_is_unconfirmed_until_the_engine_has_the_answer(world: &World) {
    let store = world.encrypted_store().await;
    let mut begun = begin(&store, OperationKind::Create, "", None).await;
    let (place, unconfirmed) = begun
        .store_unconfirmed(&key("a"), &saved("one"), None)
        .await
        .expect("stored")
        .expect("nobody else has");
    assert_eq!(results(&store, "a").await, ["one"]);
    assert!(matches!(conditions(&store).await[..], [Condition::InProgress]), "its process is still there");
    let again = store.journal().begin(intent(OperationKind::Update, "a"), Some(place.number)).await;
    again.expect("nobody is at it").end().await.expect("ended");
    unconfirmed.confirm().await.expect("noted");
    assert!(conditions(&store).await.is_empty());

    let mut begun = begin(&store, OperationKind::Create, "", None).await;
    begun.outlive_its_holder();
    drop(begun.store_unconfirmed(&key("b"), &saved("two"), None).await.expect("stored"));
    let open = world.encrypted_store().await.journal().open_intents().await.expect("intents").intents;
    let [open] = &open[..] else { panic!("one intent, not {open:?}") };
    assert!(matches!(open.condition, Condition::Unconfirmed), "{open:?}");
    assert_eq!((&open.intent.key, &open.intent.companion[..]), (&key("b"), &b"inputs"[..]));
    assert!(store.journal().dismiss(number_of(open)).await.expect("an answer"));
}

async fn an_intent_without_an_end_is_interrupted_when_its_process_has_ended(world: &World) {
    let store = world.encrypted_store().await;
    let mut begun = begin(&store, OperationKind::Create, "", None).await;
    kill_holders(world).await;
    let open = world.encrypted_store().await.journal().open_intents().await.expect("intents").intents;
    assert!(matches!(open[..], [_]) && matches!(open[0].condition, Condition::Interrupted), "{open:?}");
    begun.end().await.expect("ended");
    // An interrupted operation in a process that continues.
    drop(begin(&store, OperationKind::Create, "", None).await);
    loop {
        match &conditions(&store).await[..] {
            [Condition::Interrupted] => break,
            [Condition::InProgress] => tokio::task::yield_now().await,
            other => panic!("one open intent, not {other:?}"),
        }
    }
}

async fn nobody_else_changes_an_object_that_is_being_changed(world: &World) {
    let (ours, theirs) = (world.encrypted_store().await, world.encrypted_store().await);
    let place = ours.add(&key("a"), &saved("one")).await.expect("kept");
    let other = ours.add(&key("a"), &saved("other")).await.expect("kept");
    let mut begun = begin(&ours, OperationKind::Update, "a", Some(place.number)).await;
    let error = theirs
        .journal()
        .begin(intent(OperationKind::Delete, "a"), Some(place.number))
        .await
        .expect_err("busy");
    assert!(matches!(error, EncryptedStoreError::Busy { .. }), "{error}");
    let process = format!("process {}", std::process::id());
    assert!(error.to_string().contains(&process) && error.to_string().contains("60 s"), "{error}");
    assert_eq!(conditions(&theirs).await.len(), 1, "what was refused is not in the journal");
    // Another object with the same id.
    begin(&theirs, OperationKind::Update, "a", Some(other.number)).await.end().await.expect("ended");
    begun.end().await.expect("ended");
    begin(&theirs, OperationKind::Delete, "a", Some(place.number)).await.end().await.expect("ended");
}

async fn who_was_killed_is_overtaken_at_once(world: &World) {
    let store = world.encrypted_store().await;
    let place = store.add(&key("a"), &saved("one")).await.expect("kept");
    let killed = begin(&store, OperationKind::Update, "a", Some(place.number)).await;
    kill_holders(world).await;
    let again = world.encrypted_store().await;
    let mut begun = begin(&again, OperationKind::Update, "a", Some(place.number)).await;
    begun.store(Some(place), &key("a"), &saved("two")).await.expect("stored");
    assert_eq!(conditions(&again).await.len(), 1, "what came of the first one is still not known");
    drop(killed);
}

async fn the_outcome_of_who_was_overtaken_is_kept_with_the_intent(world: &World) {
    let (sleeper, other) = (world.encrypted_store().await, world.encrypted_store().await);
    let place = sleeper.add(&key("a"), &saved("one")).await.expect("kept");
    let mut slept = begin(&sleeper, OperationKind::Update, "a", Some(place.number)).await;
    world.let_leases_expire().await;
    let mut begun = begin(&other, OperationKind::Update, "a", Some(place.number)).await;
    let error = slept.store(Some(place), &key("a"), &saved("sleeper's")).await.expect_err("overtaken");
    assert!(matches!(error, EncryptedStoreError::Overtaken { done: "updated", .. }), "{error}");
    begun.store(Some(place), &key("a"), &saved("other's")).await.expect("stored");
    assert_eq!(results(&other, "a").await, ["other's"]);
    let open = other.journal().open_intents().await.expect("intents").intents;
    let [open] = &open[..] else { panic!("one intent, not {open:?}") };
    let Condition::Ended { text, object: Some(object) } = &open.condition else { panic!("{open:?}") };
    assert_eq!(result(object), "sleeper's");
    assert!(text.contains("another process has taken over"), "{text}");
}

async fn an_object_that_somebody_removed_meanwhile_is_kept_anew(world: &World) {
    let store = world.encrypted_store().await;
    let place = store.add(&key("a"), &saved("one")).await.expect("kept");
    let mut begun = begin(&store, OperationKind::Update, "a", Some(place.number)).await;
    world.encrypted_store().await.remove(place.number).await.expect("removed by hand");
    begun.store(Some(place), &key("a"), &saved("two")).await.expect("stored");
    assert_eq!(results(&store, "a").await, ["two"]);
}

async fn what_is_known_of_an_unknown_end_is_kept(world: &World) {
    let store = world.encrypted_store().await;
    let mut begun = begin(&store, OperationKind::Create, "", None).await;
    begun.leave_open("the provider crashed while it was creating").await.expect("noted");
    let open = store.journal().open_intents().await.expect("intents").intents;
    let [open] = &open[..] else { panic!("one intent, not {open:?}") };
    let Condition::Ended { text, object: None } = &open.condition else { panic!("{open:?}") };
    assert!(text.contains("the provider crashed"), "{text}");
}

async fn an_open_intent_is_dismissed_by_its_number(world: &World) {
    let store = world.encrypted_store().await;
    begin(&store, OperationKind::Create, "", None).await.leave_open("x").await.expect("noted");
    let number = store.journal().open_intents().await.expect("intents").intents;
    let number = number_of(&number[0]);
    assert!(!store.journal().dismiss(RecordNumber(number.0 + 1)).await.expect("an answer"));
    assert!(store.journal().dismiss(number).await.expect("an answer"));
    assert!(!store.journal().dismiss(number).await.expect("an answer"), "it is dismissed already");
    assert!(is_empty(&store.sealed.store, Kind::Intent).await);
}

async fn a_damaged_intent_does_not_hide_the_others_and_can_be_dismissed(world: &World) {
    let store = world.encrypted_store().await;
    let mut numbers = Vec::new();
    for id in ["a", "b", "c"] {
        let mut begun = begin(&store, OperationKind::Update, id, None).await;
        begun.leave_open("x").await.expect("noted");
        numbers.push(begun.number());
    }
    let damage = format!("UPDATE intents SET sealed = {} WHERE number = {}", world.bytes(b"x"), numbers[1].0);
    assert_eq!(world.sql(&damage).await, 1);
    let open = store.journal().open_intents().await.expect("what can be read");
    let readable: Vec<RecordNumber> = open.intents.iter().map(number_of).collect();
    assert_eq!(readable, [numbers[0], numbers[2]]);
    let [fault] = &open.faults[..] else { panic!("one fault, not {:?}", open.faults) };
    assert_eq!(fault.id, Some(OperationId::InStore(numbers[1])));
    assert!(store.journal().dismiss(numbers[1]).await.expect("dismissed"), "it was there");
    assert!(store.journal().open_intents().await.expect("intents").faults.is_empty());
}

async fn of_two_that_choose_one_key_in_the_same_moment_one_is_refused(world: &World) {
    let (ours, theirs) = (world.encrypted_store().await, world.encrypted_store().await);
    let seen = async |store: &EncryptedStore| {
        let found = store.find(&key("none")).await.expect("records").into_iter();
        found.map(|(place, _)| place).collect::<Vec<_>>()
    };
    for round in 0..20 {
        let known = (seen(&ours).await, seen(&theirs).await);
        let mut one = begin(&ours, OperationKind::Create, "", None).await;
        let mut other = begin(&theirs, OperationKind::Create, "", None).await;
        let (none, result) = (key("none"), saved("x"));
        let (first, second) = tokio::join!(
            one.store_unconfirmed(&none, &result, Some(&known.0)),
            other.store_unconfirmed(&none, &result, Some(&known.1)),
        );
        let (first, second) = (first.expect("an answer"), second.expect("an answer"));
        assert_eq!(usize::from(first.is_some()) + usize::from(second.is_some()), 1, "round {round}");
        let mut refused = if first.is_some() { other } else { one };
        assert_eq!(seen(&ours).await.len(), 2 * round + 1, "what was refused is not there");
        let known = seen(&ours).await;
        let again = refused.store_unconfirmed(&none, &result, Some(&known)).await.expect("an answer");
        again.expect("it knows of the other now").1.confirm().await.expect("answered");
    }
    // A record that has changed since it was read.
    let known = seen(&ours).await;
    ours.replace(known[0], &key("none"), &saved("changed")).await.expect("replaced");
    let mut begun = begin(&theirs, OperationKind::Create, "", None).await;
    let stored = begun.store_unconfirmed(&key("none"), &saved("x"), Some(&known)).await.expect("an answer");
    assert!(stored.is_none(), "the choice was made by what is not so any more");
    begun.store_unconfirmed(&key("none"), &saved("x"), None).await.expect("an answer").expect("stored");
}

async fn intents_of_a_resource_are_read_without_those_of_others(world: &World) {
    let store = world.encrypted_store().await;
    for id in ["a", "b", "a"] {
        let begun = store.journal().begin(intent(OperationKind::Update, id), None).await;
        begun.expect("begun").leave_open("x").await.expect("noted");
    }
    let numbers = |open: Vec<OpenIntent>| open.into_iter().map(|open| number_of(&open).0).collect::<Vec<_>>();
    let all = numbers(store.journal().open_intents().await.expect("intents").intents);
    let damage = format!("UPDATE intents SET sealed = {} WHERE number = {}", world.bytes(b"x"), all[1]);
    assert_eq!(world.sql(&damage).await, 1);
    let ours = store.journal().open_intents_of(&key("a")).await.expect("what is whole");
    assert_eq!(numbers(ours), [all[2], all[0]], "newest first");
    store.journal().open_intents_of(&key("b")).await.expect_err("it is damaged");
    assert!(store.journal().open_intents_of(&key("c")).await.expect("an answer").is_empty());
}
