//! Tombstones: expiry and removal.

use std::time::{Duration, SystemTime};

use super::intents::begin;
use super::over_each_store;
use super::world::{World, key, results, saved};
use crate::store::{Kind, RecordNumber};
use crate::tombstones::RETENTION;
use crate::{Deletion, EncryptedStore, EncryptedStoreError, OperationKind};

over_each_store! {
    a_deletion_replaces_the_record_by_a_tombstone_at_once,
    a_deletion_that_was_overtaken_leaves_no_tombstone,
    a_tombstone_expires_after_thirty_days_and_is_removed_by_a_later_one,
    a_repeated_deletion_has_one_tombstone,
    the_oldest_tombstones_of_a_key_are_removed_first,
    an_object_that_is_stored_removes_the_tombstones_that_it_supersedes,
    a_damaged_tombstone_counts_as_absent_and_is_removed,
    tombstones_are_not_listed_with_objects,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn deletion(properties: u8, at: SystemTime) -> Deletion {
    Deletion { properties: [properties; 32], inputs: Some([properties + 100; 32]), at }
}

/// The current time, to the stored millisecond.
fn now() -> SystemTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(since.as_millis()).expect("64 bits"))
}

async fn deletions(store: &EncryptedStore, id: &str, now: SystemTime) -> Vec<Deletion> {
    let found = store.tombstones().find(&key(id), now).await.expect("tombstones").into_iter();
    found.map(|tombstone| tombstone.deletion).collect()
}

async fn rows(store: &EncryptedStore) -> usize {
    let page = store.sealed.store.page(Kind::Tombstone, None, RecordNumber(0), 1000).await.expect("a page");
    assert!(page.damaged.is_empty() && page.fault.is_none(), "{page:?}");
    page.records.len()
}

async fn a_deletion_replaces_the_record_by_a_tombstone_at_once(world: &World) {
    let store = world.encrypted_store().await;
    let place = store.add(&key("web"), &saved("a")).await.expect("added");
    let mut begun = begin(&store, OperationKind::Delete, "web", Some(place.number)).await;
    assert_eq!(deletions(&store, "web", now()).await, []);
    let deleted = deletion(1, now());
    begun.remove(Some(place), &deleted).await.expect("removed");
    let other = world.encrypted_store().await;
    assert_eq!(results(&other, "web").await, Vec::<String>::new());
    assert_eq!(deletions(&other, "web", now()).await, [deleted]);
    assert_eq!(deletions(&other, "other", now()).await, []);
    assert!(other.journal().open_intents().await.expect("intents").intents.is_empty());
}

async fn a_deletion_that_was_overtaken_leaves_no_tombstone(world: &World) {
    let (ours, theirs) = (world.encrypted_store().await, world.encrypted_store().await);
    let place = ours.add(&key("web"), &saved("a")).await.expect("added");
    let mut begun = begin(&ours, OperationKind::Delete, "web", Some(place.number)).await;
    theirs.replace(place, &key("web"), &saved("b")).await.expect("replaced");
    let error = begun.remove(Some(place), &deletion(1, now())).await.expect_err("it was changed");
    assert!(matches!(error, EncryptedStoreError::Overtaken { .. }), "{error}");
    assert_eq!(results(&ours, "web").await, ["b"]);
    assert_eq!(deletions(&ours, "web", now()).await, []);
}

async fn a_tombstone_expires_after_thirty_days_and_is_removed_by_a_later_one(world: &World) {
    let begin = now();
    let store = world.encrypted_store().await;
    store.tombstones().add(&key("web"), &deletion(1, begin)).await.expect("written");
    assert_eq!(RETENTION, 30 * DAY);
    assert_eq!(deletions(&store, "web", begin + RETENTION).await, [deletion(1, begin)]);
    assert_eq!(deletions(&store, "web", begin + RETENTION + Duration::from_millis(1)).await, []);
    assert_eq!(deletions(&store, "web", begin - DAY).await, [deletion(1, begin)], "a clock was set back");
    assert_eq!(rows(&store).await, 1);

    // Another key, so that only the daily sweep finds it.
    store.tombstones().add(&key("other"), &deletion(2, begin + 20 * DAY)).await.expect("written");
    assert_eq!(rows(&store).await, 2);
    store.tombstones().add(&key("third"), &deletion(3, begin + 31 * DAY)).await.expect("written");
    assert_eq!(rows(&store).await, 2, "the first is removed");
    assert_eq!(deletions(&store, "other", begin + 31 * DAY).await, [deletion(2, begin + 20 * DAY)]);
}

async fn a_repeated_deletion_has_one_tombstone(world: &World) {
    let store = world.encrypted_store().await;
    let begin = now();
    store.tombstones().add(&key("web"), &deletion(1, begin)).await.expect("written");
    store.tombstones().add(&key("web"), &deletion(2, begin)).await.expect("written");
    store.tombstones().add(&key("web"), &deletion(1, begin + DAY)).await.expect("written");
    let found = deletions(&store, "web", begin + DAY).await;
    assert_eq!(found, [deletion(1, begin + DAY), deletion(2, begin)], "newest first");
}

async fn the_oldest_tombstones_of_a_key_are_removed_first(world: &World) {
    let store = world.encrypted_store().await;
    let begin = now();
    for number in 0..70 {
        store.tombstones().add(&key("none"), &deletion(number, begin)).await.expect("written");
    }
    let found = deletions(&store, "none", begin).await;
    assert_eq!(found.len(), 64);
    assert_eq!((&found[0], &found[63]), (&deletion(69, begin), &deletion(6, begin)));
}

async fn an_object_that_is_stored_removes_the_tombstones_that_it_supersedes(world: &World) {
    let store = world.encrypted_store().await;
    let start = now();
    let numbers = async |properties: u8| {
        let found = store.tombstones().find(&key("web"), start).await.expect("tombstones").into_iter();
        let same = found.filter(|tombstone| tombstone.deletion.properties == [properties; 32]);
        same.map(|tombstone| tombstone.number).collect::<Vec<_>>()
    };
    for properties in 1..=4 {
        store.tombstones().add(&key("web"), &deletion(properties, start)).await.expect("written");
    }
    let mut begun = begin(&store, OperationKind::Create, "", None).await;
    begun.supersede(numbers(1).await);
    let stored = begun.store_unconfirmed(&key("web"), &saved("a"), None).await.expect("stored");
    let (place, unconfirmed) = stored.expect("nothing else has the id");
    unconfirmed.confirm().await.expect("answered");
    assert_eq!(
        deletions(&store, "web", start).await,
        [deletion(4, start), deletion(3, start), deletion(2, start)]
    );

    let mut begun = begin(&store, OperationKind::Update, "web", Some(place.number)).await;
    begun.supersede(numbers(2).await);
    begun.store(Some(place), &key("web"), &saved("b")).await.expect("stored");
    store.tombstones().remove(&numbers(3).await).await.expect("removed");
    assert_eq!(deletions(&store, "web", start).await, [deletion(4, start)]);
    assert_eq!(results(&store, "web").await, ["b"]);
}

async fn a_damaged_tombstone_counts_as_absent_and_is_removed(world: &World) {
    let store = world.encrypted_store().await;
    store.tombstones().add(&key("web"), &deletion(1, now())).await.expect("written");
    assert_eq!(world.sql(&format!("UPDATE tombstones SET sealed = {}", world.bytes(b"x"))).await, 1);
    assert_eq!(deletions(&store, "web", now()).await, []);
    // By another process: this one has swept today.
    let other = world.encrypted_store().await;
    other.tombstones().add(&key("web"), &deletion(2, now())).await.expect("written");
    assert_eq!(rows(&other).await, 1, "the damaged one is removed");
    assert_eq!(deletions(&other, "web", now()).await.len(), 1);
}

async fn tombstones_are_not_listed_with_objects(world: &World) {
    let store = world.encrypted_store().await;
    store.tombstones().add(&key("web"), &deletion(1, now())).await.expect("written");
    assert!(store.list(None).await.expect("records").is_empty());
    assert!(store.find(&key("web")).await.expect("records").is_empty());
    assert!(store.journal().open_intents().await.expect("intents").intents.is_empty());
}
