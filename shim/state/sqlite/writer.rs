//! The writer thread.
//!
//! Each commit waits for the disk, and SQLite has one writer at a time. So batches that arrive
//! while the disk is busy are committed together, each in its own savepoint: eight concurrent
//! changes take hardly longer than one.

use isthmus_platform::files::{self, FileIdentity};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use isthmus_common::fail_point;
use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use super::batch;
use super::connection::failed;
use crate::store::{Batch, Change, Committed, Durability, Kind, Pending, Stopped, StoreError};

/// Maximum number of batches in a commit.
const TOGETHER: usize = 64;

/// Maximum number of queued batches: those of four commits, so that the thread always finds enough.
/// Further callers wait for room, so that a slow or locked disk slows callers down, and memory is
/// bounded by their number.
pub(super) const QUEUE: usize = 4 * TOGETHER;

/// The operation in errors.
pub(super) const DOING: &str = "changing records";

/// The thread and its queue.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    /// `None` only during drop.
    pub(super) queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// A batch and the sender of its outcome.
#[derive(Debug)]
pub(super) struct Job {
    batch: Batch,
    answer: oneshot::Sender<Result<Committed, StoreError>>,
}

impl Writer {
    /// Starts the thread. `reading` is the reader's, which it waits for at its end: the connection
    /// that is closed last tidies the file up.
    pub(super) fn start(
        connection: Connection,
        path: PathBuf,
        reading: JoinHandle<()>,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let at = path.clone();
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || {
                let connection = write(connection, &at, jobs);
                // A thread that panicked has already reported it.
                drop(reading.join());
                drop(connection);
            })
            .map_err(|error| StoreError::Create { path: path.clone(), error })?;
        Ok(Self { path, queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a batch at once, not at the first poll: a change is finished even if its caller does
    /// not wait for it. If the queue is full, a task waits for room.
    pub(super) fn commit<'a>(&self, batch: Batch) -> Pending<'a, Committed> {
        let (answer, answered) = oneshot::channel();
        let waiting = self.queue.as_ref().and_then(|queue| match queue.try_send(Job { batch, answer }) {
            Err(TrySendError::Full(job)) => Some((queue.clone(), job)),
            // A thread that has ended drops the job, and with it the sender.
            Ok(()) | Err(TrySendError::Closed(_)) => None,
        });
        let waiting = waiting.and_then(|(queue, job)| {
            let send = async move { drop(queue.send(job).await) };
            match Handle::try_current() {
                Ok(runtime) => {
                    runtime.spawn(send);
                    None
                }
                Err(_) => Some(send),
            }
        });
        let location = self.path.display().to_string();
        Box::pin(async move {
            if let Some(send) = waiting {
                send.await;
            }
            answered.await.map_err(|_| StoreError::Interrupted { location })?
        })
    }
}

impl Drop for Writer {
    /// Queued batches are written before the program exits, as a runtime waits for its blocking
    /// threads; the dropping thread waits only until one of these has taken over, not for the disk,
    /// since other tasks run on it.
    fn drop(&mut self) {
        self.queue = None;
        let Some(thread) = self.thread.take() else { return };
        let thread = Arc::new(Mutex::new(Some(thread)));
        let wait = {
            let thread = Arc::clone(&thread);
            // A thread that panicked has already reported it.
            move || drop(thread.lock().unwrap_or_else(PoisonError::into_inner).take().map(JoinHandle::join))
        };
        let Ok(runtime) = Handle::try_current() else { return wait() };
        let (started, has_started) = std::sync::mpsc::channel();
        let waits = wait.clone();
        drop(runtime.spawn_blocking(move || {
            started.send(()).ok();
            waits();
        }));
        // A runtime that shuts down drops what it has not started, and with it the sender. It runs
        // no other tasks then.
        if has_started.recv().is_err() {
            wait();
        }
    }
}

/// Commits jobs until there will be no more.
fn write(mut connection: Connection, path: &Path, mut jobs: mpsc::Receiver<Job>) -> Connection {
    let opened = identity(path);
    // The initial mode.
    let mut durability = Durability::Durable;
    let mut group = Vec::with_capacity(TOGETHER);
    while jobs.blocking_recv_many(&mut group, TOGETHER) > 0 {
        if identity(path) != opened {
            // SQLite would continue to write to a file that no other process finds.
            let removed = || StoreError::Removed { location: path.display().to_string() };
            group.drain(..).for_each(|job| job.answer(Err(removed())));
            continue;
        }
        let is_durable = group.iter().any(|job| job.batch.durability == Durability::Durable);
        let wanted = if is_durable { Durability::Durable } else { Durability::Soon };
        let switched = if wanted == durability { Ok(()) } else { switch(&connection, wanted) };
        let outcome = switched.and_then(|()| {
            durability = wanted;
            commit(&mut connection, &group)
        });
        match outcome {
            Ok(outcomes) => {
                for (job, outcome) in group.drain(..).zip(outcomes) {
                    job.answer(outcome.map_err(|error| failed(path, DOING, Arc::new(error))));
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                group.drain(..).for_each(|job| job.answer(Err(failed(path, DOING, Arc::clone(&error)))));
            }
        }
    }
    connection
}

fn identity(path: &Path) -> Option<FileIdentity> {
    path.metadata().and_then(|metadata| files::identity(path, &metadata)).ok()
}

fn switch(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let mode = match durability {
        Durability::Durable => "FULL",
        Durability::Soon => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", mode)
}

/// Commits jobs in one transaction, and rolls back those that fail.
fn commit(connection: &mut Connection, group: &[Job]) -> rusqlite::Result<Vec<rusqlite::Result<Committed>>> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(group.len());
    for job in group {
        let mut savepoint = transaction.savepoint()?;
        let outcome = batch::make(&savepoint, &job.batch);
        if outcome.is_err() {
            // A full disk aborts the whole transaction; then this fails too, and so do all.
            savepoint.rollback()?;
        }
        savepoint.commit()?;
        outcomes.push(match outcome {
            Ok(committed) => Ok(committed),
            Err(Stopped::Refused(refusal)) => Ok(Committed::Refused(refusal)),
            Err(Stopped::Failed(error)) => Err(error),
        });
    }
    fail_point("committing");
    transaction.commit()?;
    fail_point("committed");
    if group.iter().any(|job| job.batch.changes.iter().any(removes_key)) {
        // The log still has the rows. If others read it for too long, it is emptied later.
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).ok();
    }
    Ok(outcomes)
}

/// Whether a change is the last step of a rotation of keys.
fn removes_key(change: &Change) -> bool {
    matches!(change, Change::Remove { kind: Kind::Key, .. })
}

/// Commits one batch in a transaction.
#[cfg(feature = "simulation")]
pub(super) fn commit_alone(connection: &mut Connection, batch: Batch) -> rusqlite::Result<Committed> {
    let (answer, _) = oneshot::channel();
    commit(connection, &[Job { batch, answer }])?.pop().expect("a job has an outcome")
}

impl Job {
    /// The receiver may be gone.
    fn answer(self, outcome: Result<Committed, StoreError>) {
        self.answer.send(outcome).ok();
    }
}
