//! Connections to the file, and which of their faults mean that the file is damaged.
//!
//! The directory and the file belong to the user alone; SQLite gives its log and index files the mode of the database.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use isthmus_common::permissions::{PRIVATE_DIRECTORY, PRIVATE_FILE};
use rusqlite::{Connection, ErrorCode};

use crate::store::StoreError;

/// How long a process waits for another one's change. A change takes milliseconds, on a slow disk some hundred; a longer
/// wait means a process that hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How long to let another process finish before the log is switched again.
const SWITCH_AGAIN: Duration = Duration::from_millis(5);

/// How large a database is at least, in bytes: one page of the smallest size.
const SMALLEST: u64 = 512;

/// How many prepared statements a connection keeps: there are about fifteen for each kind of record.
const STATEMENTS: usize = 100;

/// Opens the file as it is, for a look before anything of it is changed, the kind of its journal included.
pub(super) fn opened(path: &Path) -> Result<Connection, StoreError> {
    let failed = |doing| move |error| failed(path, doing, Arc::new(error));
    let connection = Connection::open(path).map_err(failed("opening it"))?;
    connection.busy_timeout(PATIENCE).map_err(failed("setting it up"))?;
    Ok(connection)
}

/// Opens the file for use.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let failed = |doing| move |error| failed(path, doing, Arc::new(error));
    let connection = opened(path)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    write_ahead(&connection).map_err(failed("switching to write-ahead logging"))?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed("setting it up"))?;
    Ok(connection)
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

/// Makes the directory and the file for the user alone, and sees to it that their names are on the disk as well: SQLite takes
/// care of what is in the file, not of where the file is.
pub(super) fn prepare_file(path: &Path) -> Result<(), StoreError> {
    let prepare = || {
        let directory =
            path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !directory.is_dir() {
            DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(directory)?;
            if let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                File::open(parent)?.sync_all()?;
            }
        }
        if !path.try_exists()? {
            OpenOptions::new().append(true).create(true).mode(PRIVATE_FILE).open(path)?;
            File::open(directory)?.sync_all()?;
        }
        path.metadata()
    };
    let length = prepare().map_err(|error| StoreError::Create { path: path.to_owned(), error })?.len();
    if (1..SMALLEST).contains(&length) {
        // SQLite would take it for a new one.
        let found = format!("it has {length} bytes, and the smallest database has {SMALLEST}");
        return Err(StoreError::Corrupt { path: path.to_owned(), doing: "opening it", error: found.into() });
    }
    Ok(())
}

/// Whether the file itself is what is wrong.
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
