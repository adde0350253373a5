//! The store of a simulation (`tests/simulation`): a SQLite file without threads, in the place of either database.
//!
//! What a database on another machine adds is whether it can be reached, which the simulation decides before each call and after
//! each commit, and that its clock and its disk are its own.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_common::BoxFuture;
use rusqlite::Connection;

use super::connection::failed;
use super::reader::ReadConnection;
use super::{connections, find, held, page, writer};
use crate::location::StoreAddress;
use crate::store::{
    Batch, Committed, HeldLease, Kind, Page, Pending, RecordNumber, SealedRecord, Store, StoreError, StoreKey,
};

/// The server of a simulation.
pub trait DatabaseServer: Send + Sync {
    /// Waits until it can be reached.
    fn reached(&self) -> BoxFuture<'static, Result<(), String>>;

    /// Does what it does for a party, on its own machine: nothing, if the party does not live to ask for it.
    fn works(&self, work: &mut dyn FnMut());
}

thread_local! {
    static SERVER: RefCell<Option<(PathBuf, Arc<dyn DatabaseServer>)>> = const { RefCell::new(None) };
}

/// Lets this thread find the database of every server in a file.
pub fn serve_from(file: PathBuf, server: Arc<dyn DatabaseServer>) {
    SERVER.set(Some((file, server)));
}

#[derive(Debug)]
pub(crate) struct SimulatedStore {
    path: PathBuf,
    reader: Mutex<ReadConnection>,
    writer: Mutex<Connection>,
    place: Place,
}

/// Where a database is.
#[derive(Clone)]
enum Place {
    File,
    Server(Arc<dyn DatabaseServer>),
}

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(if matches!(self, Self::Server(_)) { "Server" } else { "File" })
    }
}

impl SimulatedStore {
    /// Opens the database at an address.
    pub(crate) async fn open(address: &StoreAddress) -> Result<Self, StoreError> {
        let (path, place) = match address {
            StoreAddress::File(path) => (path.clone(), Place::File),
            StoreAddress::Server(_) => {
                let (path, server) =
                    SERVER.with_borrow(Clone::clone).expect("a simulation says where its server is");
                (path, Place::Server(server))
            }
        };
        let [reader, writer] = place.works(&path, || connections(&path)).await?;
        let reader = Mutex::new(ReadConnection::new(path.clone(), reader));
        Ok(Self { path, reader, writer: Mutex::new(writer), place })
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ReadConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        Box::pin(
            self.place
                .works(&self.path, || work(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))),
        )
    }
}

impl Place {
    /// Lets the database do something.
    async fn works<T>(
        &self,
        path: &Path,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Self::Server(server) = self else { return work() };
        let failed = |reason: String| {
            let location = path.display().to_string();
            StoreError::Server { location, doing: "connecting", error: reason.into() }
        };
        server.reached().await.map_err(failed)?;
        let (mut work, mut outcome) = (Some(work), None);
        server.works(&mut || outcome = work.take().map(|work| work()));
        outcome.unwrap_or_else(|| Err(failed("the party has ended".to_owned())))
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
            let commit = || {
                let mut connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
                let committed = writer::commit_alone(&mut connection, batch);
                committed.map_err(|error| failed(&self.path, writer::DOING, Arc::new(error)))
            };
            let committed = self.place.works(&self.path, commit).await?;
            if let Place::Server(server) = &self.place {
                let lost = |reason: String| StoreError::Unknown {
                    location: self.path.display().to_string(),
                    error: reason.into(),
                };
                server.reached().await.map_err(lost)?;
            }
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
