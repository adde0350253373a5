//! Behaviour of SQLite only: the file, its log, its structure.

mod damage;

use std::path::Path;

use isthmus_common::Secret;

use super::writer::QUEUE;
use super::*;
use crate::rotation::Rotation;
use crate::store::{Change, RecordRef};
use crate::{EncryptedStore, KeySource};

fn key(id: &str) -> StoreKey {
    StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: id.to_owned() }
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn add(id: &str) -> Batch {
    Batch::of(Change::Add { kind: Kind::Object, key: key(id), bytes: b"one".to_vec() })
}

#[tokio::test]
async fn a_commit_waits_for_the_disk_and_readers_do_not_wait_for_writers() {
    let directory = directory();
    let connection = connect(&directory.path().join("state.sqlite")).expect("a connection");
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
    let directory = directory();
    let path = directory.path().join("state.sqlite");
    std::fs::write(&path, "no database, but long enough to be taken for something".repeat(40))
        .expect("written");
    let error = SqliteStore::open(path).await.expect_err("no database");
    assert!(error.to_string().contains("state.sqlite"), "{error}");
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

/// Neither contents nor journal mode change.
#[tokio::test]
async fn databases_of_other_programs_are_refused_and_stay_as_they_are() {
    let files = [
        "CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ada');",
        "CREATE TABLE counter (last INTEGER); PRAGMA user_version = 1;",
        "CREATE TABLE objects (number INTEGER); PRAGMA user_version = 4;",
        "PRAGMA user_version = 7;",
        "PRAGMA application_id = 7;",
        "PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE objects (number INTEGER);",
    ];
    for statements in files {
        let directory = directory();
        let path = directory.path().join("others.db");
        Connection::open(&path).and_then(|others| others.execute_batch(statements)).expect("a database");
        let before = std::fs::read(&path).expect("its bytes");
        let error = SqliteStore::open(path.clone()).await.expect_err("it is another program's");
        assert!(matches!(error, StoreError::Foreign { .. }), "{statements}: {error}");
        assert!(error.to_string().contains("others.db"), "{error}");
        assert!(std::fs::read(&path).expect("its bytes") == before, "{statements}: it was changed");
        assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 1, "{statements}");
    }
}

#[tokio::test]
async fn what_is_no_file_in_the_place_of_the_store_or_its_log_is_refused_and_not_waited_for() {
    let pipe = |path: &Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a FIFO");
    };
    type Put<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Put<'_>); 3] = [
        ("a FIFO", &pipe),
        ("a directory", &|path| std::fs::create_dir(path).expect("a directory")),
        ("a socket", &|path| drop(std::os::unix::net::UnixListener::bind(path).expect("a socket"))),
    ];
    for (kind, put) in cases {
        let directory = directory();
        let path = directory.path().join("state.sqlite");
        put(&path);
        let error = SqliteStore::open(path.clone()).await.expect_err(kind);
        assert!(matches!(error, StoreError::Open { .. }), "{kind}: {error}");
        let error = isthmus_common::error_chain(&error);
        let expected = format!(
            "the store {} cannot be opened: it is {kind}, not a regular file\nhelp: move away",
            path.display()
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    for ending in ["-wal", "-shm", "-journal"] {
        let directory = directory();
        pipe(&directory.path().join(format!("state.sqlite{ending}")));
        // SQLite may do without it; it must only not wait.
        SqliteStore::open(directory.path().join("state.sqlite")).await.ok();
    }
}

#[tokio::test]
async fn nothing_is_written_to_a_store_that_was_removed_or_replaced() {
    let directory = directory();
    let path = directory.path().join("state.sqlite");
    let store = SqliteStore::open(path.clone()).await.expect("a store");
    store.commit(add("a")).await.expect("added");
    std::fs::rename(&path, directory.path().join("elsewhere")).expect("moved");
    let error = store.commit(add("b")).await.expect_err("it is not there");
    assert!(matches!(error, StoreError::Removed { .. }), "{error}");
    std::fs::write(&path, "another").expect("written");
    let error = store.commit(add("b")).await.expect_err("it is another one");
    assert!(matches!(error, StoreError::Removed { .. }), "{error}");
}

/// A lock that blocks the writer.
fn locked(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("a database");
    connection.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    connection
}

#[tokio::test]
async fn dropping_a_store_waits_for_no_write_and_loses_none() {
    let directory = directory();
    let path = directory.path().join("state.sqlite");
    let store = SqliteStore::open(path.clone()).await.expect("a store");
    let lock = locked(&path);
    drop(store.commit(add("a")));
    drop(store);
    lock.execute_batch("COMMIT").expect("the end of the lock");
    let again = SqliteStore::open(path).await.expect("a store");
    while again.find(Kind::Object, &key("a")).await.expect("records").is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn callers_wait_for_room_in_a_full_queue() {
    let directory = directory();
    let path = directory.path().join("state.sqlite");
    let store = SqliteStore::open(path.clone()).await.expect("a store");
    let lock = locked(&path);
    let commits: Vec<_> = (0..2 * QUEUE).map(|number| store.commit(add(&number.to_string()))).collect();
    let queue = store.writer.queue.as_ref().expect("the queue of an open store");
    // The writer may have taken batches of one commit.
    assert!(queue.max_capacity() == QUEUE && queue.capacity() <= QUEUE / 4, "no more is handed over");
    lock.execute_batch("COMMIT").expect("the end of the lock");
    for commit in commits {
        assert!(matches!(commit.await.expect("committed"), Committed::Done { .. }));
    }
    let page = store.page(Kind::Object, None, RecordNumber(0), 10_000).await.expect("a page");
    assert_eq!(page.records.len(), 2 * QUEUE);
}

#[tokio::test]
async fn nobody_else_can_read_the_files() {
    let directory = directory();
    let home = directory.path().join("home");
    let store = SqliteStore::open(home.join("state.sqlite")).await.expect("a store");
    store.commit(add("a")).await.expect("added");
    let mode = |path: &Path| isthmus_platform::files::mode(&std::fs::metadata(path).expect("a file")) & 0o777;
    assert_eq!(mode(&home), 0o700);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&home).expect("a directory") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path);
    }
    assert_eq!(names.len(), 3, "the database, its log and the log's index: {names:?}");
}

#[tokio::test]
async fn no_file_holds_a_secret_in_the_clear() {
    let directory = directory();
    let encrypted_store = EncryptedStore::open(directory.path(), None).await.expect("a state store");
    let saved = crate::suite::saved("hunter2hunter2");
    encrypted_store.add(&key("none"), &saved).await.expect("kept");
    let words = KeySource::Passphrase(Secret::new("hunter2 as words".to_owned()));
    encrypted_store.rotate(&words, None).await.expect("rotated");
    for entry in std::fs::read_dir(directory.path()).expect("a directory") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a file");
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", path.display());
    }
}

/// The bytes of the rows of keys.
async fn rows_of_keys(store: &EncryptedStore) -> Vec<Vec<u8>> {
    let page = store.sealed.store.page(Kind::Key, None, RecordNumber(0), 100).await.expect("a page");
    page.records.into_iter().map(|record| record.bytes).collect()
}

#[tokio::test]
async fn after_a_rotation_no_file_holds_a_removed_row_of_a_key() {
    let directory = directory();
    let store = EncryptedStore::open(directory.path(), None).await.expect("a state store");
    for number in 0..20 {
        store.add(&key("none"), &crate::suite::saved(&number.to_string())).await.expect("kept");
    }
    let mut before = rows_of_keys(&store).await;
    let rotation = Rotation::begin(&store.sealed, None).await.expect("a lease");
    let next = KeySource::Digits(Secret::new("b".repeat(64)));
    let during = std::sync::Mutex::default();
    let publish = || async {
        *during.lock().expect("rows") = rows_of_keys(&store).await;
        Ok(())
    };
    rotation.to(&next, publish).await.expect("rotated");
    rotation.end().await;
    before.append(&mut during.lock().expect("rows"));
    let after = rows_of_keys(&store).await;
    let removed: Vec<_> = before.into_iter().filter(|row| !after.contains(row)).collect();
    assert!(removed.len() >= 6, "{}", removed.len());
    for entry in std::fs::read_dir(directory.path()).expect("a directory") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a file");
        let held = removed.iter().filter(|row| bytes.windows(row.len()).any(|window| window == **row));
        assert_eq!(held.count(), 0, "{}", path.display());
    }
}
