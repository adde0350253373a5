//! Files that earlier versions have made.

use super::*;
use crate::checksum::checksum;

#[tokio::test]
async fn a_store_of_format_1_is_taken_over_with_its_damage() {
    let folder = folder();
    let path = folder.path().join("state.sqlite");
    let old = Connection::open(&path).expect("a database");
    old.execute_batch(
        "CREATE TABLE objects (
            number INTEGER PRIMARY KEY AUTOINCREMENT, package TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
            sealed BLOB NOT NULL, checksum BLOB NOT NULL
         ) STRICT;
         CREATE INDEX objects_by_key ON objects (package, type, id, number);
         PRAGMA user_version = 1;",
    )
    .expect("the tables of format 1");
    let sum = |bytes: &[u8]| -> [u8; 32] {
        sha2::Digest::finalize(sha2::Digest::chain_update(<sha2::Sha256 as sha2::Digest>::new(), bytes))
            .into()
    };
    let insert = "INSERT INTO objects (package, type, id, sealed, checksum) VALUES ('random', 'random_pet', ?1, ?2, ?3)";
    old.execute(insert, ("a", b"one", sum(b"one"))).expect("a row");
    old.execute(insert, ("b", b"two", sum(b"other"))).expect("a damaged row");
    old.execute(insert, ("gone", b"x", sum(b"x"))).expect("a row");
    old.execute("DELETE FROM objects WHERE id = 'gone'", ()).expect("deleted");
    drop(old);

    let store = SqliteStore::open(path).await.expect("a store");
    let found = store.find(Kind::Object, &key("a")).await.expect("records");
    assert_eq!((found.len(), &found[0].bytes[..]), (1, &b"one"[..]));
    assert!(matches!(store.find(Kind::Object, &key("b")).await, Err(StoreError::Damaged { .. })));
    let Committed::Done { places, .. } = store.commit(add("c")).await.expect("added") else {
        panic!("refused")
    };
    assert_eq!(places[0].number, RecordNumber(4), "the number of what is gone is not used again");
}

#[tokio::test]
async fn a_vault_of_format_1_is_opened_with_its_key_and_no_other() {
    // Written by the version that had format 1: objects sealed with the user's key itself.
    let folder = folder();
    let path = folder.path().join("state.sqlite");
    drop(SqliteStore::open(path.clone()).await.expect("a store"));
    let digits = |digit: &str| KeySource::Digits(Secret::new(digit.repeat(64)));
    let users = crate::encryption::CipherKey::new([0xaa; 32]);
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path).await.expect("a store"));
    let plain = crate::suite::envelope("hunter2");
    let bytes = users.seal(Kind::Object, &key("a"), &plain);
    store.commit(Batch::of(Change::Add { kind: Kind::Object, key: key("a"), bytes })).await.expect("added");
    let error = Vault::over(Arc::clone(&store), &digits("b")).await.expect_err("the wrong key");
    assert!(error.to_string().contains("another key"), "{error}");
    let vault = Vault::over(store, &digits("a")).await.expect("a vault");
    assert_eq!(crate::suite::results(&vault, "a").await, ["hunter2"]);
    vault.rotate(&digits("c")).await.expect("rotated");
    let vault = Vault::open(folder.path(), None).await;
    vault.expect_err("no key file was ever made");
}

#[tokio::test]
async fn a_store_of_format_2_is_taken_over() {
    let folder = folder();
    let path = folder.path().join("state.sqlite");
    store_of_format_2(&path, &["a", "b", "a"]);
    let old = connect(&path).expect("a process of the version before");
    let store = SqliteStore::open(path.clone()).await.expect("a store");
    let found = |id: &'static str| {
        let store = store.clone();
        async move {
            let found = store.find(Kind::Object, &key(id)).await.expect("records");
            found.into_iter().map(|record| record.place.number.0).collect::<Vec<_>>()
        }
    };
    assert_eq!((found("a").await, found("b").await, found("c").await), (vec![3, 1], vec![2], vec![]));
    store.commit(add("b")).await.expect("added");
    assert_eq!(found("b").await, [4, 2]);
    let page = store.page(Kind::Object, None, RecordNumber(0), 10).await.expect("a page");
    assert_eq!((page.records.len(), page.damaged.len(), page.fault), (4, 0, None));
    let error = old.execute(INSERT_OF_FORMAT_2, (9, [0; 32], b"one")).expect_err("it would not be found");
    assert!(error.to_string().contains("key_hash"), "{error}");
}

#[tokio::test]
async fn a_store_of_format_3_gets_tombstones_and_keeps_everything_else() {
    let folder = folder();
    let path = folder.path().join("state.sqlite");
    let digits = KeySource::Digits(Secret::new("a".repeat(64)));
    let open = async || {
        let store = SqliteStore::open(path.clone()).await.expect("a store");
        Vault::over(Arc::new(store), &digits).await.expect("a vault")
    };
    let vault = open().await;
    vault.add(&key("a"), &crate::suite::saved("hunter2")).await.expect("kept");
    vault.keep_remnant(&key("r"), &[1; 32], "left".into()).await.expect("kept");
    drop(vault);
    let old = Connection::open(&path).expect("a database");
    old.execute_batch("DROP TABLE tombstones; DROP TABLE tombstones_by_key; PRAGMA user_version = 3;")
        .expect("the tables of format 3");
    drop(old);

    let vault = open().await;
    assert_eq!(crate::suite::results(&vault, "a").await, ["hunter2"]);
    assert_eq!(vault.remnant(&key("r"), &[1; 32]).await.expect("an answer"), Some("left".into()));
    let deletion = Deletion { properties: [1; 32], inputs: None, at: UNIX_EPOCH };
    vault.bury(&key("a"), &deletion).await.expect("written");
    assert_eq!(open().await.tombstones(&key("a"), UNIX_EPOCH).await.expect("tombstones").len(), 1);
}

#[tokio::test]
async fn what_was_hidden_in_a_store_of_format_2_is_not_taken_for_what_never_was() {
    let folder = folder();
    let path = folder.path().join("state.sqlite");
    store_of_format_2(&path, &["a", "b"]);
    let old = Connection::open(&path).expect("a database");
    old.execute_batch(
        "PRAGMA writable_schema = ON; CREATE TABLE other (key_hash BLOB, number INTEGER);
         CREATE INDEX empty ON other (key_hash, number);
         UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'empty')
         WHERE name = 'objects_by_key'; DELETE FROM sqlite_schema WHERE name IN ('other', 'empty');",
    )
    .expect("a damaged index");
    drop(old);
    let store = SqliteStore::open(path).await.expect("a store");
    let error = store.find(Kind::Object, &key("a")).await.expect_err("it is there");
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    let page = store.page(Kind::Object, None, RecordNumber(0), 10).await.expect("a page");
    assert!(page.fault.is_some() && page.records.len() == 2, "{page:?}");
}

const INSERT_OF_FORMAT_2: &str = "
    INSERT INTO objects (number, version, key_hash, package, type, id, sealed, checksum)
    VALUES (?1, 1, ?2, x'', x'', x'', ?3, x'')";

/// Makes a file as the version with format 2 made it, with an object for each of these ids.
fn store_of_format_2(path: &Path, ids: &[&str]) {
    let old = Connection::open(path).expect("a database");
    old.execute_batch(
        "CREATE TABLE leases (
            name TEXT PRIMARY KEY, fence INTEGER NOT NULL, holder TEXT NOT NULL, expires INTEGER NOT NULL
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE counter (last INTEGER NOT NULL, opposite INTEGER NOT NULL) STRICT;",
    )
    .expect("tables");
    for table in ["objects", "intents", "remnants", "keys"] {
        old.execute_batch(&format!(
            "CREATE TABLE {table} (
                number INTEGER PRIMARY KEY, version INTEGER NOT NULL, key_hash BLOB NOT NULL, package BLOB NOT NULL,
                type BLOB NOT NULL, id BLOB NOT NULL, sealed BLOB NOT NULL, checksum BLOB NOT NULL
             ) STRICT;
             CREATE INDEX {table}_by_key ON {table} (key_hash, number);"
        ))
        .expect("the tables of a kind");
    }
    for (number, id) in (1..).zip(ids) {
        let (key, place) = (key(id), Place { number: RecordNumber(number), version: 1 });
        let sum = checksum(Kind::Object, place, &key, b"one");
        old.execute(INSERT_OF_FORMAT_2, (number, key_hash(&key), b"one")).expect("a row");
        let columns = (number, key.package.as_bytes(), key.type_name.as_bytes(), key.id.as_bytes(), sum);
        old.execute(
            "UPDATE objects SET package = ?2, type = ?3, id = ?4, checksum = ?5 WHERE number = ?1",
            columns,
        )
        .expect("its columns");
    }
    let last = ids.len() as i64;
    old.execute("INSERT INTO counter VALUES (?1, -?1)", (last,)).expect("the counter");
    old.execute_batch("PRAGMA user_version = 2").expect("a version");
}
