//! The store of a simulation (`tests/simulation`): a SQLite file without threads, in the place of either database.
//!
//! What a database on another machine adds is whether it can be reached, which the simulation decides before each call and after
//! each commit.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_common::{BoxFuture, blocking};
use rusqlite::Connection;

use super::connection::failed;
use super::reader::ReadConnection;
use super::{connections, find, held, page, writer};
use crate::location::StoreAddress;
use crate::store::{
    Batch, Committed, HeldLease, Kind, Page, Pending, RecordNumber, SealedRecord, Store, StoreError, StoreKey,
};

/// Waits until the database can be reached; an error is that it cannot. `true`: after a commit.
pub type Reach = Arc<dyn Fn(bool) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

thread_local! {
    static SERVER: RefCell<Option<(PathBuf, Reach)>> = const { RefCell::new(None) };
}

/// Lets this thread find the database of every server in a file.
pub fn serve_from(file: PathBuf, reach: Reach) {
    SERVER.set(Some((file, reach)));
}

#[derive(Debug)]
pub(crate) struct SimulatedStore {
    path: PathBuf,
    reader: Mutex<ReadConnection>,
    writer: Mutex<Connection>,
    server: Server,
}

/// How a database of another machine is reached. `None`: it is a file.
struct Server(Option<Reach>);

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if self.0.is_some() { "Server" } else { "File" })
    }
}

impl SimulatedStore {
    /// Opens the database at an address.
    pub(crate) async fn open(address: &StoreAddress) -> Result<Self, StoreError> {
        let (path, server) = match address {
            StoreAddress::File(path) => (path.clone(), Server(None)),
            StoreAddress::Server(_) => {
                let (path, reach) =
                    SERVER.with_borrow(Clone::clone).expect("a simulation says where its server is");
                let server = Server(Some(reach));
                server.reached(&path, false).await?;
                (path, server)
            }
        };
        let connecting = path.clone();
        let [reader, writer] = blocking(move || connections(&connecting)).await?;
        let reader = Mutex::new(ReadConnection::new(path.clone(), reader));
        Ok(Self { path, reader, writer: Mutex::new(writer), server })
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ReadConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        Box::pin(async move {
            self.server.reached(&self.path, false).await?;
            work(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

impl Server {
    async fn reached(&self, path: &std::path::Path, is_committed: bool) -> Result<(), StoreError> {
        let Some(reach) = &self.0 else { return Ok(()) };
        reach(is_committed).await.map_err(|reason| StoreError::Server {
            location: path.display().to_string(),
            doing: if is_committed { "committing" } else { "connecting" },
            error: reason.into(),
        })
    }
}

impl Store for SimulatedStore {
    fn find<'a>(&'a self, kind: Kind, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>> {
        let key = key.clone();
        self.read(move |reader| find(reader, kind, &key))
    }

    fn page<'a>(
        &'a self,
        kind: Kind,
        package: Option<&'a str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Pending<'a, Page> {
        let package = package.map(str::to_owned);
        self.read(move |reader| page(reader, kind, package.as_deref(), after, at_most))
    }

    fn commit(&self, batch: Batch) -> Pending<'_, Committed> {
        Box::pin(async move {
            self.server.reached(&self.path, false).await?;
            let committed = {
                let mut connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
                writer::commit_alone(&mut connection, batch)
            };
            let committed = committed.map_err(|error| failed(&self.path, writer::DOING, Arc::new(error)))?;
            self.server.reached(&self.path, true).await?;
            Ok(committed)
        })
    }

    fn held<'a>(&'a self, name: &'a str) -> Pending<'a, Option<HeldLease>> {
        let name = name.to_owned();
        self.read(move |reader| {
            held(&reader.connection, &name).map_err(|error| reader.failed("looking at a lease", error))
        })
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }
}
