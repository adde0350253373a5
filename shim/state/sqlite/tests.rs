//! What is of SQLite alone: the file, its log, its structure.

mod damage;
mod formats;

use std::os::unix::fs::PermissionsExt as _;

use isthmus_common::Secret;

use super::*;
use crate::store::{Change, Place};
use crate::{Deletion, KeySource, Vault};

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
    let saved = crate::suite::saved("hunter2hunter2");
    vault.add(&key("none"), &saved).await.expect("kept");
    let words = KeySource::Passphrase(Secret::new("hunter2 as words".to_owned()));
    vault.rotate(&words).await.expect("rotated");
    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a file");
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", path.display());
    }
}
