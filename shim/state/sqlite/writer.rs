//! The thread that writes.
//!
//! Each commit waits for the disk, and SQLite has one writer at a time. What comes while the disk is busy is therefore
//! committed together afterwards, each batch in a savepoint of its own: eight changes at once take hardly longer than one.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use tokio::sync::oneshot;

use super::super::checksum::{checksum, key_hash};
use super::super::store::{
    Batch, Change, Claim, Committed, Durability, Fence, Kind, Lease, Pending, RecordNumber, RecordRef,
    Refusal, StoreError, StoreKey,
};
use super::{failed, held, index, now};

/// How many batches are committed together at most.
const TOGETHER: usize = 64;

/// Why a statement that was begun is there to be finished.
const DOING: &str = "changing records";

/// The thread, and the way to it.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    queue: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// Something to write, and where the answer goes.
enum Job {
    Commit(Batch, oneshot::Sender<Result<Committed, StoreError>>),
    Renew(Lease, Duration, oneshot::Sender<Result<bool, StoreError>>),
}

/// What became of a job within a transaction that is not committed yet.
enum Written {
    Committed(Committed),
    Renewed(bool),
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection, path: PathBuf) -> Result<Self, StoreError> {
        let (queue, jobs) = channel();
        let at = path.clone();
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || write(connection, &at, &jobs))
            .map_err(|error| StoreError::Create { path: path.clone(), error })?;
        Ok(Self { path, queue: Some(queue), thread: Some(thread) })
    }

    pub(super) fn commit<'a>(&self, batch: Batch) -> Pending<'a, Committed> {
        self.ask(|answer| Job::Commit(batch, answer))
    }

    pub(super) fn renew<'a>(&self, lease: Lease, time: Duration) -> Pending<'a, bool> {
        self.ask(|answer| Job::Renew(lease, time, answer))
    }

    /// Handed over here and not at the first poll: a change that was begun is finished, even if nobody waits for it.
    fn ask<'a, T: Send + 'static>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Job,
    ) -> Pending<'a, T> {
        let (answer, answered) = oneshot::channel();
        if let Some(queue) = &self.queue {
            // A thread that has ended drops the job, and with it the sender of the answer.
            queue.send(job(answer)).ok();
        }
        let location = self.path.display().to_string();
        Box::pin(async move { answered.await.map_err(|_| StoreError::BrokenOff { location })? })
    }
}

impl Drop for Writer {
    /// What was handed over is written before the file is let go.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has told of it already.
            thread.join().ok();
        }
    }
}

fn write(mut connection: Connection, path: &Path, jobs: &Receiver<Job>) {
    let opened = identity(path);
    // As it was opened.
    let mut durability = Durability::Durable;
    while let Ok(first) = jobs.recv() {
        let mut group = vec![first];
        group.extend(jobs.try_iter().take(TOGETHER - 1));
        if identity(path) != opened {
            // SQLite would go on writing to a file that no other process finds.
            group.into_iter().for_each(|job| job.refuse(path));
            continue;
        }
        let wanted = if group.iter().any(Job::is_durable) { Durability::Durable } else { Durability::Soon };
        let switched = if wanted == durability { Ok(()) } else { switch(&connection, wanted) };
        let outcome = switched.and_then(|()| {
            durability = wanted;
            commit(&mut connection, &group)
        });
        answer(group, outcome, path);
    }
}

/// Which file it is: its device and its number there.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn switch(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let mode = match durability {
        Durability::Durable => "FULL",
        Durability::Soon => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", mode)
}

/// Does jobs in one transaction. What fails of one is undone alone.
fn commit(connection: &mut Connection, group: &[Job]) -> rusqlite::Result<Vec<rusqlite::Result<Written>>> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(group.len());
    for job in group {
        let mut savepoint = transaction.savepoint()?;
        let outcome = job.run(&savepoint);
        match &outcome {
            Ok(Written::Committed(Committed::Done { .. }) | Written::Renewed(_)) => savepoint.commit()?,
            Ok(Written::Committed(Committed::Refused(_))) => {
                savepoint.rollback()?;
                savepoint.finish()?;
            }
            // A full disk ends the whole transaction; then this fails too, and all are told.
            Err(_) => {
                savepoint.rollback()?;
                savepoint.finish()?;
            }
        }
        outcomes.push(outcome);
    }
    transaction.commit()?;
    Ok(outcomes)
}

fn answer(group: Vec<Job>, outcome: rusqlite::Result<Vec<rusqlite::Result<Written>>>, path: &Path) {
    match outcome {
        Ok(outcomes) => {
            for (job, outcome) in group.into_iter().zip(outcomes) {
                job.answer(outcome.map_err(|error| failed(path, DOING, Arc::new(error))));
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            for job in group {
                job.answer(Err(failed(path, DOING, Arc::clone(&error))));
            }
        }
    }
}

impl Job {
    /// Answers that the file is not the one any more that was opened.
    fn refuse(self, path: &Path) {
        let removed = StoreError::Removed { location: path.display().to_string() };
        // Whoever has asked may have gone.
        match self {
            Self::Commit(_, answer) => drop(answer.send(Err(removed))),
            Self::Renew(_, _, answer) => drop(answer.send(Err(removed))),
        }
    }

    fn is_durable(&self) -> bool {
        match self {
            Self::Commit(batch, _) => batch.durability == Durability::Durable,
            Self::Renew(..) => false,
        }
    }

    fn run(&self, connection: &Connection) -> rusqlite::Result<Written> {
        match self {
            Self::Commit(batch, _) => run(connection, batch).map(Written::Committed),
            Self::Renew(lease, time, _) => connection
                .prepare_cached("UPDATE leases SET expires = ?3 WHERE name = ?1 AND fence = ?2")?
                .execute((&lease.name, lease.fence.0, end(*time)))
                .map(|changed| Written::Renewed(changed == 1)),
        }
    }

    /// Nobody may wait for it any more.
    fn answer(self, outcome: Result<Written, StoreError>) {
        match (self, outcome) {
            (Self::Commit(_, answer), Ok(Written::Committed(committed))) => {
                answer.send(Ok(committed)).ok();
            }
            (Self::Renew(_, _, answer), Ok(Written::Renewed(renewed))) => {
                answer.send(Ok(renewed)).ok();
            }
            (Self::Commit(_, answer), Err(error)) => {
                answer.send(Err(error)).ok();
            }
            (Self::Renew(_, _, answer), Err(error)) => {
                answer.send(Err(error)).ok();
            }
            // No job has the outcome of the other kind; without an answer its caller is told that the work broke off.
            (Self::Commit(..), Ok(Written::Renewed(_))) | (Self::Renew(..), Ok(Written::Committed(_))) => {}
        }
    }
}

fn run(connection: &Connection, batch: &Batch) -> rusqlite::Result<Committed> {
    for (kind, place) in &batch.require {
        if let Some(refusal) = unless_still(connection, *kind, *place)? {
            return Ok(Committed::Refused(refusal));
        }
    }
    for (kind, key, newest) in &batch.newest {
        let numbers = index::numbers(connection, *kind, &key_hash(key))?;
        if let Some(number) = numbers.first().copied().map(RecordNumber).filter(|number| number > newest) {
            return Ok(Committed::Refused(Refusal::Newer { kind: *kind, number }));
        }
    }
    for lease in &batch.fences {
        if held(connection, &lease.name)?.is_none_or(|held| held.fence != lease.fence) {
            return Ok(Committed::Refused(Refusal::Lost(lease.clone())));
        }
    }
    let lease = match &batch.claim {
        None => None,
        Some(claim) => match take(connection, claim)? {
            Ok(lease) => Some(lease),
            Err(refusal) => return Ok(Committed::Refused(refusal)),
        },
    };
    let mut places = Vec::new();
    for change in &batch.changes {
        match make(connection, change)? {
            Ok(place) => places.extend(place),
            Err(refusal) => return Ok(Committed::Refused(refusal)),
        }
    }
    for lease in &batch.releases {
        connection
            .prepare_cached("DELETE FROM leases WHERE name = ?1 AND fence = ?2")?
            .execute((&lease.name, lease.fence.0))?;
    }
    Ok(Committed::Done { places, lease })
}

fn unless_still(connection: &Connection, kind: Kind, place: RecordRef) -> rusqlite::Result<Option<Refusal>> {
    let number = place.number;
    let version: Option<i64> = connection
        .prepare_cached(&format!("SELECT version FROM {} WHERE number = ?1", kind.table()))?
        .query_row((number.0,), |row| row.get(0))
        .optional()?;
    Ok((version != Some(place.version)).then_some(Refusal::Changed { kind, number, version }))
}

fn take(connection: &Connection, claim: &Claim) -> rusqlite::Result<Result<Lease, Refusal>> {
    if let Some(held) = held(connection, &claim.name)?
        && !held.is_over
        && claim.over != Some(held.fence)
    {
        return Ok(Err(Refusal::Held(held)));
    }
    let fence = Fence(next_number(connection)?);
    connection
        .prepare_cached(
            "INSERT INTO leases (name, fence, holder, expires) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (name) DO UPDATE SET fence = ?2, holder = ?3, expires = ?4",
        )?
        .execute((&claim.name, fence.0, &claim.holder, end(claim.time)))?;
    Ok(Ok(Lease { name: claim.name.clone(), fence }))
}

fn make(connection: &Connection, change: &Change) -> rusqlite::Result<Result<Option<RecordRef>, Refusal>> {
    match change {
        Change::Add { kind, key, bytes } => {
            let place = RecordRef { number: RecordNumber(next_number(connection)?), version: 1 };
            insert(connection, *kind, place, key, bytes)?;
            Ok(Ok(Some(place)))
        }
        Change::Replace { kind, place, key, bytes } => {
            if let Some(refusal) = unless_still(connection, *kind, *place)? {
                return Ok(Err(refusal));
            }
            let next = RecordRef { version: place.version.saturating_add(1), ..*place };
            connection
                .prepare_cached(&format!(
                    "UPDATE {} SET version = ?2, sealed = ?3, checksum = ?4 WHERE number = ?1",
                    kind.table()
                ))?
                .execute((next.number.0, next.version, bytes, checksum(*kind, next, key, bytes)))?;
            Ok(Ok(Some(next)))
        }
        Change::Remove { kind, number, version } => {
            if let Some(version) = *version
                && let Some(refusal @ Refusal::Changed { version: Some(_), .. }) =
                    unless_still(connection, *kind, RecordRef { number: *number, version })?
            {
                return Ok(Err(refusal));
            }
            let removed = connection
                .prepare_cached(&format!(
                    "DELETE FROM {} WHERE number = ?1 RETURNING key_hash",
                    kind.table()
                ))?
                .query_row((number.0,), |row| {
                    // Of a damaged row anything may have become.
                    Ok(row.get_ref(0)?.as_blob().map(<[u8]>::to_vec).unwrap_or_default())
                })
                .optional()?;
            if let Some(hash) = removed {
                index::remove(connection, *kind, &hash, *number)?;
            }
            Ok(Ok(None))
        }
    }
}

fn insert(
    connection: &Connection,
    kind: Kind,
    place: RecordRef,
    key: &StoreKey,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    let hash = key_hash(key);
    connection
        .prepare_cached(&format!(
            "INSERT INTO {} (number, version, key_hash, package, type, id, sealed, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            kind.table()
        ))?
        .execute((
            place.number.0,
            place.version,
            hash,
            key.package.as_bytes(),
            key.type_name.as_bytes(),
            key.id.as_bytes(),
            bytes,
            checksum(kind, place, key, bytes),
        ))?;
    index::add(connection, kind, &hash, place.number)
}

/// Records and leases have their numbers from one counter.
fn next_number(connection: &Connection) -> rusqlite::Result<i64> {
    let (last, opposite): (i64, i64) = connection
        .prepare_cached(
            "UPDATE counter SET last = last + 1, opposite = opposite - 1 RETURNING last, opposite",
        )?
        .query_row((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if last <= 0 || last.checked_neg() != Some(opposite) {
        return Err(rusqlite::Error::IntegralValueOutOfRange(0, last));
    }
    Ok(last)
}

fn end(time: Duration) -> i64 {
    now().saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
