//! The thread that writes.
//!
//! Each commit waits for the disk, and SQLite has one writer at a time. What comes while the disk is busy is therefore
//! committed together afterwards, each batch in a savepoint of its own: eight changes at once take hardly longer than one.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use super::batch;
use super::connection::failed;
use crate::store::{Batch, Committed, Durability, Pending, Stopped, StoreError};

/// How many batches are committed together at most.
const TOGETHER: usize = 64;

/// How many batches may wait: as many as four commits take, so that the thread always finds enough to commit together.
/// What comes then waits with its caller for room, so a disk that is slow or locked slows callers down, and what is in
/// memory stays bounded by how many of them there are.
pub(super) const QUEUE: usize = 4 * TOGETHER;

/// What is being done when a batch fails.
const DOING: &str = "changing records";

/// The thread, and the way to it.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    /// `None` only while this is dropped.
    pub(super) queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// Something to write, and where the answer goes.
#[derive(Debug)]
pub(super) struct Job {
    batch: Batch,
    answer: oneshot::Sender<Result<Committed, StoreError>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(connection: Connection, path: PathBuf) -> Result<Self, StoreError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let at = path.clone();
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || write(connection, &at, jobs))
            .map_err(|error| StoreError::Create { path: path.clone(), error })?;
        Ok(Self { path, queue: Some(queue), thread: Some(thread) })
    }

    /// Hands a batch over at once, and not at the first poll: a change that was begun is finished, even if its caller does not
    /// wait for it. Where the queue is full, a task of the runtime waits for room.
    pub(super) fn commit<'a>(&self, batch: Batch) -> Pending<'a, Committed> {
        let (answer, answered) = oneshot::channel();
        let waiting = self.queue.as_ref().and_then(|queue| match queue.try_send(Job { batch, answer }) {
            Err(TrySendError::Full(job)) => Some((queue.clone(), job)),
            // A thread that has ended drops the job, and with it the sender of the answer.
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
    /// What was handed over is written before the program ends, as a runtime waits for its blocking threads; the thread
    /// that drops this waits until one of these has taken over, and not for the disk, since other tasks run on it.
    fn drop(&mut self) {
        self.queue = None;
        let Some(thread) = self.thread.take() else { return };
        let thread = Arc::new(Mutex::new(Some(thread)));
        let wait = {
            let thread = Arc::clone(&thread);
            // A thread that panicked has reported it already.
            move || drop(thread.lock().unwrap_or_else(PoisonError::into_inner).take().map(JoinHandle::join))
        };
        let Ok(runtime) = Handle::try_current() else { return wait() };
        let (started, has_started) = std::sync::mpsc::channel();
        let waits = wait.clone();
        drop(runtime.spawn_blocking(move || {
            started.send(()).ok();
            waits();
        }));
        // A runtime that shuts down drops what it has not started, and with it the sender. It runs no other tasks then.
        if has_started.recv().is_err() {
            wait();
        }
    }
}

fn write(mut connection: Connection, path: &Path, mut jobs: mpsc::Receiver<Job>) {
    let opened = identity(path);
    // As it was opened.
    let mut durability = Durability::Durable;
    let mut group = Vec::with_capacity(TOGETHER);
    while jobs.blocking_recv_many(&mut group, TOGETHER) > 0 {
        if identity(path) != opened {
            // SQLite would go on writing to a file that no other process finds.
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
fn commit(connection: &mut Connection, group: &[Job]) -> rusqlite::Result<Vec<rusqlite::Result<Committed>>> {
    let mut transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(group.len());
    for job in group {
        let mut savepoint = transaction.savepoint()?;
        let outcome = batch::make(&savepoint, &job.batch);
        if outcome.is_err() {
            // A full disk ends the whole transaction; then this fails too, and so do all.
            savepoint.rollback()?;
        }
        savepoint.commit()?;
        outcomes.push(match outcome {
            Ok(committed) => Ok(committed),
            Err(Stopped::Refused(refusal)) => Ok(Committed::Refused(refusal)),
            Err(Stopped::Failed(error)) => Err(error),
        });
    }
    transaction.commit()?;
    Ok(outcomes)
}

impl Job {
    /// Nobody may wait for it any more.
    fn answer(self, outcome: Result<Committed, StoreError>) {
        self.answer.send(outcome).ok();
    }
}
