//! Rotation of keys, interrupted at any point.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use isthmus_common::Secret;

use super::over_each_store;
use super::world::{World, key, results, saved};
use crate::encryption::{KeyId, key_of};
use crate::holder::{Holder, LEASE};
use crate::keyring;
use crate::rotation::Rotation;
use crate::store::{
    Batch, Committed, HeldLease, Kind, Page, Pending, RecordNumber, SealedRecord, Store, StoreError, StoreKey,
};
use crate::{Deletion, EncryptedStore, EncryptedStoreError, Intent, KeyError, KeySource, OperationKind};

over_each_store! {
    after_a_rotation_only_the_new_key_opens_the_store,
    a_rotation_that_is_cut_short_anywhere_can_be_done_again,
    of_two_rotations_at_once_one_is_refused,
    a_rotation_that_has_lost_its_lease_removes_no_key,
    who_writes_during_a_rotation_loses_nothing,
    a_passphrase_takes_the_place_of_a_key_file_and_gets_another_one,
    the_own_key_file_is_replaced,
    who_runs_while_the_own_key_file_is_replaced_loads_the_new_one,
    a_record_that_cannot_be_read_stops_a_rotation,
}

fn digits(digit: &str) -> KeySource {
    KeySource::Digits(Secret::new(digit.repeat(64)))
}

async fn open(world: &World, source: &KeySource) -> Result<EncryptedStore, EncryptedStoreError> {
    EncryptedStore::over(world.store().await, source).await
}

fn intent(intention: OperationKind) -> Intent {
    Intent {
        intention,
        key: key("a"),
        subject: "urn".to_owned(),
        prior: None,
        companion: bytes::Bytes::new(),
    }
}

fn is_wrong_key<T: std::fmt::Debug>(outcome: &Result<T, EncryptedStoreError>) -> bool {
    matches!(outcome, Err(EncryptedStoreError::Key(KeyError::WrongKey { .. })))
}

async fn after_a_rotation_only_the_new_key_opens_the_store(world: &World) {
    let old = open(world, &digits("a")).await.expect("a state store");
    for id in ["a", "b", "c"] {
        old.add(&key(id), &saved(id)).await.expect("kept");
    }
    old.failed_delete_states().keep(&key("r"), &[1; 32], "left".into()).await.expect("kept");
    let deletion = Deletion { properties: [2; 32], inputs: None, at: std::time::UNIX_EPOCH };
    old.tombstones().add(&key("t"), &deletion).await.expect("kept");
    let begun = old.journal().begin(intent(OperationKind::Delete), None).await.expect("begun");
    let other = open(world, &digits("a")).await.expect("another process");
    let rotated = old.rotate(&digits("b"), None).await.expect("rotated");
    assert_eq!(rotated.records, 6);
    assert!(is_wrong_key(&open(world, &digits("a")).await));
    let new = open(world, &digits("b")).await.expect("the new key");
    for id in ["a", "b", "c"] {
        assert_eq!(results(&new, id).await, [id]);
    }
    assert_eq!(
        new.failed_delete_states().find(&key("r"), &[1; 32]).await.expect("an answer"),
        Some("left".into())
    );
    let tombstones = new.tombstones().find(&key("t"), std::time::UNIX_EPOCH).await.expect("tombstones");
    assert_eq!(tombstones.iter().map(|tombstone| &tombstone.deletion).collect::<Vec<_>>(), [&deletion]);
    assert_eq!(new.journal().open_intents().await.expect("intents").intents.len(), 1);
    // A process with the old key gets an error, and writes nothing unreadable.
    assert!(is_wrong_key(&other.add(&key("d"), &saved("d")).await));
    assert!(is_wrong_key(&other.find(&key("a")).await));
    drop(begun);
}

/// The ids of the keys that encrypt the objects.
async fn record_keys(world: &World) -> HashSet<KeyId> {
    let page = world.store().await.page(Kind::Object, None, RecordNumber(0), 100).await.expect("a page");
    page.records.iter().map(|record| key_of(&record.bytes).expect("a key")).collect()
}

/// A store that fails after a number of commits, as if the process had been killed.
#[derive(Debug)]
struct Breaking {
    store: Arc<dyn Store>,
    commits_left: AtomicUsize,
}

impl Store for Breaking {
    fn find<'a>(&'a self, kind: Kind, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>> {
        self.store.find(kind, key)
    }
    fn page<'a>(
        &'a self,
        kind: Kind,
        package: Option<&'a str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Pending<'a, Page> {
        self.store.page(kind, package, after, at_most)
    }
    fn commit(&self, mut batch: Batch) -> Pending<'_, Committed> {
        if let Some(claim) = &mut batch.claim {
            claim.holder = Holder::ended().text();
        }
        let left =
            self.commits_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if left.is_err() {
            return Box::pin(async { Err(StoreError::Interrupted { location: "killed".to_owned() }) });
        }
        self.store.commit(batch)
    }
    fn held<'a>(&'a self, name: &'a str) -> Pending<'a, Option<HeldLease>> {
        self.store.held(name)
    }
    fn location(&self) -> String {
        self.store.location()
    }
}

async fn a_rotation_that_is_cut_short_anywhere_can_be_done_again(world: &World) {
    let store = open(world, &digits("0")).await.expect("a state store");
    for id in ["a", "b", "c"] {
        store.add(&key(id), &saved(id)).await.expect("kept");
    }
    drop(store);
    let mut source = digits("0");
    // Until the rotation needs no more commits; each is done again with the old key, and with the new.
    for attempt in 0.. {
        let (commits, is_again_with_old) = (attempt / 2, attempt % 2 == 0);
        let next = KeySource::Digits(Secret::new(format!("{:064x}", attempt + 1)));
        let before = record_keys(world).await;
        let store = world.store().await;
        let breaking = Breaking { store, commits_left: AtomicUsize::new(commits) };
        let breaking = EncryptedStore::over(Arc::new(breaking), &source).await.expect("a state store");
        let is_done = breaking.rotate(&next, None).await.is_ok();
        if !is_done {
            // The old key still reads everything.
            let old = open(world, &source).await.expect("the old key");
            for id in ["a", "b", "c"] {
                assert_eq!(results(&old, id).await, [id], "after {commits} commits");
            }
            // And the new one, once there is a row of it.
            if let Ok(new) = open(world, &next).await {
                for id in ["a", "b", "c"] {
                    assert_eq!(results(&new, id).await, [id], "after {commits} commits");
                }
                let again = if is_again_with_old { &old } else { &new };
                again.rotate(&next, None).await.expect("done again with either key");
            } else {
                assert!(commits <= 1, "the commit after the lease brings the new key");
                old.rotate(&next, None).await.expect("done again with the old key");
            }
        }
        let new = open(world, &next).await.expect("the new key");
        for id in ["a", "b", "c"] {
            assert_eq!(results(&new, id).await, [id]);
        }
        assert!(is_wrong_key(&open(world, &source).await), "after {commits} commits");
        let after = record_keys(world).await;
        assert!(after.is_disjoint(&before), "the old key still encrypts records, after {commits} commits");
        source = next;
        if is_done {
            assert!(commits >= 3, "{commits}");
            break;
        }
    }
}

async fn of_two_rotations_at_once_one_is_refused(world: &World) {
    let (one, other) = (open(world, &digits("a")).await, open(world, &digits("a")).await);
    let (one, other) = (one.expect("a state store"), other.expect("another process"));
    for number in 0..20 {
        one.add(&key("a"), &saved(&number.to_string())).await.expect("kept");
    }
    let (to_b, to_c) = (digits("b"), digits("c"));
    let (first, second) = tokio::join!(one.rotate(&to_b, None), other.rotate(&to_c, None));
    let (done, refused, next) = if first.is_ok() { (first, second, to_b) } else { (second, first, to_c) };
    done.expect("one of them");
    let is_in_progress = matches!(refused, Err(EncryptedStoreError::KeyRotationInProgress { .. }));
    assert!(is_in_progress || is_wrong_key(&refused), "{refused:?}");
    let new = open(world, &next).await.expect("the new key");
    assert_eq!(results(&new, "a").await.len(), 20);
    new.rotate(&digits("d"), None).await.expect("the lease is released");
}

async fn a_rotation_that_has_lost_its_lease_removes_no_key(world: &World) {
    let store = open(world, &digits("a")).await.expect("a state store");
    store.add(&key("a"), &saved("hunter2")).await.expect("kept");
    let other = world.store().await;
    let rotation = Rotation::begin(&store.sealed, None).await.expect("a lease");
    let next = digits("b");
    let taken_over = || async {
        world.let_leases_expire().await;
        assert!(keyring::lease(&*other, LEASE).await.expect("an answer").is_some(), "it has expired");
        Ok(())
    };
    let rotated = rotation.to(&next, taken_over).await;
    assert!(matches!(rotated, Err(EncryptedStoreError::KeyRotationInProgress { .. })), "{rotated:?}");
    rotation.end().await;
    for source in [digits("a"), next] {
        let store = open(world, &source).await.expect("both keys");
        assert_eq!(results(&store, "a").await, ["hunter2"]);
        let refused = store.rotate(&digits("c"), None).await;
        assert!(matches!(refused, Err(EncryptedStoreError::KeyRotationInProgress { .. })), "{refused:?}");
    }
}

async fn who_writes_during_a_rotation_loses_nothing(world: &World) {
    let old = open(world, &digits("a")).await.expect("a state store");
    for number in 0..40 {
        old.add(&key("before"), &saved(&number.to_string())).await.expect("kept");
    }
    let writer = open(world, &digits("a")).await.expect("another process");
    let writing = tokio::spawn(async move {
        let mut kept = Vec::new();
        for number in 0..200 {
            let result = number.to_string();
            match writer.add(&key("during"), &saved(&result)).await {
                Ok(_) => kept.push(result),
                Err(error) => {
                    assert!(matches!(error, EncryptedStoreError::Key(KeyError::WrongKey { .. })), "{error}");
                    break;
                }
            }
        }
        kept
    });
    old.rotate(&digits("b"), None).await.expect("rotated");
    let mut kept = writing.await.expect("written");
    let new = open(world, &digits("b")).await.expect("the new key");
    assert_eq!(results(&new, "before").await.len(), 40);
    kept.reverse();
    assert_eq!(results(&new, "during").await, kept, "what was kept can be read");
}

async fn a_passphrase_takes_the_place_of_a_key_file_and_gets_another_one(world: &World) {
    let passphrase = |words: &str| KeySource::Passphrase(Secret::new(words.to_owned()));
    let store = world.encrypted_store().await;
    store.add(&key("a"), &saved("hunter2")).await.expect("kept");
    store.rotate(&passphrase("one"), None).await.expect("rotated");
    assert!(is_wrong_key(&open(world, &world.own_key()).await));
    let store = open(world, &passphrase("one")).await.expect("a state store");
    store.rotate(&passphrase("two"), None).await.expect("rotated");
    assert!(is_wrong_key(&open(world, &passphrase("one")).await));
    let store = open(world, &passphrase("two")).await.expect("a state store");
    assert_eq!(results(&store, "a").await, ["hunter2"]);
    // The same passphrase, with another record key and salt.
    store.rotate(&passphrase("two"), None).await.expect("rotated");
    let store = open(world, &passphrase("two")).await.expect("a state store");
    assert_eq!(results(&store, "a").await, ["hunter2"]);
}

async fn the_own_key_file_is_replaced(world: &World) {
    let store = world.encrypted_store().await;
    store.add(&key("a"), &saved("hunter2")).await.expect("kept");
    let file = world.directory().join("state.key");
    let before = std::fs::read(&file).expect("a key");
    // An invalid key does not replace the old one.
    let next = world.directory().join("state.key.new");
    std::fs::write(&next, "of a user").expect("written");
    store.rotate_own_key(world.directory()).await.expect_err("no key");
    assert_eq!(std::fs::read(&next).expect("a file"), b"of a user");
    std::fs::rename(&next, world.directory().join("other")).expect("moved");
    isthmus_platform::files::symlink(&file, &next).expect("a link");
    store.rotate_own_key(world.directory()).await.expect_err("a link");
    std::fs::remove_file(&next).expect("a link");
    assert_eq!(std::fs::read(&file).expect("a key"), before);
    store.rotate_own_key(world.directory()).await.expect("rotated");
    assert_ne!(std::fs::read(&file).expect("a key"), before);
    assert_eq!(results(&world.encrypted_store().await, "a").await, ["hunter2"]);
    let old = world.directory().join("old");
    std::fs::write(&old, before).expect("written");
    assert!(is_wrong_key(&open(world, &KeySource::File(old)).await));
    let names = std::fs::read_dir(world.directory()).expect("a directory").filter_map(Result::ok);
    let keys = names.filter(|entry| entry.file_name().to_string_lossy().contains("key")).count();
    assert_eq!(keys, 1, "no other key is left behind");
}

async fn who_runs_while_the_own_key_file_is_replaced_loads_the_new_one(world: &World) {
    let (rotating, running) = (world.encrypted_store().await, world.encrypted_store().await);
    rotating.add(&key("a"), &saved("hunter2")).await.expect("kept");
    let mut begun = running.journal().begin(intent(OperationKind::Create), None).await.expect("begun");
    rotating.rotate_own_key(world.directory()).await.expect("rotated");
    begun.store(None, &key("b"), &saved("hunter3")).await.expect("its outcome");
    for store in [running, world.encrypted_store().await] {
        assert_eq!(results(&store, "a").await, ["hunter2"]);
        assert_eq!(results(&store, "b").await, ["hunter3"]);
    }
}

async fn a_record_that_cannot_be_read_stops_a_rotation(world: &World) {
    let store = open(world, &digits("a")).await.expect("a state store");
    store.add(&key("a"), &saved("hunter2")).await.expect("kept");
    store.add(&key("b"), &saved("hunter3")).await.expect("kept");
    world
        .sql(&format!("UPDATE objects SET sealed = {} WHERE id = {}", world.bytes(b"x"), world.bytes(b"a")))
        .await;
    let error = store.rotate(&digits("b"), None).await.expect_err("a damaged record");
    assert!(matches!(error, EncryptedStoreError::Incomplete { .. }), "{error}");
    let old = open(world, &digits("a")).await.expect("the old key still serves");
    assert_eq!(results(&old, "b").await, ["hunter3"]);
}
