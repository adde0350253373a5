//! The store as a PostgreSQL database, shared by any number of processes and machines.
//!
//! Reads are repeated after a lost connection, and so are changes whose commit was not yet sent. If
//! the connection is lost during a commit, the store looks for the change's records afterwards:
//! their numbers are assigned before and their checksums are of random bytes, so they identify it.
//! Once the server's process of the lost connection has ended, no records can follow. Only if the
//! server does not return in time, the outcome is unknown, and this is an error.

mod batch;
mod connection;
mod format;
mod password_file;
#[cfg(test)]
mod tests;
mod tls;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use isthmus_common::blocking;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Error, Row};

use super::checksum::{StoredRow, key_hash};
use super::location::ServerAddress;
use super::store::{
    Batch, Change, Committed, HeldLease, Kind, Page, Pending, RecordNumber, SealedRecord, Store, StoreError,
    StoreKey,
};
use batch::{CommitEvidence, Failure};
use connection::{Pool, is_retryable};
use password_file::take_password;
use tls::Tls;

/// How long calls retry while the server is unavailable. A restart takes seconds, a failover about
/// ten.
const PATIENCE: Duration = Duration::from_secs(30);

/// Delay before a retry: initial and maximum.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// A PostgreSQL database.
pub(super) struct PostgresStore {
    server: Arc<Server>,
    /// Completes changes that are not awaited any more.
    runtime: Handle,
}

struct Server {
    pool: Pool,
    location: String,
    patience: Duration,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PostgresStore({})", self.server.location)
    }
}

impl PostgresStore {
    /// Connects to the server, and creates missing tables.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the tables are of another format.
    pub(super) async fn connect(address: &ServerAddress) -> Result<Self, StoreError> {
        Self::connect_with(address, PATIENCE).await
    }

    async fn connect_with(address: &ServerAddress, patience: Duration) -> Result<Self, StoreError> {
        let location = address.location();
        let fault = |doing, error: Box<dyn std::error::Error + Send + Sync>| StoreError::Server {
            location: location.clone(),
            doing,
            error,
        };
        let authorities = address.authorities.clone();
        // Reads files.
        let tls = blocking(move || Tls::new(authorities.as_deref()))
            .await
            .map_err(|error| fault("setting up TLS", error.into()))?;
        let mut config = Config::clone(address.config.expose());
        if let Some(path) = address.password_file.clone() {
            config = blocking(move || take_password(&mut config, &path).map(|()| config))
                .await
                .map_err(|error| fault("reading the password", error.into()))?;
        }
        let pool = Pool::new(config, tls);
        // Without retries: a wrong address is more likely than a starting server.
        let opening = async {
            let mut used = pool.take().await?;
            let mut found = format::found(&used.connection).await?;
            if found.is_none_or(|found| found.version == format::OLDER_FORMAT) {
                format::migrate(&mut used.connection).await?;
                found = format::found(&used.connection).await?;
            }
            used.put_back();
            Ok::<_, Error>(found)
        };
        let found = timeout_at(Instant::now() + patience, opening)
            .await
            .map_err(|late| fault("connecting", late.into()))?
            .map_err(|error| fault("connecting", error.into()))?;
        if !found.is_some_and(format::Found::is_usable) {
            let found = found.map_or(0, |found| found.version);
            return Err(StoreError::Format { location, found, known: format::FORMAT });
        }
        let server = Server { pool, location, patience };
        Ok(Self { server: Arc::new(server), runtime: Handle::current() })
    }
}

impl Server {
    fn failed(
        &self,
        doing: &'static str,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> StoreError {
        StoreError::Server { location: self.location.clone(), doing, error: error.into() }
    }

    /// Queries rows, with retries.
    async fn query(
        &self,
        doing: &'static str,
        text: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let deadline = Instant::now() + self.patience;
        let mut pause = PAUSES.0;
        loop {
            let attempt = async {
                let mut used = self.pool.take().await?;
                let statement = used.connection.prepared(text).await?;
                let rows = used.connection.client.query(&statement, parameters).await?;
                used.put_back();
                Ok::<_, Error>(rows)
            };
            match timeout_at(deadline, attempt).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(error)) if is_retryable(&error) && Instant::now() + pause < deadline => {
                    self.pool.clear_after(&error);
                }
                Ok(Err(error)) => return Err(self.failed(doing, error)),
                Err(late) => return Err(self.failed(doing, late)),
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn records(
        &self,
        doing: &'static str,
        text: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<StoredRow>, StoreError> {
        let rows = self.query(doing, text, parameters).await?;
        rows.iter().map(stored_row).collect::<Result<_, _>>().map_err(|error| self.failed(doing, error))
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, StoreError> {
        let doing = "changing records";
        let deadline = Instant::now() + self.patience;
        let mut pause = PAUSES.0;
        loop {
            let mut backend = None;
            let is_asked_for = AtomicBool::new(false);
            let attempt = async {
                let mut used = self.pool.take().await?;
                backend = Some(used.connection.backend.clone());
                let committed = batch::commit(&mut used.connection, &batch, &is_asked_for).await?;
                used.put_back();
                Ok::<_, Failure>(committed)
            };
            match timeout_at(deadline, attempt).await {
                Ok(Ok(committed)) => return Ok(committed),
                Ok(Err(Failure::Before(error)))
                    if is_retryable(&error) && Instant::now() + pause < deadline =>
                {
                    self.pool.clear_after(&error);
                }
                Ok(Err(Failure::Before(error))) => return Err(self.failed(doing, error)),
                Ok(Err(Failure::AtCommit(error, _))) if error.code().is_some() && !is_retryable(&error) => {
                    // The server has refused the batch.
                    return Err(self.failed(doing, error));
                }
                Ok(Err(Failure::AtCommit(error, traces))) => {
                    self.pool.clear_after(&error);
                    let has_happened = match backend {
                        Some(backend) => self.has_happened(&batch, &traces, &backend).await,
                        None => None,
                    };
                    match has_happened {
                        Some(true) => {
                            return Ok(Committed::Done { places: traces.places(), lease: traces.lease });
                        }
                        Some(false) => {}
                        None => {
                            let location = self.location.clone();
                            return Err(StoreError::Unknown { location, error: error.into() });
                        }
                    }
                }
                Err(late) if !is_asked_for.load(Ordering::Relaxed) => return Err(self.failed(doing, late)),
                Err(late) => {
                    return Err(StoreError::Unknown { location: self.location.clone(), error: late.into() });
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Whether a batch without a response to its commit was committed; `None`: unknown.
    async fn has_happened(
        &self,
        batch: &Batch,
        traces: &CommitEvidence,
        backend: &(i32, String),
    ) -> Option<bool> {
        let deadline = Instant::now() + self.patience;
        loop {
            // In this order: changes of a process that has ended are visible.
            let has_ended = self.has_ended(backend).await.ok()?;
            match self.look(traces).await.ok()? {
                Found::Made => return Some(true),
                // Without evidence; but a repeatable batch may be repeated.
                Found::NoTrace => return is_repeatable(batch).then_some(false),
                Found::Unmade if has_ended => return Some(false),
                Found::Unmade => {}
                Found::Overwritten => return None,
            }
            if Instant::now() + PAUSES.0 > deadline {
                return None;
            }
            sleep(PAUSES.0).await;
        }
    }

    async fn has_ended(&self, (process, since): &(i32, String)) -> Result<bool, StoreError> {
        let text = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2";
        Ok(self.query("looking for a lost connection", text, &[process, since]).await?.is_empty())
    }

    /// Looks for evidence of a batch. It is atomic, so that one record is enough.
    async fn look(&self, traces: &CommitEvidence) -> Result<Found, StoreError> {
        let Some((kind, place, sum)) = traces.records.first() else { return Ok(Found::NoTrace) };
        let doing = "looking for a change";
        let text = format!("SELECT version, checksum FROM isthmus.{} WHERE number = $1", kind.table());
        let rows = self.query(doing, &text, &[&place.number.0]).await?;
        let Some(row) = rows.first() else {
            // The number of an added record is known to no other process.
            return Ok(if place.version == 1 { Found::Unmade } else { Found::Overwritten });
        };
        let columns = || Ok((row.try_get::<_, i64>(0)?, row.try_get::<_, Vec<u8>>(1)?));
        let (version, found) = columns().map_err(|error: Error| self.failed(doing, error))?;
        Ok(if version == place.version && found == sum {
            Found::Made
        } else if version < place.version {
            Found::Unmade
        } else {
            Found::Overwritten
        })
    }
}

/// Evidence of a batch.
enum Found {
    Made,
    Unmade,
    /// Changed since by another process, or with another explanation.
    Overwritten,
    NoTrace,
}

/// Whether a batch may be repeated.
fn is_repeatable(batch: &Batch) -> bool {
    let removes = |change: &Change| matches!(change, Change::Remove { version: None, .. });
    // If it was committed, what it has required and removed is missing when it is repeated.
    let is_refused_again = !batch.require.is_empty() && !batch.changes.is_empty();
    batch.claim.is_none() && batch.fences.is_empty() && !is_refused_again && batch.changes.iter().all(removes)
}

impl Store for PostgresStore {
    fn find<'a>(&'a self, kind: Kind, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>> {
        Box::pin(async move {
            let text = format!("{} WHERE key_hash = $1 ORDER BY number DESC", select(kind));
            let hash = key_hash(key);
            let rows = self.server.records("reading a record", &text, &[&&hash[..]]).await?;
            rows.into_iter()
                .map(|row| {
                    row.judged(kind).ok().filter(|record| record.key == *key).ok_or_else(|| {
                        StoreError::Damaged { location: self.location(), key: Box::new(key.clone()) }
                    })
                })
                .collect()
        })
    }

    fn page<'a>(
        &'a self,
        kind: Kind,
        package: Option<&'a str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Pending<'a, Page> {
        Box::pin(async move {
            let at_most = i64::from(at_most.max(1));
            let text = format!(
                "{} WHERE number > $1 AND ($2::bytea IS NULL OR package = $2) ORDER BY number LIMIT $3",
                select(kind)
            );
            let parameters: [&(dyn ToSql + Sync); 3] = [&after.0, &package.map(str::as_bytes), &at_most];
            let found = self.server.records("listing records", &text, &parameters).await?;
            let is_full = i64::try_from(found.len()) == Ok(at_most);
            let last = found.last().map(|row| RecordNumber(row.number));
            let mut page = Page { next: last.filter(|_| is_full), ..Page::default() };
            page.sort(found, kind, package);
            Ok(page)
        })
    }

    fn commit(&self, batch: Batch) -> Pending<'_, Committed> {
        let server = Arc::clone(&self.server);
        let location = self.location();
        let done = self.runtime.spawn(async move { server.commit(batch).await });
        Box::pin(async move { done.await.map_err(|_| StoreError::Interrupted { location })? })
    }

    fn held<'a>(&'a self, name: &'a str) -> Pending<'a, Option<HeldLease>> {
        Box::pin(async move {
            let doing = "looking at a lease";
            let rows = self.server.query(doing, batch::HELD, &[&name]).await?;
            let held = rows.first().map(batch::held_in).transpose();
            held.map_err(|error| self.server.failed(doing, error))
        })
    }

    fn location(&self) -> String {
        self.server.location.clone()
    }
}

fn select(kind: Kind) -> String {
    let table = kind.table();
    format!("SELECT number, version, package, type, id, sealed, checksum FROM isthmus.{table}")
}

fn stored_row(row: &Row) -> Result<StoredRow, Error> {
    Ok(StoredRow {
        number: row.try_get(0)?,
        version: row.try_get(1)?,
        columns: [row.try_get(2)?, row.try_get(3)?, row.try_get(4)?, row.try_get(5)?, row.try_get(6)?],
    })
}
