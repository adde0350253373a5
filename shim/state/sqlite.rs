//! The store as a SQLite file, shared by processes of one user on one machine.
//!
//! Write-ahead logging lets several readers and a writer work at once; `synchronous=FULL` makes
//! each commit wait for the disk. SQLite blocks, so it has two threads: one for reads (`reader`),
//! and one for writes, which combines concurrent commits (`writer`).
//!
//! SQLite detects many faults of a file, but not all: a flipped byte may also hide a row. So there
//! are two copies of the index (`index`), and the structure is checked once before all records are
//! listed.

mod batch;
mod connection;
mod format;
mod index;
mod probe;
mod reader;
#[cfg(feature = "simulation")]
pub(crate) mod simulation;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use isthmus_common::blocking;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::checksum::{StoredRow, key_hash};
use super::store::{
    Batch, Committed, HeldLease, Kind, Page, Pending, RecordNumber, SealedRecord, Store, StoreError, StoreKey,
};
use batch::held;
use connection::{connect, is_corruption, opened, prepare_file};
pub use probe::probe_database;
use reader::{ReadConnection, Reader};
use writer::Writer;

#[derive(Debug)]
pub(super) struct SqliteStore {
    // Dropped first: its thread ends before the writer's.
    reader: Reader,
    writer: Writer,
    path: PathBuf,
}

impl SqliteStore {
    /// Opens the file, and creates it and its directory if they are missing.
    ///
    /// # Errors
    /// When the file cannot be created or used, or has a newer format.
    pub(super) async fn open(path: PathBuf) -> Result<Self, StoreError> {
        let connecting = path.clone();
        let [reader, writer] = blocking(move || connections(&connecting)).await?;
        // Not on the blocking thread: the writer, when it is dropped, waits for another one.
        let (reader, reading) = Reader::start(reader, path.clone())?;
        let writer = Writer::start(writer, path.clone(), reading)?;
        Ok(Self { reader, writer, path })
    }
}

impl Store for SqliteStore {
    fn find<'a>(&'a self, kind: Kind, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>> {
        let key = key.clone();
        self.reader.run(move |reader| find(reader, kind, &key))
    }

    fn page<'a>(
        &'a self,
        kind: Kind,
        package: Option<&'a str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Pending<'a, Page> {
        let package = package.map(str::to_owned);
        self.reader.run(move |reader| page(reader, kind, package.as_deref(), after, at_most))
    }

    fn commit(&self, batch: Batch) -> Pending<'_, Committed> {
        self.writer.commit(batch)
    }

    fn held<'a>(&'a self, name: &'a str) -> Pending<'a, Option<HeldLease>> {
        let name = name.to_owned();
        self.reader.run(move |reader| {
            held(&reader.connection, &name).map_err(|error| reader.failed("looking at a lease", error))
        })
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }
}

/// Connections for reading and for writing, to a file of the current format.
fn connections(path: &Path) -> Result<[Connection; 2], StoreError> {
    prepare_file(path)?;
    // Before any change of the file, its journal mode included.
    let owner = format::owner(&opened(path)?, path)?;
    let mut connection = connect(path)?;
    if owner != format::Owner::Ours {
        format::migrate(&mut connection, path)?;
    }
    Ok([connection, connect(path)?])
}

fn find(reader: &ReadConnection, kind: Kind, key: &StoreKey) -> Result<Vec<SealedRecord>, StoreError> {
    let read = || {
        // All reads see one snapshot.
        let moment = reader.connection.unchecked_transaction()?;
        let numbers = index::numbers(&moment, kind, &key_hash(key))?;
        let statement = format!("{} WHERE number = ?1", select(kind));
        let rows = numbers.into_iter().map(|number| rows(&moment, &statement, (number,)));
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let found = read().map_err(|error| reader.failed("reading a record", error))?;
    let damaged =
        || StoreError::Damaged { location: reader.path.display().to_string(), key: Box::new(key.clone()) };
    let judged = found.into_iter().map(|rows| {
        let row = rows.into_iter().next().ok_or_else(damaged)?;
        row.judged(kind).ok().filter(|record| record.key == *key).ok_or_else(damaged)
    });
    judged.collect()
}

fn page(
    reader: &mut ReadConnection,
    kind: Kind,
    package: Option<&str>,
    after: RecordNumber,
    at_most: u32,
) -> Result<Page, StoreError> {
    let at_most = i64::from(at_most.max(1));
    let mut page = Page::default();
    // A listing without hidden records would be wrong.
    if after.0 <= 0 {
        page.fault = reader.check(kind)?.err();
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
            let last = last_number(connection, kind).map_err(|_| reader.failed("listing records", error))?;
            let end = after.0.saturating_add(at_most).min(last);
            page.next = (end < last).then_some(RecordNumber(end));
            one_by_one(connection, kind, after.0 + 1..=end, &mut page)
        }
        Err(error) => return Err(reader.failed("listing records", error)),
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
