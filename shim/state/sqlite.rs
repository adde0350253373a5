//! The store as a SQLite file, shared by processes of one user on one machine.
//!
//! Write-ahead logging lets several readers and a writer work at once; `synchronous=FULL` makes
//! each commit wait for the disk. SQLite blocks, so reads run on the runtime's blocking threads,
//! and writes on their own thread, which combines concurrent commits (`writer`).
//!
//! SQLite detects many faults of a file, but not all: a flipped byte may also hide a row. So there
//! are two copies of the index (`index`), and the structure is checked once before all records are
//! listed.

mod batch;
mod connection;
mod format;
mod index;
mod writer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_common::blocking;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::checksum::{StoredRow, key_hash};
use super::store::{
    Batch, Committed, HeldLease, Kind, Page, Pending, RecordNumber, SealedRecord, Store, StoreError, StoreKey,
};
use batch::held;
use connection::{connect, failed, is_corruption, opened, prepare_file};
use writer::Writer;

#[derive(Debug)]
pub(super) struct SqliteStore {
    file: Arc<File>,
    writer: Writer,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    reader: Mutex<Reader>,
}

#[derive(Debug)]
struct Reader {
    connection: Connection,
    /// Result of the structure check, if done.
    verdict: Option<Result<(), String>>,
}

impl SqliteStore {
    /// Opens the file, and creates it and its directory if they are missing.
    ///
    /// # Errors
    /// When the file cannot be created or used, or has a newer format.
    pub(super) async fn open(path: PathBuf) -> Result<Self, StoreError> {
        blocking(move || open(path)).await
    }

    fn run<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&File, &mut Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'a, T> {
        let file = Arc::clone(&self.file);
        Box::pin(blocking(move || {
            let mut reader = file.reader.lock().unwrap_or_else(PoisonError::into_inner);
            work(&file, &mut reader)
        }))
    }
}

impl Store for SqliteStore {
    fn find<'a>(&'a self, kind: Kind, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>> {
        let key = key.clone();
        self.run(move |file, reader| find(file, &reader.connection, kind, &key))
    }

    fn page<'a>(
        &'a self,
        kind: Kind,
        package: Option<&'a str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Pending<'a, Page> {
        let package = package.map(str::to_owned);
        self.run(move |file, reader| page(file, reader, kind, package.as_deref(), after, at_most))
    }

    fn commit(&self, batch: Batch) -> Pending<'_, Committed> {
        self.writer.commit(batch)
    }

    fn held<'a>(&'a self, name: &'a str) -> Pending<'a, Option<HeldLease>> {
        let name = name.to_owned();
        self.run(move |file, reader| {
            held(&reader.connection, &name).map_err(|error| file.failed("looking at a lease", error))
        })
    }

    fn location(&self) -> String {
        self.file.path.display().to_string()
    }
}

impl File {
    fn failed(&self, doing: &'static str, error: rusqlite::Error) -> StoreError {
        failed(&self.path, doing, Arc::new(error))
    }
}

impl Reader {
    /// Checks that all records of a kind can be found. The check of the structure, slow in large
    /// files, is done once.
    fn check(&mut self, file: &File, kind: Kind) -> Result<Result<(), String>, StoreError> {
        if let (Kind::Object, Some(verdict)) = (kind, &self.verdict) {
            return Ok(verdict.clone());
        }
        let check = || {
            let moment = self.connection.unchecked_transaction()?;
            let index = index::check(&moment, kind)?;
            Ok(if kind == Kind::Object { index.and(structure(&moment)?) } else { index })
        };
        let verdict = match check() {
            Ok(verdict) => verdict,
            Err(error) if is_corruption(&error) => Err(error.to_string()),
            Err(error) => return Err(file.failed("checking its structure", error)),
        };
        if kind == Kind::Object {
            self.verdict = Some(verdict.clone());
        }
        Ok(verdict)
    }
}

/// SQLite's check of the file's structure.
fn structure(connection: &Connection) -> rusqlite::Result<Result<(), String>> {
    let found = connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get::<_, String>(0));
    match found {
        Ok(found) if found == "ok" => Ok(Ok(())),
        Ok(found) => Ok(Err(found)),
        Err(error) if is_corruption(&error) => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}

fn open(path: PathBuf) -> Result<SqliteStore, StoreError> {
    prepare_file(&path)?;
    // Before any change of the file, its journal mode included.
    let owner = format::owner(&opened(&path)?, &path)?;
    let mut connection = connect(&path)?;
    if owner != format::Owner::Ours {
        format::migrate(&mut connection, &path)?;
    }
    let file = File { path, reader: Mutex::new(Reader { connection, verdict: None }) };
    let writer = Writer::start(connect(&file.path)?, file.path.clone())?;
    Ok(SqliteStore { file: Arc::new(file), writer })
}

fn find(
    file: &File,
    connection: &Connection,
    kind: Kind,
    key: &StoreKey,
) -> Result<Vec<SealedRecord>, StoreError> {
    let read = || {
        // All reads see one snapshot.
        let moment = connection.unchecked_transaction()?;
        let numbers = index::numbers(&moment, kind, &key_hash(key))?;
        let statement = format!("{} WHERE number = ?1", select(kind));
        let rows = numbers.into_iter().map(|number| rows(&moment, &statement, (number,)));
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let found = read().map_err(|error| file.failed("reading a record", error))?;
    let damaged =
        || StoreError::Damaged { location: file.path.display().to_string(), key: Box::new(key.clone()) };
    let judged = found.into_iter().map(|rows| {
        let row = rows.into_iter().next().ok_or_else(damaged)?;
        row.judged(kind).ok().filter(|record| record.key == *key).ok_or_else(damaged)
    });
    judged.collect()
}

fn page(
    file: &File,
    reader: &mut Reader,
    kind: Kind,
    package: Option<&str>,
    after: RecordNumber,
    at_most: u32,
) -> Result<Page, StoreError> {
    let at_most = i64::from(at_most.max(1));
    let mut page = Page::default();
    // A listing without hidden records would be wrong.
    if after.0 <= 0 {
        page.fault = reader.check(file, kind)?.err();
    }
    let statement = format!(
        "{} WHERE number > ?1 AND (?2 IS NULL OR package = ?2) ORDER BY number LIMIT ?3",
        select(kind)
    );
    let connection = &reader.connection;
    let found = match rows(connection, &statement, (after.0, package.map(str::as_bytes), at_most)) {
        Ok(found) => {
            if i64::try_from(found.len()) == Ok(at_most) {
                page.next = found.last().map(|row| RecordNumber(row.number));
            }
            found
        }
        Err(error) if is_corruption(&error) => {
            page.fault = Some(error.to_string());
            let last = last_number(connection, kind).map_err(|_| file.failed("listing records", error))?;
            let end = after.0.saturating_add(at_most).min(last);
            page.next = (end < last).then_some(RecordNumber(end));
            one_by_one(connection, kind, after.0 + 1..=end, &mut page)
        }
        Err(error) => return Err(file.failed("listing records", error)),
    };
    page.sort(found, kind, package);
    Ok(page)
}

/// Reads records by their numbers, where a scan meets a damaged part.
fn one_by_one(
    connection: &Connection,
    kind: Kind,
    numbers: std::ops::RangeInclusive<i64>,
    page: &mut Page,
) -> Vec<StoredRow> {
    let statement = format!("{} WHERE number = ?1", select(kind));
    let mut found = Vec::new();
    for number in numbers {
        match rows(connection, &statement, (number,)) {
            Ok(rows) => found.extend(rows),
            Err(_) => page.damaged.push((RecordNumber(number), None)),
        }
    }
    found
}

fn last_number(connection: &Connection, kind: Kind) -> rusqlite::Result<i64> {
    let counter = connection.query_row("SELECT last FROM counter", (), |row| row.get(0));
    let statement = format!("SELECT max(number) FROM {}", kind.table());
    counter.or_else(|_| connection.query_row(&statement, (), |row| row.get(0)))
}

fn select(kind: Kind) -> String {
    let table = kind.table();
    format!("SELECT number, version, package, type, id, sealed, checksum FROM {table}")
}

/// Reads a row without verifying it.
fn stored_row(row: &Row<'_>) -> rusqlite::Result<StoredRow> {
    let bytes = |index| {
        Ok::<_, rusqlite::Error>(match row.get_ref(index)? {
            ValueRef::Blob(bytes) => Some(bytes.to_vec()),
            _ => None,
        })
    };
    Ok(StoredRow {
        number: row.get(0)?,
        version: row.get(1).ok(),
        columns: [bytes(2)?, bytes(3)?, bytes(4)?, bytes(5)?, bytes(6)?],
    })
}

fn rows(
    connection: &Connection,
    statement: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<StoredRow>> {
    connection.prepare_cached(statement)?.query_map(parameters, stored_row)?.collect()
}
