//! Damaged rows.

use super::over_each_store;
use super::world::{World, add, bytes_of, commit, commit_one, key, result, results, saved};
use crate::EncryptedStoreError;
use crate::store::{Batch, Kind, RecordNumber, StoreError};

over_each_store! {
    whatever_is_changed_in_a_row_it_is_found_out,
    rows_that_have_changed_places_are_found_out,
    what_can_still_be_read_is_listed_with_what_cannot,
    a_store_with_one_damaged_key_row_can_be_read,
    a_store_whose_keys_are_all_damaged_says_so,
}

async fn whatever_is_changed_in_a_row_it_is_found_out(world: &World) {
    let store = world.store().await;
    let mut changes = vec!["version = version + 1".to_owned(), "number = number + 500".to_owned()];
    let columns: [(&str, &[u8]); 4] =
        [("package", b"random"), ("type", b"random_pet"), ("id", b"id 00"), ("sealed", b"sealed")];
    for (column, bytes) in columns {
        for position in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[position] ^= 1;
            changes.push(format!("{column} = {}", world.bytes(&damaged)));
        }
        changes.push(format!("{column} = {}", world.bytes(&bytes[1..])));
        changes.push(format!("{column} = {}", world.bytes(&[bytes, b"\xff"].concat())));
    }
    for checksum in [vec![0; 32], vec![]] {
        changes.push(format!("checksum = {}", world.bytes(&checksum)));
    }
    for (count, change) in changes.into_iter().enumerate() {
        world.sql("DELETE FROM objects").await;
        // A new id each time: deleted rows are missed as well.
        let id = format!("id {count:02}");
        let place = commit_one(&store, add(&id, b"sealed")).await.expect("a place");
        assert_eq!(bytes_of(&store, &id).await, [b"sealed"]);
        let statement = format!("UPDATE objects SET {change} WHERE number = {}", place.number.0);
        assert_eq!(world.sql(&statement).await, 1);
        let error = store.find(Kind::Object, &key(&id)).await.expect_err(&change);
        assert!(matches!(error, StoreError::Damaged { .. }), "{change}: {error}");
        assert!(error.to_string().contains(&format!("random_pet {id:?}")), "{change}: {error}");
        let page = store.page(Kind::Object, None, RecordNumber(0), 10).await.expect("a page");
        assert_eq!((page.records.len(), page.damaged.len()), (0, 1), "{change}: {page:?}");
    }
}

async fn rows_that_have_changed_places_are_found_out(world: &World) {
    let store = world.store().await;
    let changes = vec![add("a", b"one"), add("a", b"two")];
    let places = commit(&store, Batch { changes, ..Batch::default() }).await;
    let [first, second] = places[..] else { panic!("two places, not {places:?}") };
    for (from, to) in [(first.number.0, 1000), (second.number.0, first.number.0), (1000, second.number.0)] {
        world.sql(&format!("UPDATE objects SET number = {to} WHERE number = {from}")).await;
    }
    let error = store.find(Kind::Object, &key("a")).await.expect_err("a wrong place");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

async fn what_can_still_be_read_is_listed_with_what_cannot(world: &World) {
    let store = world.encrypted_store().await;
    for id in ["a", "b", "c"] {
        store.add(&key(id), &saved(id)).await.expect("kept");
    }
    let change =
        format!("UPDATE objects SET sealed = {} WHERE id = {}", world.bytes(b"x"), world.bytes(b"b"));
    assert_eq!(world.sql(&change).await, 1);
    let error = store.list(None).await.expect_err("a list with a hole");
    assert!(matches!(error, EncryptedStoreError::Incomplete { .. }), "{error}");
    assert!(error.to_string().contains("random_pet \"b\""), "{error}");
    let page = store.page(None, RecordNumber(0), 10).await.expect("what can be read");
    let readable: Vec<String> = page.records.iter().map(|(_, _, saved)| result(saved)).collect();
    assert_eq!(readable, ["a", "c"]);
    assert_eq!(page.faults.len(), 1, "{:?}", page.faults);
    assert_eq!(page.faults[0].key, Some(key("b")));
}

async fn a_store_with_one_damaged_key_row_can_be_read(world: &World) {
    world.encrypted_store().await.add(&key("a"), &saved("hunter2")).await.expect("kept");
    let change = format!(
        "UPDATE keys SET sealed = {} WHERE number = (SELECT min(number) FROM keys)",
        world.bytes(b"x")
    );
    assert_eq!(world.sql(&change).await, 1);
    let store = world.encrypted_store().await;
    assert_eq!(results(&store, "a").await, ["hunter2"]);
    store.add(&key("b"), &saved("hunter3")).await.expect("kept");
    assert_eq!(results(&world.encrypted_store().await, "b").await, ["hunter3"]);
}

async fn a_store_whose_keys_are_all_damaged_says_so(world: &World) {
    world.encrypted_store().await.add(&key("a"), &saved("hunter2")).await.expect("kept");
    world.sql(&format!("UPDATE keys SET sealed = {}", world.bytes(b"x"))).await;
    let error = crate::EncryptedStore::over(world.store().await, &world.own_key()).await.expect_err("no key");
    assert!(matches!(error, EncryptedStoreError::Store(StoreError::Damaged { .. })), "{error}");
}
