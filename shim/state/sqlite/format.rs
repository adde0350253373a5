//! The tables, and the owner of a file.
//!
//! Its `application_id` identifies the program, and its `user_version` the format. Both are checked
//! before anything is changed, and so is that a new file is empty: another program's database stays
//! unchanged.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};

use super::connection::failed;
use super::index;
use crate::store::{Kind, StoreError};

/// Version of the tables.
pub(super) const FORMAT: i64 = 3;

/// The version before, which has no records of stacks.
const OLDER_FORMAT: i64 = 2;

/// SQLite's `application_id`: "isth" in ASCII.
pub(super) const APPLICATION: i64 = 0x6973_7468;

/// Ids and other parts of keys are bytes, because some SQLite functions end text at NUL. The
/// counter is stored twice, once as its complement: a number must not be reused.
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

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// None: it is empty.
    Nobody,
    /// A state store of the format before.
    Older,
    /// A state store of this format.
    Ours,
}

/// The owner of a file. Changes nothing.
///
/// # Errors
/// When it is another program's, or a state store of another format.
pub(super) fn owner(connection: &Connection, path: &Path) -> Result<Owner, StoreError> {
    let number = |statement| connection.query_row(statement, (), |row| row.get::<_, i64>(0));
    let failed = |error| failed(path, "reading its header", Arc::new(error));
    // One snapshot: another process may make its tables between two statements.
    let snapshot = if connection.is_autocommit() { Some(connection.unchecked_transaction()) } else { None };
    let _snapshot = snapshot.transpose().map_err(failed)?;
    let application = number("PRAGMA application_id").map_err(failed)?;
    let found = number("PRAGMA user_version").map_err(failed)?;
    let tables = number("SELECT count(*) FROM sqlite_schema").map_err(failed)?;
    let location = || path.display().to_string();
    match (application, found, tables) {
        (APPLICATION, FORMAT, _) => Ok(Owner::Ours),
        (APPLICATION, OLDER_FORMAT, _) => Ok(Owner::Older),
        (APPLICATION, _, _) => Err(StoreError::Format { location: location(), found, known: FORMAT }),
        (0, 0, 0) => Ok(Owner::Nobody),
        _ => Err(StoreError::Foreign { location: location() }),
    }
}

/// Creates the tables in an empty file, or the missing ones in an older store, under a lock, as
/// several processes may do so at once.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| failed(path, "making its tables", Arc::new(error));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let missing = match owner(&transaction, path)? {
        Owner::Ours => return Ok(()),
        Owner::Older => &[Kind::StackRecord][..],
        Owner::Nobody => &Kind::ALL,
    };
    let made = || {
        if missing.len() == Kind::ALL.len() {
            transaction.execute_batch(TABLES)?;
        }
        for kind in missing.iter().copied() {
            transaction.execute_batch(&table_of(kind))?;
            index::create(&transaction, kind)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", FORMAT)
    };
    made().map_err(failed)?;
    transaction.commit().map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::connection::{connect, opened};
    use super::*;

    #[test]
    fn a_store_that_is_made_at_the_same_time_is_never_taken_for_another_programs() {
        let directory = tempfile::tempdir().expect("a directory");
        for number in 0..50 {
            let path = directory.path().join(format!("{number}.sqlite"));
            let mut maker = connect(&path).expect("a new file");
            let is_made = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    migrate(&mut maker, &path).expect("it is empty");
                    is_made.store(true, Ordering::Release);
                });
                let reader = opened(&path).expect("it is there");
                while !is_made.load(Ordering::Acquire) {
                    let found = owner(&reader, &path).expect("it is nobody's or ours");
                    assert!(matches!(found, Owner::Nobody | Owner::Ours), "{found:?}");
                }
            });
        }
    }
}
