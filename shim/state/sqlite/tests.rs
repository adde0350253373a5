//! What is of SQLite alone: the file, its log, its structure.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::state::store::Change;
use crate::state::{KeySource, Secret, Vault};

fn key(id: &str) -> StoreKey {
    StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: id.to_owned() }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn add(id: &str) -> Batch {
    Batch::of(Change::Add { kind: Kind::Object, key: key(id), bytes: b"one".to_vec() })
}

#[tokio::test]
async fn a_commit_waits_for_the_disk_and_readers_do_not_wait_for_writers() {
    let folder = folder();
    let connection = connect(&folder.path().join("state.sqlite")).expect("a connection");
    let pragma = |name: &str| {
        connection
            .query_row(&format!("PRAGMA {name}"), (), |row| row.get::<_, rusqlite::types::Value>(0))
            .expect("a value")
    };
    assert_eq!(pragma("journal_mode"), rusqlite::types::Value::Text("wal".to_owned()));
    assert_eq!(pragma("synchronous"), rusqlite::types::Value::Integer(2), "FULL");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named() {
    let folder = folder();
    let path = folder.path().join("state.sqlite");
    std::fs::write(&path, "no database, but long enough to be taken for something".repeat(40))
        .expect("written");
    let error = SqliteStore::open(path).await.expect_err("no database");
    assert!(error.to_string().contains("state.sqlite"), "{error}");
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn nobody_else_can_read_the_files() {
    let folder = folder();
    let home = folder.path().join("home");
    let store = SqliteStore::open(home.join("state.sqlite")).await.expect("a store");
    store.commit(add("a")).await.expect("added");
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o700);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&home).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path);
    }
    assert_eq!(names.len(), 3, "the database, its log and the log's index: {names:?}");
}

#[tokio::test]
async fn no_file_holds_a_secret_in_the_clear() {
    let folder = folder();
    let vault = Vault::open(folder.path(), None).await.expect("a vault");
    let saved = crate::state::suite::saved("hunter2hunter2");
    vault.add(&key("none"), &saved).await.expect("kept");
    let words = KeySource::Passphrase(Secret::new("hunter2 as words"));
    vault.rotate(&words).await.expect("rotated");
    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a file");
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", path.display());
    }
}

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
    let users = crate::state::encryption::CipherKey::new([0xaa; 32]);
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path).await.expect("a store"));
    let plain = crate::state::suite::envelope("hunter2");
    let bytes = users.seal(Kind::Object, &key("a"), &plain);
    store.commit(Batch::of(Change::Add { kind: Kind::Object, key: key("a"), bytes })).await.expect("added");
    let error = Vault::over(Arc::clone(&store), &digits("b")).await.expect_err("the wrong key");
    assert!(error.to_string().contains("another key"), "{error}");
    let vault = Vault::over(store, &digits("a")).await.expect("a vault");
    assert_eq!(crate::state::suite::results(&vault, "a").await, ["hunter2"]);
    vault.rotate(&digits("c")).await.expect("rotated");
    let vault = Vault::open(folder.path(), None).await;
    vault.expect_err("no key file was ever made");
}

/// A store of three records in a file of small pages, and the file's bytes.
async fn small_store(path: &Path) -> (Vec<SealedRecord>, Vec<u8>) {
    let store = SqliteStore::open(path.to_owned()).await.expect("a store");
    for id in ["a", "b", "c"] {
        let bytes = format!("the sealed bytes of {id}").repeat(4).into_bytes();
        store
            .commit(Batch::of(Change::Add { kind: Kind::Object, key: key(id), bytes }))
            .await
            .expect("added");
    }
    let records = store.page(Kind::Object, None, RecordNumber(0), 10).await.expect("a page").records;
    drop(store);
    // The last one that closes it brings everything into the file; threads of the runtime may take a moment to let go.
    let connection = Connection::open(path).expect("a database");
    connection.busy_timeout(PATIENCE).expect("patience");
    connection
        .execute_batch(
            "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM; PRAGMA journal_mode = WAL;",
        )
        .expect("small pages");
    drop(connection);
    assert_eq!(records.len(), 3);
    (records, std::fs::read(path).expect("the file"))
}

/// Looks for everything in a damaged file. Yields how many records could be read.
async fn look_at(path: &Path, bytes: &[u8], records: &[SealedRecord], what: &str) -> usize {
    for suffix in ["-wal", "-shm"] {
        std::fs::remove_file(path.with_file_name(format!("state.sqlite{suffix}"))).ok();
    }
    std::fs::write(path, bytes).expect("written");
    let Ok(store) = SqliteStore::open(path.to_owned()).await else { return 0 };
    for record in records {
        if let Ok(found) = store.find(Kind::Object, &record.key).await {
            assert_eq!(found, std::slice::from_ref(record), "{what}: a wrong answer to a search");
        }
    }
    let Ok(page) = store.page(Kind::Object, None, RecordNumber(0), 10).await else { return 0 };
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

/// Every position takes some minutes: `STORE_FLIPS=all cargo test -p isthmus-shim --lib flipped`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_byte_is_flipped_no_answer_is_wrong_and_what_is_whole_can_be_read() {
    let folder = folder();
    let path = folder.path().join("state.sqlite");
    let (records, whole) = small_store(&path).await;
    let step = if std::env::var_os("STORE_FLIPS").is_some_and(|value| value == "all") { 1 } else { 37 };
    let (mut looked_at, mut all_readable, mut none_readable) = (0, 0, 0);
    for position in (0..whole.len()).step_by(step) {
        for mask in [0x01, 0xff] {
            let mut bytes = whole.clone();
            bytes[position] ^= mask;
            let what = format!("byte {position} of {} flipped by {mask:#x}", whole.len());
            let readable = look_at(&path, &bytes, &records, &what).await;
            looked_at += 1;
            all_readable += usize::from(readable == records.len());
            none_readable += usize::from(readable == 0);
        }
    }
    // Most of a small file is empty or holds one record or another.
    assert!(
        none_readable * 4 < looked_at,
        "nothing could be read after {none_readable} of {looked_at} flips"
    );
    assert!(all_readable < looked_at, "no flip has met anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_a_file_is_cut_off_no_answer_is_wrong() {
    let folder = folder();
    let path = folder.path().join("state.sqlite");
    let (records, whole) = small_store(&path).await;
    // An empty file is a new store; that nothing is left of the old one, nobody can tell.
    for length in (1..whole.len()).step_by(whole.len() / 40) {
        let what = format!("cut to {length} of {} bytes", whole.len());
        look_at(&path, &whole[..length], &records, &what).await;
    }
}
