//! The reader thread.
//!
//! SQLite blocks, and a connection serves one read at a time. On the runtime's blocking threads, a
//! thousand reads would occupy as many threads, to wait for one lock that serves them in no order.
//! So the connection belongs to a thread, whose queue serves them in the order of their arrival. A
//! call has one read in progress, so the queue is as long as there are calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::connection::{failed, is_corruption};
use super::index;
use crate::store::{Kind, Pending, StoreError};

/// The queue of the thread, which ends when this is dropped and the queue is empty.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    queue: mpsc::Sender<Read>,
}

/// A read, which sends its own result.
type Read = Box<dyn FnOnce(&mut ReadConnection) + Send>;

/// The connection for reads.
#[derive(Debug)]
pub(super) struct ReadConnection {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    /// Result of the structure check, if done.
    verdict: Option<Result<(), String>>,
}

impl Reader {
    pub(super) fn start(connection: Connection, path: PathBuf) -> Result<(Self, JoinHandle<()>), StoreError> {
        let (queue, reads) = mpsc::channel::<Read>();
        let mut reader = ReadConnection::new(path.clone(), connection);
        let thread = std::thread::Builder::new()
            .name("store-reader".to_owned())
            .spawn(move || reads.iter().for_each(|read| read(&mut reader)))
            .map_err(|error| StoreError::Create { path: path.clone(), error })?;
        Ok((Self { path, queue }, thread))
    }

    /// Queues a read at once. One whose caller no longer waits is skipped.
    pub(super) fn run<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ReadConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'a, T> {
        let (answer, answered) = oneshot::channel();
        let read = move |reader: &mut ReadConnection| {
            if !answer.is_closed() {
                answer.send(work(reader)).ok();
            }
        };
        // A thread that has ended drops the read, and with it the sender.
        self.queue.send(Box::new(read)).ok();
        let location = self.path.display().to_string();
        Box::pin(async move { answered.await.map_err(|_| StoreError::Interrupted { location })? })
    }
}

impl ReadConnection {
    pub(super) fn new(path: PathBuf, connection: Connection) -> Self {
        Self { path, connection, verdict: None }
    }

    pub(super) fn failed(&self, doing: &'static str, error: rusqlite::Error) -> StoreError {
        failed(&self.path, doing, Arc::new(error))
    }

    /// Checks that all records of a kind can be found. The check of the structure, slow in large
    /// files, is done once.
    pub(super) fn check(&mut self, kind: Kind) -> Result<Result<(), String>, StoreError> {
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
            Err(error) => return Err(self.failed("checking its structure", error)),
        };
        if kind == Kind::Object {
            self.verdict = Some(verdict.clone());
        }
        Ok(verdict)
    }
}

/// SQLite's check of the file's structure.
fn structure(connection: &Connection) -> rusqlite::Result<Result<(), String>> {
    let found = connection.query_row("PRAGMA integrity_check(1)", (), |row| row.get::<_, String>(0));
    match found {
        Ok(found) if found == "ok" => Ok(Ok(())),
        Ok(found) => Ok(Err(found)),
        Err(error) if is_corruption(&error) => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}
