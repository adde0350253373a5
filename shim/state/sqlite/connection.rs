//! Connections to the file, and which errors mean that it is damaged.
//!
//! Only the user may access the directory and the file; SQLite gives its log and index the mode of
//! the database.

use isthmus_platform::files::sync_directory;
use isthmus_platform::files::{DirBuilderExt as _, OpenOptionsExt as _};
use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use isthmus_common::permissions::{PRIVATE_DIRECTORY, PRIVATE_FILE};
use isthmus_common::require_regular;
use rusqlite::{Connection, ErrorCode};

use crate::store::StoreError;

/// How long a process waits for another's change, which takes milliseconds, on slow disks some
/// hundred.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Delay before another attempt to enable the log.
const SWITCH_AGAIN: Duration = Duration::from_millis(5);

/// Minimum size of a database in bytes: one page of the smallest size.
const SMALLEST: u64 = 512;

/// Size of a connection's statement cache: about fifteen for each kind of record.
const STATEMENTS: usize = 100;

/// Opens the file for checks before anything is changed, its journal mode included.
pub(super) fn opened(path: &Path) -> Result<Connection, StoreError> {
    let failed = |doing| move |error| failed(path, doing, Arc::new(error));
    let connection = Connection::open(path).map_err(failed("opening it"))?;
    connection.busy_timeout(PATIENCE).map_err(failed("setting it up"))?;
    Ok(connection)
}

pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let failed = |doing| move |error| failed(path, doing, Arc::new(error));
    let connection = opened(path)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    write_ahead(&connection).map_err(failed("switching to write-ahead logging"))?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed("setting it up"))?;
    // Rows of keys that a rotation has removed must not stay in free space: the old key opens them.
    connection.pragma_update(None, "secure_delete", "ON").map_err(failed("setting it up"))?;
    Ok(connection)
}

/// Enables write-ahead logging, unless enabled. If the file system does not support it, the
/// rollback journal remains, which is slower and as durable.
///
/// SQLite does not wait here: two processes that read the file and both want to change its header
/// would deadlock, so one of them is refused and must retry.
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

/// Creates the directory and the file for the user alone, and makes their names durable, which
/// SQLite does not.
pub(super) fn prepare_file(path: &Path) -> Result<(), StoreError> {
    let prepare = || {
        let directory =
            path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !directory.is_dir() {
            DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory)?;
            if let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                sync_directory(parent)?;
            }
        }
        if !path.try_exists()? {
            OpenOptions::new().append(true).create(true).mode(PRIVATE_FILE).open(path)?;
            sync_directory(directory)?;
        }
        path.metadata()
    };
    let metadata = prepare().map_err(|error| StoreError::Create { path: path.to_owned(), error })?;
    require_regular(&metadata).map_err(|error| StoreError::Open { path: path.to_owned(), error })?;
    let length = metadata.len();
    if (1..SMALLEST).contains(&length) {
        // SQLite would treat it as a new one.
        let found = format!("it has {length} bytes, and the smallest database has {SMALLEST}");
        return Err(StoreError::Corrupt { path: path.to_owned(), doing: "opening it", error: found.into() });
    }
    Ok(())
}

/// Whether the file itself is damaged.
pub(super) fn is_corruption(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch)
    ) || matches!(error, rusqlite::Error::InvalidColumnType(..))
}

pub(super) fn failed(path: &Path, doing: &'static str, error: Arc<rusqlite::Error>) -> StoreError {
    if is_corruption(&error) {
        return StoreError::Corrupt { path: path.to_owned(), doing, error: Box::new(error) };
    }
    StoreError::Database { path: path.to_owned(), doing, error }
}
