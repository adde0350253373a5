//! A look at the file of a store, for a diagnosis: whether it can be used, without a change to it and without its key.
//!
//! Opening a store creates what is missing and waits for half a minute for a lock. A diagnosis does neither.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::require_regular;
use rusqlite::{Connection, OpenFlags};

use super::connection::failed;
use super::format::{Owner, owner};
use crate::store::StoreError;

/// How long the lock of another process is waited for: changes take milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Checks that the database at this path is a state store of a known format, undamaged, and not locked; and returns whether it has
/// the format of this version, so that opening it changes nothing. Blocks on the file system.
///
/// # Errors
/// Why it cannot be used.
pub fn probe_database(path: &Path) -> Result<bool, StoreError> {
    let unusable = |error| StoreError::Open { path: path.to_owned(), error };
    require_regular(&path.metadata().map_err(unusable)?).map_err(unusable)?;
    let failed = |doing| move |error| failed(path, doing, Arc::new(error));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed("opening it"))?;
    connection.busy_timeout(PATIENCE).map_err(failed("opening it"))?;
    let owner = owner(&connection, path)?;
    if owner == Owner::Nobody {
        return Ok(false);
    }
    // Takes the lock of writers, and gives it back.
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").map_err(failed("locking it"))?;
    let found: String =
        connection.query_row("PRAGMA quick_check(1)", (), |row| row.get(0)).map_err(failed("checking it"))?;
    if found != "ok" {
        let (path, doing) = (path.to_owned(), "checking it");
        return Err(StoreError::Corrupt { path, doing, error: found.into() });
    }
    Ok(owner == Owner::Ours)
}

#[cfg(test)]
mod tests {
    use super::super::format::{APPLICATION, FORMAT};
    use super::*;

    fn database(application: i64, format: i64) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        let connection = Connection::open(directory.path().join("state.sqlite")).expect("a database");
        connection.pragma_update(None, "application_id", application).expect("a number");
        connection.pragma_update(None, "user_version", format).expect("a number");
        connection.execute_batch("CREATE TABLE t (x)").expect("a table");
        directory
    }

    #[test]
    fn a_store_is_told_from_what_is_newer_foreign_locked_or_damaged() {
        let probe = |directory: &tempfile::TempDir| probe_database(&directory.path().join("state.sqlite"));
        let ours = database(APPLICATION, FORMAT);
        assert!(probe(&ours).expect("a store"));
        let newer = probe(&database(APPLICATION, FORMAT + 1)).expect_err("it is newer");
        assert!(matches!(newer, StoreError::Format { .. }), "{newer}");
        let foreign = probe(&database(1, 1)).expect_err("it is another program's");
        assert!(matches!(foreign, StoreError::Foreign { .. }), "{foreign}");
        let holder = Connection::open(ours.path().join("state.sqlite")).expect("a database");
        holder.execute_batch("BEGIN IMMEDIATE").expect("a lock");
        let locked = probe(&ours).expect_err("it is locked");
        assert!(locked.is_locked(), "{locked}");
        drop(holder);
        std::fs::write(ours.path().join("state.sqlite"), [7; 4096]).expect("a file");
        let damaged = probe(&ours).expect_err("it is damaged");
        assert!(matches!(damaged, StoreError::Corrupt { .. }), "{damaged}");
        let missing = probe_database(Path::new("/nowhere/state.sqlite")).expect_err("it is not there");
        assert!(matches!(missing, StoreError::Open { .. }), "{missing}");
    }
}
