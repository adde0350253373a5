//! Records of a stack: stored to the byte, replaced together, and encrypted.

use std::collections::BTreeMap;
use std::time::Duration;

use prost_types::Any;

use super::intents::kill_holders;
use super::over_each_store;
use super::world::{World, key, results, saved};
use crate::holder::Holder;
use crate::store::{Batch, Claim, Committed};
use crate::{EncryptedStore, EncryptedStoreError, KeySource};

over_each_store! {
    the_records_of_a_stack_are_returned_as_they_came,
    other_records_replace_all_of_them,
    of_two_first_imports_at_once_the_second_is_refused_until_the_first_has_ended,
    records_that_another_process_has_removed_meanwhile_are_not_replaced,
    a_damaged_record_is_reported_and_replaced,
    the_records_of_a_stack_are_not_listed_with_objects,
    a_rotation_encrypts_them_too,
    a_store_of_the_format_before_gets_their_table_and_keeps_its_objects,
}

fn records(all: &[(&str, &str)]) -> BTreeMap<String, Any> {
    let content =
        |text: &str| Any { type_url: "anything at all".to_owned(), value: text.as_bytes().to_vec() };
    all.iter().map(|(key, text)| ((*key).to_owned(), content(text))).collect()
}

async fn stored(store: &EncryptedStore) -> BTreeMap<String, Any> {
    let all = store.stack_records().all().await.expect("records");
    assert!(all.faults.is_empty(), "{:?}", all.faults);
    all.contents()
}

async fn replace(store: &EncryptedStore, new: &[(&str, &str)]) -> Result<(), EncryptedStoreError> {
    store.stack_records().replace(|_| Some(records(new))).await
}

async fn the_records_of_a_stack_are_returned_as_they_came(world: &World) {
    let given = [("CMPTcomponent.a[\"\0é\"]", "a"), ("OTPToutput.o", ""), ("keeP", "\u{ff}")];
    replace(&world.encrypted_store().await, &given).await.expect("stored");
    assert_eq!(stored(&world.encrypted_store().await).await, records(&given));
}

async fn other_records_replace_all_of_them(world: &World) {
    let store = world.encrypted_store().await;
    replace(&store, &[("CMPTcomponent.a", "a"), ("OTPToutput.o", "1"), ("VRBLvar.v", "2")])
        .await
        .expect("stored");
    let read = store.stack_records().all().await.expect("records").records;
    store.stack_records().replace(|_| None).await.expect("nothing to do");
    let second = [("CMPTcomponent.a", "a"), ("OTPToutput.o", "3"), ("OTPToutput.p", "4")];
    replace(&store, &second).await.expect("replaced");
    assert_eq!(stored(&store).await, records(&second));
    let now = store.stack_records().all().await.expect("records").records;
    assert_eq!(now[0].place, read[0].place, "what is the same is not written again");
    for _ in 0..2 {
        store.stack_records().remove(now[0].place.number).await.expect("removed, or removed already");
    }
    assert_eq!(stored(&store).await, records(&second[1..]));
}

async fn of_two_first_imports_at_once_the_second_is_refused_until_the_first_has_ended(world: &World) {
    let (ours, theirs) = (world.encrypted_store().await, world.encrypted_store().await);
    let claim = Claim {
        name: "stack records".to_owned(),
        holder: Holder::this().text(),
        time: Duration::from_secs(3600),
        over: None,
    };
    let first = Batch { claim: Some(claim), ..Batch::default() };
    let committed = ours.sealed.store.commit(first).await.expect("an answer");
    assert!(matches!(committed, Committed::Done { lease: Some(_), .. }), "{committed:?}");
    let second = [("OTPToutput.o", "theirs")];
    let error = replace(&theirs, &second).await.expect_err("the first has not ended");
    assert!(matches!(error, EncryptedStoreError::Busy { .. }), "{error}");
    assert_eq!(stored(&theirs).await, records(&[]));

    kill_holders(world).await;
    replace(&theirs, &second).await.expect("the first has ended");
    // Neither holds the lease any more.
    replace(&ours, &second).await.expect("the second has ended");
    assert_eq!(stored(&ours).await, records(&second));
}

async fn records_that_another_process_has_removed_meanwhile_are_not_replaced(world: &World) {
    let (store, other) = (world.encrypted_store().await, world.encrypted_store().await);
    replace(&store, &[("VRBLvar.v", "1"), ("VRBLvar.w", "1")]).await.expect("stored");
    let read = store.stack_records().all().await.expect("records").records;
    let runtime = tokio::runtime::Handle::current();
    let outcome = store
        .stack_records()
        .replace(|_| {
            let removal = async { other.stack_records().remove(read[0].place.number).await };
            tokio::task::block_in_place(|| runtime.block_on(removal)).expect("removed");
            Some(records(&[("VRBLvar.v", "2"), ("VRBLvar.w", "2")]))
        })
        .await;
    assert!(matches!(outcome, Err(EncryptedStoreError::Changed { .. })), "{outcome:?}");
    assert_eq!(stored(&store).await, records(&[("VRBLvar.w", "1")]));
    replace(&store, &[("VRBLvar.v", "3")]).await.expect("the refused replacement holds no lease");
}

async fn a_damaged_record_is_reported_and_replaced(world: &World) {
    let store = world.encrypted_store().await;
    replace(&store, &[("OTPToutput.o", "1"), ("VRBLvar.v", "1")]).await.expect("stored");
    let number = store.stack_records().all().await.expect("records").records[0].place.number;
    let (bytes, number_of) = (world.bytes(b"x"), number.0);
    let damage = format!("UPDATE stack_records SET sealed = {bytes} WHERE number = {number_of}");
    assert_eq!(world.sql(&damage).await, 1);
    let all = store.stack_records().all().await.expect("records");
    assert_eq!(all.contents(), records(&[("VRBLvar.v", "1")]));
    let [fault] = &all.faults[..] else { panic!("one fault: {:?}", all.faults) };
    assert_eq!(fault.number, Some(number));
    replace(&store, &[("OTPToutput.o", "2")]).await.expect("replaced");
    assert_eq!(stored(&store).await, records(&[("OTPToutput.o", "2")]));
}

async fn the_records_of_a_stack_are_not_listed_with_objects(world: &World) {
    let store = world.encrypted_store().await;
    replace(&store, &[("CMPTcomponent.a", "a")]).await.expect("stored");
    assert!(store.list(None).await.expect("objects").is_empty());
    assert!(store.journal().open_intents().await.expect("intents").intents.is_empty());
}

async fn a_rotation_encrypts_them_too(world: &World) {
    let key = |digit: &str| KeySource::Digits(isthmus_common::Secret::new(digit.repeat(64)));
    let open = |source| async move { EncryptedStore::over(world.store().await, &source).await };
    let store = open(key("a")).await.expect("a state store");
    let given = [("CMPTcomponent.a", "a"), ("VRBLvar.v", "1")];
    replace(&store, &given).await.expect("stored");
    assert_eq!(store.rotate(&key("b"), None).await.expect("rotated").records, 2);
    assert_eq!(stored(&open(key("b")).await.expect("the new key")).await, records(&given));
}

async fn a_store_of_the_format_before_gets_their_table_and_keeps_its_objects(world: &World) {
    let store = world.encrypted_store().await;
    store.add(&key("web"), &saved("a")).await.expect("added");
    drop(store);
    world.make_older().await;

    let (ours, theirs) = tokio::join!(world.encrypted_store(), world.encrypted_store());
    assert_eq!(results(&ours, "web").await, ["a"]);
    let given = [("CMPTcomponent.a", "a")];
    replace(&ours, &given).await.expect("stored");
    assert_eq!(stored(&theirs).await, records(&given));
    assert_eq!(stored(&world.encrypted_store().await).await, records(&given), "it is migrated once");
}
