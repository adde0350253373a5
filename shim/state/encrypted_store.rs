//! A store of saved objects: encrypts and decrypts its records.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_common::blocking;
use prost::Message as _;

use super::encryption::CipherKey;
use super::error::{EncryptedStoreError, Fault};
use super::failed_delete_states::FailedDeleteStates;
use super::journal::{Journal, JournalFiles};
use super::key::KeySource;
use super::key_error::KeyError;
use super::keyring;
use super::location::StoreAddress;
use super::postgres::PostgresStore;
use super::rotation::{Rotated, Rotation};
use super::saved::{Envelope, Saved};
use super::sealed_store::SealedStore;
use super::sqlite::SqliteStore;
use super::stack_records::StackRecords;
use super::store::{
    Batch, Change, Committed, Kind, PAGE, Page, RecordNumber, RecordRef, Refusal, SealedRecord, Store,
    StoreKey,
};
use super::tombstones::Tombstones;

/// A store of saved objects.
#[derive(Clone, Debug)]
pub struct EncryptedStore {
    pub(super) sealed: SealedStore,
    journal: Journal,
    /// A warning from opening it.
    missing: Option<Arc<str>>,
}

/// Whether a journal beside the key explains that it is there without a store.
pub(super) fn is_of_journal(key: &Path) -> bool {
    key.parent().is_some_and(|home| JournalFiles::directory_in(home).exists())
}

/// A page of saved objects, in the order in which they were added.
#[derive(Debug)]
pub struct SavedPage {
    /// Records that can be read.
    pub records: Vec<(RecordRef, StoreKey, Saved)>,
    /// Records that cannot.
    pub faults: Vec<Fault>,
    /// Start of the next page; `None`: this is the last.
    pub next: Option<RecordNumber>,
}

impl EncryptedStore {
    /// Opens the state store in a directory, and creates it if it is missing. Without a configured
    /// key file, one beside the store is used; it is created with a random key as long as the store
    /// has no record of another key.
    ///
    /// # Errors
    /// When the store or the key cannot be created, opened or used.
    pub async fn open(directory: &Path, configured_key: Option<&Path>) -> Result<Self, EncryptedStoreError> {
        let source = match configured_key {
            Some(path) => KeySource::File(path.to_owned()),
            None => KeySource::Directory(directory.to_owned()),
        };
        Self::connect(&StoreAddress::in_directory(directory), &source).await
    }

    /// Opens the state store at an address, and creates it if it is missing.
    ///
    /// # Errors
    /// When the store or the key cannot be created, opened or used; [`KeyError::WrongKey`] when the
    /// store was encrypted with another key.
    pub async fn connect(address: &StoreAddress, key: &KeySource) -> Result<Self, EncryptedStoreError> {
        // In this order: a process that creates both creates the store first, so a key without a
        // store is from an earlier store, or from a journal.
        let own_key = key.own_file().await.filter(|key| !is_of_journal(key));
        #[cfg(feature = "simulation")]
        if isthmus_common::simulation::is_simulated() {
            return Self::over(
                Arc::new(super::sqlite::simulation::SimulatedStore::open(address).await?),
                key,
            )
            .await;
        }
        let server = match address {
            StoreAddress::File(path) => {
                let file = path.clone();
                let is_there = blocking(move || file.exists()).await;
                let store = Self::over(Arc::new(SqliteStore::open(path.clone()).await?), key).await?;
                return Ok(store.created_beside(own_key.filter(|_| !is_there)));
            }
            StoreAddress::Server(server) => server,
        };
        let store = Arc::new(PostgresStore::connect(server).await?);
        let older_key = match own_key {
            Some(own_key) if keyring::rows(&*store).await?.0.is_empty() => Some(own_key),
            Some(_) | None => None,
        };
        let opened = Self::over(store, key).await.map(|opened| opened.created_beside(older_key));
        opened.map_err(|error| match error {
            // A shared store: its key is on the other machines, and the file would only be this
            // machine's default.
            EncryptedStoreError::Key(KeyError::Missing { path, store }) => {
                KeyError::NotSet { path, store }.into()
            }
            error => error,
        })
    }

    /// A state store over any store.
    ///
    /// # Errors
    /// As of [`Self::connect`].
    pub(super) async fn over(store: Arc<dyn Store>, key: &KeySource) -> Result<Self, EncryptedStoreError> {
        let sealed = SealedStore::open(store, key).await?;
        Ok(Self { journal: Journal::new(sealed.clone()), sealed, missing: None })
    }

    /// Adds a warning that the store is new, but a key from an earlier store exists.
    fn created_beside(self, older_key: Option<PathBuf>) -> Self {
        let missing = older_key.map(|key| {
            Arc::from(format!(
                "state store {store} was missing and has been created empty, although its key file {key} existed. If objects \
                 are missing, restore the store from a backup, or set ISTHMUS_STORE or ISTHMUS_HOME to where it is",
                store = self.location(),
                key = key.display()
            ))
        });
        Self { missing, ..self }
    }

    /// Warnings about the store and its key.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.missing.as_deref().map(str::to_owned).into_iter().chain(self.sealed.master.warning.clone())
    }

    /// The location, for messages.
    pub fn location(&self) -> String {
        self.sealed.store.location()
    }

    /// The journal.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The tombstones.
    pub fn tombstones(&self) -> &Tombstones {
        self.journal.tombstones()
    }

    /// States that failed deletions left.
    pub fn failed_delete_states(&self) -> FailedDeleteStates<'_> {
        FailedDeleteStates::of(&self.sealed)
    }

    /// The records of a stack, except objects.
    pub fn stack_records(&self) -> StackRecords<'_> {
        StackRecords::of(&self.sealed)
    }

    /// Re-encrypts all records for the user's new key. The store was opened with the old key; after
    /// an interrupted rotation, with either. The old key cannot be used afterwards.
    ///
    /// The new key must be in its file or setting before. A store's own key file is replaced by a
    /// random one with [`Self::rotate_own_key`]. `journal` is the directory of journal files with the same
    /// key, whether it exists or not.
    ///
    /// # Errors
    /// When the store or the new key cannot be used, or a record cannot be read: it would be lost
    /// with the old key. The rotation can then be repeated.
    /// [`EncryptedStoreError::KeyRotationInProgress`] when another process rotates the keys.
    pub async fn rotate(
        &self,
        new: &KeySource,
        journal: Option<&Path>,
    ) -> Result<Rotated, EncryptedStoreError> {
        let rotation = Rotation::begin(&self.sealed, journal).await?;
        let rotated = rotation.to(new, || async { Ok(()) }).await;
        rotation.end().await;
        rotated
    }

    /// Replaces the key file of a store's directory by one with a random key.
    ///
    /// # Errors
    /// As of [`Self::rotate`].
    pub async fn rotate_own_key(&self, directory: &Path) -> Result<Rotated, EncryptedStoreError> {
        let journal = JournalFiles::directory_in(directory);
        let rotation = Rotation::begin(&self.sealed, Some(&journal)).await?;
        let rotated = rotation.to_own_key(directory).await;
        rotation.end().await;
        rotated
    }

    /// Saved objects of a key, newest first: providers' ids are not always unique.
    pub async fn find(&self, key: &StoreKey) -> Result<Vec<(RecordRef, Saved)>, EncryptedStoreError> {
        let records = self.sealed.store.find(Kind::Object, key).await?;
        let mut found = Vec::with_capacity(records.len());
        for record in &records {
            found.push((record.place, self.unsealed_object(record).await?));
        }
        Ok(found)
    }

    /// All saved objects of one package or of all, sorted by key. [`Self::page`] reads large stores
    /// in pages.
    ///
    /// # Errors
    /// When any of them cannot be read: an incomplete list would be wrong.
    pub async fn list(
        &self,
        package: Option<&str>,
    ) -> Result<Vec<(RecordRef, StoreKey, Saved)>, EncryptedStoreError> {
        let mut listed = Vec::new();
        let mut after = Some(RecordNumber(0));
        while let Some(from) = after {
            let page = self.page(package, from, PAGE).await?;
            if let Some(fault) = page.faults.into_iter().next() {
                return Err(EncryptedStoreError::Incomplete { store: self.location(), reason: fault.reason });
            }
            listed.extend(page.records);
            after = page.next;
        }
        listed.sort_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
        Ok(listed)
    }

    /// A page of saved objects of one package or of all, after a number, including those that
    /// cannot be read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn page(
        &self,
        package: Option<&str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Result<SavedPage, EncryptedStoreError> {
        let Page { records, damaged, next, fault } =
            self.sealed.store.page(Kind::Object, package, after, at_most).await?;
        let mut faults: Vec<Fault> =
            damaged.into_iter().map(|(number, key)| Fault::of_damaged(number, key)).collect();
        faults.extend(fault.map(Fault::of_database));
        let mut readable = Vec::with_capacity(records.len());
        for record in records {
            match self.unsealed_object(&record).await {
                Ok(saved) => readable.push((record.place, record.key, saved)),
                Err(error) => faults.push(Fault::of(record, error)?),
            }
        }
        Ok(SavedPage { records: readable, faults, next })
    }

    /// Adds a new object. It is durable when this returns.
    pub async fn add(&self, key: &StoreKey, saved: &Saved) -> Result<RecordRef, EncryptedStoreError> {
        let plain = Envelope::from(saved).encode_to_vec();
        let committed = self.sealed.write(|cipher| Batch::of(cipher.add(Kind::Object, key, &plain))).await?;
        self.place_of(committed, key)
    }

    /// Replaces an object under the same key, or adds it if another process has removed it
    /// meanwhile. It is durable when this returns.
    ///
    /// # Errors
    /// [`EncryptedStoreError::Changed`] when another process has changed it since it was read.
    pub async fn replace(
        &self,
        place: RecordRef,
        key: &StoreKey,
        saved: &Saved,
    ) -> Result<RecordRef, EncryptedStoreError> {
        let plain = Envelope::from(saved).encode_to_vec();
        let replace = |cipher: &CipherKey| Batch::of(cipher.replace(Kind::Object, place, key, &plain));
        let committed = self.sealed.write(replace).await?;
        if let Committed::Refused(Refusal::Changed { kind: Kind::Object, version: None, .. }) = committed {
            return self.add(key, saved).await;
        }
        self.place_of(committed, key)
    }

    /// Removes an object, whatever its version; it may be missing.
    pub async fn remove(&self, number: RecordNumber) -> Result<(), EncryptedStoreError> {
        // Without conditions, so it cannot be refused.
        self.sealed.store.commit(Batch::of(Change::remove(Kind::Object, number))).await?;
        Ok(())
    }

    fn place_of(&self, committed: Committed, key: &StoreKey) -> Result<RecordRef, EncryptedStoreError> {
        match committed {
            Committed::Done { places, .. } => {
                Ok(*places.first().expect("what was added or replaced has a place"))
            }
            Committed::Refused(_) => Err(self.sealed.changed(key)),
        }
    }

    async fn unsealed_object(&self, record: &SealedRecord) -> Result<Saved, EncryptedStoreError> {
        let envelope = self.sealed.decoded(Kind::Object, record).await?;
        self.sealed.saved_in(&record.key, envelope)
    }
}
