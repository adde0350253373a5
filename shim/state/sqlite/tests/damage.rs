//! Damaged files.

use super::*;

#[tokio::test]
async fn what_a_fault_hides_is_missed_whatever_is_done_around_it() {
    let ids: Vec<String> = (0..40).map(|number| format!("id {number}")).collect();
    let entry = "number = (SELECT max(number) FROM objects_by_key WHERE key_hash = HASH)";
    let hides = [
        ("objects", "id = CAST('id 7' AS BLOB)"),
        ("objects_by_key", "key_hash = HASH"),
        ("objects_by_key_again", "key_hash = HASH"),
        ("objects_by_key", entry),
        ("objects_by_key_again", entry),
    ];
    for (way, (table, hidden)) in hides.into_iter().enumerate() {
        let directory = directory();
        let path = directory.path().join("state.sqlite");
        let store = SqliteStore::open(path.clone()).await.expect("a store");
        for id in &ids {
            store.commit(add(id)).await.expect("added");
            store.commit(add(id)).await.expect("a second one of the same id");
        }
        let hidden = hidden.replace("HASH", &format!("x'{}'", hex::encode(key_hash(&key("id 7")))));
        let statement = format!("DELETE FROM {table} WHERE {hidden}");
        assert!(connect(&path).expect("a database").execute(&statement, ()).expect("hidden") > 0);
        let is_missed = || async {
            let error = store.find(Kind::Object, &key("id 7")).await.expect_err("a record is hidden");
            assert!(
                matches!(error, StoreError::Corrupt { .. } | StoreError::Damaged { .. }),
                "way {way}: {error}"
            );
            let other = SqliteStore::open(path.clone()).await.expect("a store");
            let page = other.page(Kind::Object, None, RecordNumber(0), 1000).await.expect("a page");
            assert!(page.fault.is_some(), "way {way}: a hole in a list that nobody tells of");
        };
        is_missed().await;
        // Other entries of the page are added and removed.
        let more: Vec<String> = (100..200).map(|number| format!("id {number}")).collect();
        let mut places = Vec::new();
        for id in &more {
            let Committed::Done { places: added, .. } = store.commit(add(id)).await.expect("added") else {
                panic!("refused")
            };
            places.extend(added);
        }
        is_missed().await;
        for RecordRef { number, .. } in places {
            let remove = Change::Remove { kind: Kind::Object, number, version: None };
            store.commit(Batch::of(remove)).await.expect("removed");
        }
        is_missed().await;
        let mut known = 0;
        for id in &ids {
            known +=
                usize::from(store.find(Kind::Object, &key(id)).await.is_ok_and(|found| found.len() == 2));
        }
        assert!(known >= ids.len() - 3, "way {way}: far from it, all is known: {known}");
    }
}

#[tokio::test]
async fn a_damaged_record_can_be_removed() {
    let directory = directory();
    let path = directory.path().join("state.sqlite");
    let store = SqliteStore::open(path.clone()).await.expect("a store");
    for id in ["a", "b", "c"] {
        store.commit(add(id)).await.expect("added");
    }
    let database = connect(&path).expect("a database");
    database
        .execute("UPDATE objects SET key_hash = x'00', sealed = x'00' WHERE id = CAST('b' AS BLOB)", ())
        .expect("damaged");
    store.find(Kind::Object, &key("b")).await.expect_err("damaged");
    let number = RecordNumber(2);
    store
        .commit(Batch::of(Change::Remove { kind: Kind::Object, number, version: None }))
        .await
        .expect("removed");
    assert_eq!(store.find(Kind::Object, &key("b")).await.expect("an answer"), []);
    let page = store.page(Kind::Object, None, RecordNumber(0), 10).await.expect("a page");
    assert_eq!((page.records.len(), page.damaged.len(), page.fault), (2, 0, None));
}

/// Ids of a small store: enough for several index pages, and two records of one id.
const IDS: [&str; 16] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "a"];

/// A store with some records in a file of small pages, and the file's bytes.
async fn small_store(path: &Path) -> (Vec<SealedRecord>, Vec<u8>) {
    let store = SqliteStore::open(path.to_owned()).await.expect("a store");
    for id in IDS {
        let bytes = format!("the sealed bytes of {id}").into_bytes();
        store
            .commit(Batch::of(Change::Add { kind: Kind::Object, key: key(id), bytes }))
            .await
            .expect("added");
    }
    let records = store.page(Kind::Object, None, RecordNumber(0), 100).await.expect("a page").records;
    drop(store);
    let connection = Connection::open(path).expect("a database");
    // The last connection writes the log into the file; the store's own connections close in their
    // own time.
    while connection.execute_batch("PRAGMA journal_mode = DELETE").is_err() {
        tokio::task::yield_now().await;
    }
    connection
        .execute_batch("PRAGMA page_size = 512; VACUUM; PRAGMA journal_mode = WAL;")
        .expect("small pages");
    drop(connection);
    assert_eq!(records.len(), IDS.len());
    (records, std::fs::read(path).expect("the file"))
}

/// Reads everything in a damaged store, and missing records. Returns the number of readable
/// records.
async fn look_at(bytes: &[u8], records: &[SealedRecord], what: &str) -> usize {
    let directory = directory();
    let path = directory.path().join("state.sqlite");
    std::fs::write(&path, bytes).expect("written");
    let Ok(store) = SqliteStore::open(path).await else { return 0 };
    for id in IDS.into_iter().chain(["none", "other", "p"]) {
        if let Ok(found) = store.find(Kind::Object, &key(id)).await {
            let expected = records.iter().rev().filter(|record| record.key.id == id).cloned();
            assert_eq!(found, expected.collect::<Vec<_>>(), "{what}: a wrong answer to a search for {id}");
        }
    }
    let Ok(page) = store.page(Kind::Object, None, RecordNumber(0), 100).await else { return 0 };
    for found in &page.records {
        assert!(records.contains(found), "{what}: a wrong record in a list: {found:?}");
    }
    if page.records.len() < records.len() {
        assert!(
            page.fault.is_some() || !page.damaged.is_empty(),
            "{what}: a hole in a list that nobody tells of"
        );
    }
    page.records.len()
}

/// All positions take some minutes: `STORE_FLIPS=all cargo test -p isthmus-state --lib flipped`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_flipped_byte_causes_a_wrong_result_or_hides_intact_records() {
    let directory = directory();
    let path = directory.path().join("state.sqlite");
    let (records, whole) = small_store(&path).await;
    let step = if std::env::var_os("STORE_FLIPS").is_some_and(|value| value == "all") { 1 } else { 37 };
    let (mut looked_at, mut all_readable, mut none_readable) = (0, 0, 0);
    for position in (0..whole.len()).step_by(step) {
        for mask in [0x01, 0xff] {
            let mut bytes = whole.clone();
            bytes[position] ^= mask;
            let what = format!("byte {position} of {} flipped by {mask:#x}", whole.len());
            let readable = look_at(&bytes, &records, &what).await;
            looked_at += 1;
            all_readable += usize::from(readable == records.len());
            none_readable += usize::from(readable == 0);
        }
    }
    // Most of a small file is empty or belongs to one record.
    assert!(
        none_readable * 4 < looked_at,
        "nothing could be read after {none_readable} of {looked_at} flips"
    );
    assert!(all_readable < looked_at, "no flip has met anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_truncation_causes_a_wrong_result() {
    let directory = directory();
    let path = directory.path().join("state.sqlite");
    let (records, whole) = small_store(&path).await;
    // An empty file is a new store: the loss of the old one cannot be detected.
    for length in (1..whole.len()).step_by(whole.len() / 40) {
        let what = format!("cut to {length} of {} bytes", whole.len());
        look_at(&whole[..length], &records, &what).await;
    }
}
