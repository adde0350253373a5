//! The tables, and whose file it is.
//!
//! A file is ours by its `application_id`, and its format's version is its `user_version`. Both are looked at before anything
//! is changed, as well as that a new file is empty: a database of another program stays exactly as it is.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};

use super::connection::failed;
use super::index;
use crate::store::{Kind, StoreError};

/// The version of the tables below.
pub(super) const FORMAT: i64 = 2;

/// What SQLite has for telling the files of programs apart: "isth" in ASCII.
pub(super) const APPLICATION: i64 = 0x6973_7468;

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

fn table_of(kind: Kind) -> String {
    let table = kind.table();
    format!(
        "CREATE TABLE {table} (
            number   INTEGER PRIMARY KEY,
            version  INTEGER NOT NULL,
            key_hash BLOB NOT NULL,
            package  BLOB NOT NULL,
            type     BLOB NOT NULL,
            id       BLOB NOT NULL,
            sealed   BLOB NOT NULL,
            checksum BLOB NOT NULL
        ) STRICT;"
    )
}

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Nobody's: there is nothing in it.
    Nobody,
    /// A state store of this format.
    Ours,
}

/// Finds out whose file it is. Nothing is changed.
///
/// # Errors
/// When it is another program's, or a state store of another format.
pub(super) fn owner(connection: &Connection, path: &Path) -> Result<Owner, StoreError> {
    let number = |statement| connection.query_row(statement, (), |row| row.get::<_, i64>(0));
    let failed = |error| failed(path, "reading its header", Arc::new(error));
    let application = number("PRAGMA application_id").map_err(failed)?;
    let found = number("PRAGMA user_version").map_err(failed)?;
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(failed)?;
    let location = || path.display().to_string();
    match (application, found, tables) {
        (APPLICATION, FORMAT, _) => Ok(Owner::Ours),
        (APPLICATION, _, _) => Err(StoreError::Format { location: location(), found, known: FORMAT }),
        (0, 0, 0) => Ok(Owner::Nobody),
        _ => Err(StoreError::Foreign { location: location() }),
    }
}

/// Makes the tables in an empty file. Under a lock, as several processes may do so at once.
pub(super) fn create(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| failed(path, "making its tables", Arc::new(error));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    if owner(&transaction, path)? == Owner::Ours {
        return Ok(());
    }
    let made = || {
        transaction.execute_batch(TABLES)?;
        for kind in Kind::ALL {
            transaction.execute_batch(&table_of(kind))?;
            index::create(&transaction, kind)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FORMAT)
    };
    made().map_err(failed)?;
    transaction.commit().map_err(failed)
}
