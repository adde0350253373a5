//! The store as a SQLite file, shared by every process of one user on one machine.
//!
//! Write-ahead logging lets readers and a writer of several processes pass each other; `synchronous=FULL` makes each
//! commit wait for the disk. SQLite blocks, so reading happens on the runtime's threads for that, and writing on a thread
//! of its own, which brings what comes at once to the disk at once (`writer`).
//!
//! SQLite notices much of what can befall a file, but not everything: a flipped byte may also hide a row. So records are
//! found by an index that is there twice (`index`), and before all are listed, the file's structure has been checked once.
//!
//! The directory and the file belong to the user alone; SQLite gives its log and index files the mode of the database.

mod format;
mod index;
mod writer;

#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use isthmus_common::permissions::{PRIVATE_DIRECTORY, PRIVATE_FILE};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row};

use super::checksum::{StoredRow, key_hash};
use super::store::{
    Batch, Committed, Fence, HeldLease, Kind, Lease, Page, Pending, RecordNumber, SealedRecord, Store,
    StoreError, StoreKey,
};
use writer::Writer;

/// How long a process waits for another one's change. A change takes milliseconds, on a slow disk some hundred; who waits
/// longer than this stands before a process that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to let another process finish before the log is switched again.
const SWITCH_AGAIN: Duration = Duration::from_millis(5);

/// How large a database is at least, in bytes: one page of the smallest size.
const SMALLEST: u64 = 512;

/// How many prepared statements a connection keeps: there are about fifteen for each kind of record.
const STATEMENTS: usize = 100;

/// A SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    file: Arc<File>,
    writer: Arc<Writer>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    reader: Mutex<Reader>,
}

#[derive(Debug)]
struct Reader {
    connection: Connection,
    /// What the check of the structure has found, once it was made.
    verdict: Option<Result<(), String>>,
}

impl SqliteStore {
    /// Opens the file, and makes it and its directory where they are missing.
    ///
    /// # Errors
    /// When the file cannot be made or used, or is of a newer format.
    pub async fn open(path: PathBuf) -> Result<Self, StoreError> {
        let at = path.clone();
        tokio::task::spawn_blocking(move || open(path))
            .await
            .map_err(|_| StoreError::BrokenOff { location: at.display().to_string() })?
    }

    fn run<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&File, &mut Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'a, T> {
        let file = Arc::clone(&self.file);
        let done = tokio::task::spawn_blocking(move || {
            let mut reader = file.reader.lock().unwrap_or_else(PoisonError::into_inner);
            work(&file, &mut reader)
        });
        let location = self.location();
        Box::pin(async move { done.await.map_err(|_| StoreError::BrokenOff { location })? })
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

    fn renew<'a>(&'a self, lease: &'a Lease, time: Duration) -> Pending<'a, bool> {
        self.writer.renew(lease.clone(), time)
    }

    fn held<'a>(&'a self, name: &'a str) -> Pending<'a, Option<HeldLease>> {
        let name = name.to_owned();
        self.run(move |file, reader| {
            held(&reader.connection, &name).map_err(|error| file.failed("looking at a lease", error))
        })
    }

    fn is_empty(&self, kind: Kind) -> Pending<'_, bool> {
        self.run(move |file, reader| {
            let statement = format!("SELECT NOT EXISTS (SELECT 1 FROM {})", kind.table());
            let found = reader.connection.query_row(&statement, (), |row| row.get(0));
            found.map_err(|error| file.failed("looking for records", error))
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
    /// Whether all records of a kind can be found. Of objects there may be many, and the file may be large; that is looked
    /// at once.
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

/// What SQLite says of a file's structure.
fn structure(connection: &Connection) -> rusqlite::Result<Result<(), String>> {
    let found = connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get::<_, String>(0));
    match found {
        Ok(found) if found == "ok" => Ok(Ok(())),
        Ok(found) => Ok(Err(found)),
        Err(error) if is_corruption(&error) => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}

/// Whether the file itself is what is wrong.
fn is_corruption(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch)
    ) || matches!(error, rusqlite::Error::InvalidColumnType(..))
}

fn failed(path: &Path, doing: &'static str, error: Arc<rusqlite::Error>) -> StoreError {
    if is_corruption(&error) {
        return StoreError::Corrupt { path: path.to_owned(), doing, error: Box::new(error) };
    }
    StoreError::Database { path: path.to_owned(), doing, error }
}

fn open(path: PathBuf) -> Result<SqliteStore, StoreError> {
    prepare_file(&path).map_err(|error| StoreError::Create { path: path.clone(), error })?;
    let length = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    if (1..SMALLEST).contains(&length) {
        // SQLite would take it for a new one.
        let found = format!("it has {length} bytes, and the smallest database has {SMALLEST}");
        return Err(StoreError::Corrupt { path, doing: "opening it", error: found.into() });
    }
    // Before anything of the file is changed, the kind of its journal included.
    let owner = format::owner(&opened(&path)?, &path)?;
    let mut connection = connect(&path)?;
    if owner == format::Owner::Nobody {
        format::create(&mut connection, &path)?;
    }
    let file = File { path, reader: Mutex::new(Reader { connection, verdict: None }) };
    let writer = Writer::start(connect(&file.path)?, file.path.clone())?;
    Ok(SqliteStore { file: Arc::new(file), writer: Arc::new(writer) })
}

fn opened(path: &Path) -> Result<Connection, StoreError> {
    let failed = |doing| move |error| failed(path, doing, Arc::new(error));
    let connection = Connection::open(path).map_err(failed("opening it"))?;
    connection.busy_timeout(PATIENCE).map_err(failed("setting it up"))?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
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
fn prepare_file(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(folder)?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::File::open(parent)?.sync_all()?;
        }
    }
    if !path.try_exists()? {
        OpenOptions::new().append(true).create(true).mode(PRIVATE_FILE).open(path)?;
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn find(
    file: &File,
    connection: &Connection,
    kind: Kind,
    key: &StoreKey,
) -> Result<Vec<SealedRecord>, StoreError> {
    let read = || {
        // What is read is of one moment.
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
    // A listing that leaves out what a fault hides would be a wrong answer.
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

/// Where a walk through the records meets a broken part, others may still be reached by their numbers.
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

/// A row, whatever is in it.
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

fn held(connection: &Connection, name: &str) -> rusqlite::Result<Option<HeldLease>> {
    connection
        .prepare_cached("SELECT fence, holder, expires FROM leases WHERE name = ?1")?
        .query_row((name,), |row| {
            let expires: i64 = row.get(2)?;
            Ok(HeldLease { fence: Fence(row.get(0)?), holder: row.get(1)?, is_over: expires <= now() })
        })
        .optional()
}

/// Milliseconds since 1970. Leases go by it: a clock that is set forward ends them early, which fences make harmless.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
