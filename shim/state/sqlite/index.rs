//! The index by key: finds all records of a key.
//!
//! SQLite does not detect every fault of a file: a damaged index page may hide an entry, and a
//! search then returns nothing. So the entries are in two tables, which share no page: a search
//! reads both, and a difference is an error. That takes two reads in a store of any size; a check
//! of the whole file takes seconds. Changes are the same in both, so they never hide a difference.

use rusqlite::Connection;

use crate::store::{Kind, RecordNumber};

/// Error when the copies differ.
const HIDDEN: &str = "the two copies of the index differ, so that records may be missing";

/// Tables of a kind's index.
fn copies(kind: Kind) -> [String; 2] {
    ["by_key", "by_key_again"].map(|copy| format!("{}_{copy}", kind.table()))
}

pub(super) fn create(connection: &Connection, kind: Kind) -> rusqlite::Result<()> {
    copies(kind).iter().try_for_each(|copy| {
        connection.execute_batch(&format!(
            "CREATE TABLE {copy} (
                key_hash BLOB NOT NULL,
                number   INTEGER NOT NULL,
                PRIMARY KEY (key_hash, number)
            ) STRICT, WITHOUT ROWID"
        ))
    })
}

/// The numbers of a key's records, newest first. Requires a transaction.
///
/// # Errors
/// When an entry may be hidden.
pub(super) fn numbers(
    connection: &Connection,
    kind: Kind,
    key_hash: &[u8; 32],
) -> rusqlite::Result<Vec<i64>> {
    let [one, other] = copies(kind).map(|copy| {
        connection
            .prepare_cached(&format!("SELECT number FROM {copy} WHERE key_hash = ?1 ORDER BY number DESC"))?
            .query_map((key_hash,), |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<i64>>>()
    });
    let numbers = one?;
    if numbers != other? {
        let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        return Err(rusqlite::Error::SqliteFailure(corrupt, Some(HIDDEN.to_owned())));
    }
    Ok(numbers)
}

/// Adds a new record.
pub(super) fn add(
    connection: &Connection,
    kind: Kind,
    key_hash: &[u8; 32],
    number: RecordNumber,
) -> rusqlite::Result<()> {
    copies(kind).iter().try_for_each(|copy| {
        connection
            .prepare_cached(&format!("INSERT INTO {copy} VALUES (?1, ?2)"))?
            .execute((key_hash, number.0))
            .map(drop)
    })
}

/// Removes a record. `key_hash` is the row's, which may be damaged; then the entry is searched for.
pub(super) fn remove(
    connection: &Connection,
    kind: Kind,
    key_hash: &[u8],
    number: RecordNumber,
) -> rusqlite::Result<()> {
    copies(kind).iter().try_for_each(|copy| {
        let removed = connection
            .prepare_cached(&format!("DELETE FROM {copy} WHERE key_hash = ?1 AND number = ?2"))?
            .execute((key_hash, number.0))?;
        if removed == 0 {
            connection.execute(&format!("DELETE FROM {copy} WHERE number = ?1"), (number.0,))?;
        }
        Ok(())
    })
}

/// Whether the records have the same numbers as the entries of each copy. Requires a transaction.
pub(super) fn check(connection: &Connection, kind: Kind) -> rusqlite::Result<Result<(), String>> {
    // Numbers begin with 1. A damaged number may be very large.
    let count = |table: &str| {
        let statement =
            format!("SELECT count(*), coalesce(sum(number & 0xffffffff), 0) FROM {table} WHERE number > 0");
        connection.query_row(&statement, (), |row| Ok::<(i64, i64), _>((row.get(0)?, row.get(1)?)))
    };
    let records = count(kind.table())?;
    let [one, other] = copies(kind);
    let entries = [count(&one)?, count(&other)?];
    if entries == [records; 2] {
        return Ok(Ok(()));
    }
    let [(one, _), (other, _)] = entries;
    Ok(Err(format!("{} records do not match the {one} and {other} entries of their index", records.0)))
}
