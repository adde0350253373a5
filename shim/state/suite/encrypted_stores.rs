//! Objects in a store, with all kinds of keys.

use std::sync::Arc;

use isthmus_common::Secret;

use super::over_each_store;
use super::world::{World, key, results, saved};
use crate::{EncryptedStore, EncryptedStoreError, KeyError, KeySource};

over_each_store! {
    everything_that_was_kept_comes_back,
    what_was_changed_by_another_process_is_not_written_over,
    objects_of_one_id_are_kept_apart,
    a_wrong_key_is_told_at_once_and_never_as_damage,
    a_passphrase_opens_what_it_has_closed,
    a_lost_key_is_not_replaced_by_a_new_one,
    several_that_make_the_first_key_at_once_read_each_other,
    several_that_begin_with_a_passphrase_at_once_read_each_other,
}

async fn everything_that_was_kept_comes_back(world: &World) {
    let first = world.encrypted_store().await;
    first.add(&key("none"), &saved("hunter2")).await.expect("kept");
    let again = world.encrypted_store().await;
    let found = again.find(&key("none")).await.expect("records");
    let [(place, found)] = &found[..] else { panic!("one record, not {found:?}") };
    assert_eq!(format!("{found:?}"), format!("{:?}", saved("hunter2")));
    assert_eq!(again.list(Some("random")).await.expect("records")[0].1, key("none"));
    again.remove(place.number).await.expect("forgotten");
    again.remove(place.number).await.expect("forgotten already");
    assert!(first.find(&key("none")).await.expect("records").is_empty());
    let anew = first.replace(*place, &key("none"), &saved("hunter3")).await.expect("kept anew");
    assert_ne!(anew.number, place.number);
    assert_eq!(results(&again, "none").await, ["hunter3"]);
}

async fn what_was_changed_by_another_process_is_not_written_over(world: &World) {
    let (ours, theirs) = (world.encrypted_store().await, world.encrypted_store().await);
    let read = ours.add(&key("a"), &saved("one")).await.expect("kept");
    let changed = theirs.replace(read, &key("a"), &saved("two")).await.expect("changed");
    let error = ours.replace(read, &key("a"), &saved("three")).await.expect_err("it was changed");
    assert!(matches!(error, EncryptedStoreError::Changed { .. }), "{error}");
    assert_eq!(results(&ours, "a").await, ["two"]);
    ours.replace(changed, &key("a"), &saved("three")).await.expect("changed");
    assert_eq!(results(&theirs, "a").await, ["three"]);
}

async fn objects_of_one_id_are_kept_apart(world: &World) {
    let store = world.encrypted_store().await;
    let first = store.add(&key("none"), &saved("one")).await.expect("kept");
    store.add(&key("none"), &saved("two")).await.expect("kept");
    assert_eq!(results(&store, "none").await, ["two", "one"]);
    store.replace(first, &key("none"), &saved("uno")).await.expect("changed");
    assert_eq!(results(&store, "none").await, ["two", "uno"]);
    store.remove(first.number).await.expect("forgotten");
    assert_eq!(results(&store, "none").await, ["two"]);
}

async fn a_wrong_key_is_told_at_once_and_never_as_damage(world: &World) {
    let digits = |digit: &str| KeySource::Digits(Secret::new(digit.repeat(64)));
    let ours = EncryptedStore::over(world.store().await, &digits("a")).await.expect("a state store");
    // Without any record.
    let sources = [digits("b"), KeySource::Passphrase(Secret::new("words".to_owned()))];
    for wrong in &sources {
        let error = EncryptedStore::over(world.store().await, wrong).await.expect_err("the wrong key");
        assert!(matches!(error, EncryptedStoreError::Key(KeyError::WrongKey { .. })), "{error}");
        assert!(error.to_string().contains("ISTHMUS_KEY_FILE"), "{error}");
    }
    ours.add(&key("a"), &saved("hunter2")).await.expect("kept");
    let again = EncryptedStore::over(world.store().await, &digits("a")).await.expect("a state store");
    assert_eq!(results(&again, "a").await, ["hunter2"]);
}

async fn a_passphrase_opens_what_it_has_closed(world: &World) {
    let passphrase = |words: &str| KeySource::Passphrase(Secret::new(words.to_owned()));
    let store =
        EncryptedStore::over(world.store().await, &passphrase("correct horse")).await.expect("a state store");
    store.add(&key("a"), &saved("hunter2")).await.expect("kept");
    let again =
        EncryptedStore::over(world.store().await, &passphrase("correct horse")).await.expect("a state store");
    assert_eq!(results(&again, "a").await, ["hunter2"]);
    let error = EncryptedStore::over(world.store().await, &passphrase("correct house"))
        .await
        .expect_err("other words");
    assert!(matches!(error, EncryptedStoreError::Key(KeyError::WrongKey { .. })), "{error}");
    assert!(!error.to_string().contains("house"), "{error}");
}

async fn a_lost_key_is_not_replaced_by_a_new_one(world: &World) {
    world.encrypted_store().await.add(&key("a"), &saved("hunter2")).await.expect("kept");
    let file = world.directory().join("state.key");
    std::fs::remove_file(&file).expect("removed");
    let error = EncryptedStore::over(world.store().await, &world.own_key()).await.expect_err("no key");
    assert!(matches!(error, EncryptedStoreError::Key(KeyError::Missing { .. })), "{error}");
    assert!(error.to_string().contains("state.key"), "{error}");
    assert!(!file.exists());
}

async fn several_that_make_the_first_key_at_once_read_each_other(world: &World) {
    several_at_once_read_each_other(world, world.own_key()).await;
}

async fn several_that_begin_with_a_passphrase_at_once_read_each_other(world: &World) {
    several_at_once_read_each_other(world, KeySource::Passphrase(Secret::new("words".to_owned()))).await;
}

async fn several_at_once_read_each_other(world: &World, source: KeySource) {
    let mut openings = tokio::task::JoinSet::new();
    for number in 0..6 {
        let (store, source) = (world.store().await, source.clone());
        openings.spawn(async move {
            let store = EncryptedStore::over(Arc::clone(&store), &source).await.expect("a state store");
            store.add(&key("a"), &saved(&number.to_string())).await.expect("kept");
            store
        });
    }
    let stores = openings.join_all().await;
    for store in stores {
        let mut found = results(&store, "a").await;
        found.sort();
        assert_eq!(found, ["0", "1", "2", "3", "4", "5"]);
    }
}
