//! The store as a SQLite file, shared by every process of one user on one machine.
//!
//! Write-ahead logging lets readers and a writer of several processes pass each other; `synchronous=FULL` makes each
//! commit wait for the disk. SQLite blocks, so all of its work happens on the runtime's threads for that.
//!
//! The format's version is the file's `user_version`. Each record has a checksum beside it, which tells a damaged file
//! from a wrong key. The folder and the file belong to the user alone; SQLite gives its log and index files the mode of
//! the database.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Row, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use super::store::{Pending, RecordNumber, SealedRecord, Store, StoreError, StoreKey};

/// The version of the tables below.
const FORMAT: i64 = 1;

/// How long a process waits for another one's change. A change takes milliseconds, on a slow disk some hundred; who waits
/// longer than this stands before a process that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to let another process finish before the log is switched again.
const SWITCH_AGAIN: Duration = Duration::from_millis(5);

const TABLES: &str = "
    CREATE TABLE objects (
        number   INTEGER PRIMARY KEY AUTOINCREMENT,
        package  TEXT NOT NULL,
        type     TEXT NOT NULL,
        id       TEXT NOT NULL,
        sealed   BLOB NOT NULL,
        checksum BLOB NOT NULL
    ) STRICT;
    CREATE INDEX objects_by_key ON objects (package, type, id, number);
";

/// A SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    file: Arc<File>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl SqliteStore {
    /// Opens the file, and makes it and its folder where they are missing.
    ///
    /// # Errors
    /// When the file cannot be made or used, or is of a newer format.
    pub async fn open(path: PathBuf) -> Result<Self, StoreError> {
        let at = path.clone();
        tokio::task::spawn_blocking(move || open(path))
            .await
            .map_err(|_| StoreError::BrokenOff { path: at })?
            .map(|file| Self { file: Arc::new(file) })
    }

    fn run<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&File) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'a, T> {
        let file = Arc::clone(&self.file);
        let path = file.path.clone();
        // Started here and not at the first poll: a change that was begun is finished, even if nobody waits for it.
        let done = tokio::task::spawn_blocking(move || work(&file));
        Box::pin(async move { done.await.map_err(|_| StoreError::BrokenOff { path })? })
    }
}

impl Store for SqliteStore {
    fn find<'a>(&'a self, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>> {
        let key = key.clone();
        self.run(move |file| {
            file.records(
                "reading a record",
                "SELECT number, package, type, id, sealed, checksum FROM objects
                 WHERE package = ?1 AND type = ?2 AND id = ?3 ORDER BY number DESC",
                (key.package, key.type_name, key.id),
            )
        })
    }

    fn add<'a>(&'a self, key: &'a StoreKey, bytes: Vec<u8>) -> Pending<'a, RecordNumber> {
        let key = key.clone();
        self.run(move |file| {
            file.with("adding a record", |connection| {
                connection
                    .prepare_cached(
                        "INSERT INTO objects (package, type, id, sealed, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .insert((key.package, key.type_name, key.id, &bytes, checksum(&bytes)))
                    .map(RecordNumber)
            })
        })
    }

    fn replace(&self, number: RecordNumber, bytes: Vec<u8>) -> Pending<'_, bool> {
        self.run(move |file| {
            file.with("replacing a record", |connection| {
                connection
                    .prepare_cached("UPDATE objects SET sealed = ?2, checksum = ?3 WHERE number = ?1")?
                    .execute((number.0, &bytes, checksum(&bytes)))
                    .map(|changed| changed == 1)
            })
        })
    }

    fn remove(&self, number: RecordNumber) -> Pending<'_, bool> {
        self.run(move |file| {
            file.with("removing a record", |connection| {
                connection
                    .prepare_cached("DELETE FROM objects WHERE number = ?1")?
                    .execute((number.0,))
                    .map(|changed| changed == 1)
            })
        })
    }

    fn list<'a>(&'a self, package: Option<&'a str>) -> Pending<'a, Vec<SealedRecord>> {
        let package = package.map(str::to_owned);
        self.run(move |file| {
            file.records(
                "listing records",
                "SELECT number, package, type, id, sealed, checksum FROM objects
                 WHERE ?1 IS NULL OR package = ?1 ORDER BY package, type, id, number",
                (package,),
            )
        })
    }

    fn is_empty(&self) -> Pending<'_, bool> {
        self.run(|file| {
            file.with("looking for records", |connection| {
                connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM objects)", (), |row| row.get(0))
            })
        })
    }

    fn location(&self) -> String {
        self.file.path.display().to_string()
    }
}

impl File {
    fn with<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        // A thread that panicked has left no half-made change: SQLite rolls back what is not committed.
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(|error| StoreError::Database { path: self.path.clone(), doing, error })
    }

    fn records(
        &self,
        doing: &'static str,
        statement: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<SealedRecord>, StoreError> {
        let rows = self.with(doing, |connection| {
            connection
                .prepare_cached(statement)?
                .query_map(parameters, record)?
                .collect::<Result<Vec<_>, _>>()
        })?;
        rows.into_iter()
            .map(|(record, expected)| {
                if checksum(&record.bytes)[..] == expected[..] {
                    Ok(record)
                } else {
                    Err(StoreError::Damaged { path: self.path.clone(), key: Box::new(record.key) })
                }
            })
            .collect()
    }
}

fn open(path: PathBuf) -> Result<File, StoreError> {
    prepare_file(&path).map_err(|error| StoreError::Create { path: path.clone(), error })?;
    let failed = |doing| {
        let path = path.clone();
        move |error| StoreError::Database { path, doing, error }
    };
    let mut connection = Connection::open(&path).map_err(failed("opening it"))?;
    connection.busy_timeout(PATIENCE).map_err(failed("setting it up"))?;
    write_ahead(&connection).map_err(failed("switching to write-ahead logging"))?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed("setting it up"))?;
    let found = ensure_tables(&mut connection).map_err(failed("making its tables"))?;
    if found != FORMAT {
        return Err(StoreError::Format { path, found, known: FORMAT });
    }
    Ok(File { path, connection: Mutex::new(connection) })
}

/// Switches to write-ahead logging, which costs nothing where the file has it already. Where a file system cannot do it the
/// rollback journal stays, which is slower and as durable.
///
/// SQLite does not wait by itself here: two that read the file and both want to change its header would wait for each other
/// for ever, so it refuses one of them at once, which then has to begin anew.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", (), |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                std::thread::sleep(SWITCH_AGAIN);
            }
            switched => return switched,
        }
    }
}

/// Makes the tables in an empty file, and tells the format. Under a lock, as several processes may find it empty at once.
fn ensure_tables(connection: &mut Connection) -> rusqlite::Result<i64> {
    let format = |connection: &Connection| connection.query_row("PRAGMA user_version", (), |row| row.get(0));
    let found: i64 = format(connection)?;
    if found != 0 {
        return Ok(found);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = format(&transaction)?;
    if found != 0 {
        return Ok(found);
    }
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()?;
    Ok(FORMAT)
}

/// Makes the folder and the file for the user alone, and sees to it that their names are on the disk as well: SQLite takes
/// care of what is in the file, not of where the file is.
fn prepare_file(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::File::open(parent)?.sync_all()?;
        }
    }
    if !path.try_exists()? {
        OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn record(row: &Row<'_>) -> rusqlite::Result<(SealedRecord, Vec<u8>)> {
    let key = StoreKey { package: row.get(1)?, type_name: row.get(2)?, id: row.get(3)? };
    Ok((SealedRecord { number: RecordNumber(row.get(0)?), key, bytes: row.get(4)? }, row.get(5)?))
}

fn checksum(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn key(id: &str) -> StoreKey {
        StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: id.to_owned() }
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    async fn open_in(folder: &tempfile::TempDir) -> SqliteStore {
        SqliteStore::open(folder.path().join("home/state.sqlite")).await.expect("a store")
    }

    async fn bytes_of(store: &SqliteStore, id: &str) -> Vec<Vec<u8>> {
        let records = store.find(&key(id)).await.expect("records");
        records.into_iter().map(|record| record.bytes).collect()
    }

    #[tokio::test]
    async fn records_are_found_replaced_listed_and_removed() {
        let folder = folder();
        let store = open_in(&folder).await;
        assert!(store.is_empty().await.expect("an answer"));
        let first = store.add(&key("a"), b"one".to_vec()).await.expect("added");
        let second = store.add(&key("a"), b"two".to_vec()).await.expect("added");
        store.add(&key("b"), b"three".to_vec()).await.expect("added");
        assert_eq!(bytes_of(&store, "a").await, [b"two", b"one"], "newest first");
        assert!(store.replace(first, b"uno".to_vec()).await.expect("replaced"));
        assert!(store.remove(second).await.expect("removed"));
        assert!(!store.remove(second).await.expect("an answer"), "it is gone already");
        assert!(!store.replace(second, Vec::new()).await.expect("an answer"));
        assert_eq!(bytes_of(&store, "a").await, [b"uno"]);
        let listed = store.list(Some("random")).await.expect("records");
        assert_eq!(listed.iter().map(|record| record.key.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(store.list(Some("time")).await.expect("records"), []);
        assert_eq!(store.list(None).await.expect("records").len(), 2);
        assert!(!store.is_empty().await.expect("an answer"));
    }

    #[tokio::test]
    async fn a_record_is_there_for_who_opens_the_file_later() {
        let folder = folder();
        let added = open_in(&folder).await.add(&key("a"), b"one".to_vec()).await.expect("added");
        let again = open_in(&folder).await;
        assert_eq!(bytes_of(&again, "a").await, [b"one"]);
        again.remove(added).await.expect("removed");
        let newer = again.add(&key("a"), b"two".to_vec()).await.expect("added");
        assert_ne!(newer, added, "numbers are not used again");
    }

    #[tokio::test]
    async fn a_commit_waits_for_the_disk_and_readers_do_not_wait_for_writers() {
        let folder = folder();
        let store = open_in(&folder).await;
        let connection = store.file.connection.lock().expect("the connection");
        let pragma = |name: &str| {
            connection
                .query_row(&format!("PRAGMA {name}"), (), |row| row.get::<_, rusqlite::types::Value>(0))
                .expect("a value")
        };
        assert_eq!(pragma("journal_mode"), rusqlite::types::Value::Text("wal".to_owned()));
        assert_eq!(pragma("synchronous"), rusqlite::types::Value::Integer(2), "FULL");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn connections_that_open_and_write_at_once_all_get_through() {
        let folder = folder();
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..8 {
            let path = folder.path().join("state.sqlite");
            writers.spawn(async move {
                let store = SqliteStore::open(path).await.expect("a store");
                for number in 0..5 {
                    store.add(&key(&format!("{writer}-{number}")), vec![1]).await.expect("added");
                }
            });
        }
        writers.join_all().await;
        let store = SqliteStore::open(folder.path().join("state.sqlite")).await.expect("a store");
        assert_eq!(store.list(None).await.expect("records").len(), 40);
    }

    #[tokio::test]
    async fn a_damaged_record_is_named() {
        let folder = folder();
        let store = open_in(&folder).await;
        store.add(&key("a"), b"one".to_vec()).await.expect("added");
        store
            .file
            .with("damaging it", |connection| connection.execute("UPDATE objects SET sealed = x'00'", ()))
            .expect("damaged");
        let error = store.find(&key("a")).await.expect_err("a damaged record");
        let text = error.to_string();
        assert!(text.contains("random_pet \"a\"") && text.contains("state.sqlite"), "{text}");
        assert!(matches!(error, StoreError::Damaged { .. }), "{text}");
    }

    #[tokio::test]
    async fn a_file_that_is_no_database_is_named() {
        let folder = folder();
        let path = folder.path().join("state.sqlite");
        std::fs::write(&path, "no database, but long enough to be taken for something".repeat(40))
            .expect("written");
        let error = SqliteStore::open(path).await.expect_err("no database");
        assert!(error.to_string().contains("state.sqlite"), "{error}");
    }

    #[tokio::test]
    async fn a_file_of_a_newer_format_is_left_alone() {
        let folder = folder();
        let path = folder.path().join("state.sqlite");
        let newer = Connection::open(&path).expect("a database");
        newer.pragma_update(None, "user_version", 7).expect("written");
        drop(newer);
        let error = SqliteStore::open(path).await.expect_err("too new");
        assert!(error.to_string().contains("has format 7"), "{error}");
    }

    #[tokio::test]
    async fn nobody_else_can_read_the_files() {
        let folder = folder();
        let store = open_in(&folder).await;
        store.add(&key("a"), b"one".to_vec()).await.expect("added");
        let home = folder.path().join("home");
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
}
