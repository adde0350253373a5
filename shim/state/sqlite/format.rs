//! The tables, and how those of older versions become them.
//!
//! The format's version is the file's `user_version`. Format 1 had objects alone, with a checksum of their bytes only.
//! Format 2 had indexes of SQLite's where there is the order of keys now (`order`). Format 3 had no tombstones.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use sha2::{Digest as _, Sha256};

use super::super::checksum::{checksum, key_hash};
use super::super::store::{Kind, Place, RecordNumber, StoreError, StoreKey};
use super::{failed, order, structure};

/// The version of the tables below.
pub(super) const FORMAT: i64 = 4;

/// What is no checksum of anything.
const NO_CHECKSUM: [u8; 32] = [0; 32];

/// Ids and the other parts of keys are bytes, because what SQLite calls text ends at a zero character for some of its
/// functions. The counter stands there twice, once as its own opposite: a number that is given out again could be taken
/// for what had it before.
const TABLES: &str = "
    CREATE TABLE leases (
        name    TEXT PRIMARY KEY,
        fence   INTEGER NOT NULL,
        holder  TEXT NOT NULL,
        expires INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE counter (last INTEGER NOT NULL, opposite INTEGER NOT NULL) STRICT;
    INSERT INTO counter VALUES (0, 0);
";

/// The kinds of records that there have been since format 2.
const KINDS_OF_FORMAT_2: [Kind; 4] = [Kind::Object, Kind::Intent, Kind::Remnant, Kind::Key];

fn table_of(kind: Kind) -> String {
    let table = kind.table();
    format!(
        "CREATE TABLE {table} (
            number   INTEGER PRIMARY KEY,
            version  INTEGER NOT NULL,
            hash     BLOB NOT NULL,
            package  BLOB NOT NULL,
            type     BLOB NOT NULL,
            id       BLOB NOT NULL,
            sealed   BLOB NOT NULL,
            checksum BLOB NOT NULL
        ) STRICT;"
    )
}

/// Makes the tables in an empty file, and brings older ones up to date. Under a lock, as several processes may do so at
/// once.
pub(super) fn ensure(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| failed(path, "making its tables", Arc::new(error));
    let mut found = version(connection).map_err(failed)?;
    if found < FORMAT {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        found = version(&transaction).map_err(failed)?;
        if (0..FORMAT).contains(&found) {
            bring_up(&transaction, found).map_err(failed)?;
            transaction.commit().map_err(failed)?;
            found = FORMAT;
        }
    }
    if found == FORMAT {
        return Ok(());
    }
    Err(StoreError::Format { location: path.display().to_string(), found, known: FORMAT })
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", (), |row| row.get(0))
}

fn bring_up(transaction: &Transaction<'_>, found: i64) -> rusqlite::Result<()> {
    // What is hidden now must not be taken for what was never there. The order of keys shows that by itself.
    let is_whole = matches!(found, 0 | 3) || structure(transaction)?.is_ok();
    match found {
        1 => {
            // Fails where the table has the columns of a later format, whatever the version says of it.
            transaction.execute_batch(
                "ALTER TABLE objects ADD COLUMN hash BLOB; DROP INDEX objects_by_key; ALTER TABLE objects RENAME TO objects_1;",
            )?;
        }
        2 => {
            for table in KINDS_OF_FORMAT_2.map(Kind::table) {
                // The other name keeps a process of the version before, which may still run, from adding what is not in
                // the order of keys.
                transaction.execute_batch(&format!(
                    "ALTER TABLE {table} RENAME COLUMN key_hash TO hash; DROP INDEX {table}_by_key;"
                ))?;
            }
        }
        _ => {}
    }
    if found < 2 {
        transaction.execute_batch(TABLES)?;
        for kind in KINDS_OF_FORMAT_2 {
            transaction.execute_batch(&table_of(kind))?;
        }
    }
    if found == 1 {
        take_over(transaction)?;
    }
    if found < 3 {
        for kind in KINDS_OF_FORMAT_2 {
            order::create(transaction, kind, is_whole)?;
            if is_whole {
                order::fill(transaction, kind)?;
            }
        }
    }
    transaction.execute_batch(&table_of(Kind::Tombstone))?;
    order::create(transaction, Kind::Tombstone, true)?;
    transaction.pragma_update(None, "user_version", FORMAT)
}

/// Copies the objects of format 1. One that was damaged stays so.
fn take_over(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut old = transaction.prepare("SELECT number, package, type, id, sealed, checksum FROM objects_1")?;
    let mut new = transaction.prepare(
        "INSERT INTO objects (number, version, hash, package, type, id, sealed, checksum)
         VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut rows = old.query(())?;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let key = StoreKey { package: row.get(1)?, type_name: row.get(2)?, id: row.get(3)? };
        let (sealed, expected): (Vec<u8>, Vec<u8>) = (row.get(4)?, row.get(5)?);
        let place = Place { number: RecordNumber(number), version: 1 };
        let sum = if Sha256::digest(&sealed)[..] == expected[..] {
            checksum(Kind::Object, place, &key, &sealed)
        } else {
            NO_CHECKSUM
        };
        let hash = key_hash(&key);
        new.execute((
            number,
            hash,
            key.package.as_bytes(),
            key.type_name.as_bytes(),
            key.id.as_bytes(),
            sealed,
            sum,
        ))?;
    }
    drop(rows);
    drop(old);
    // The numbers that were given out, those of objects that are gone too.
    transaction.execute_batch(
        "UPDATE counter SET last = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'objects_1'), 0);
         UPDATE counter SET opposite = -last;
         DROP TABLE objects_1;",
    )
}
