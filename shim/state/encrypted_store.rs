//! Saved objects in a store: encrypted on the way in, checked on the way out.

mod lazy;
mod rotation;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use isthmus_proto::tfstackdata1::StateResourceInstanceObjectV1;
use prost::Message as _;

use super::encryption::{CipherKey, Unopened, key_of};
use super::key::{KeyError, KeySource, MasterKey};
use super::keyring::{self, Ring};
use super::location::StoreAddress;
use super::postgres::PostgresStore;
use super::record::{Beside, RecordError, SavedObject};
use super::sqlite::SqliteStore;
use super::store::{
    Batch, Change, Committed, Kind, Page, RecordNumber, RecordRef, Refusal, SealedRecord, Store, StoreError,
    StoreKey,
};
use super::tombstones::LastSweep;

pub use lazy::LazyEncryptedStore;
pub use rotation::Rotated;

/// How many records are read at once where many are: what is in memory at a time.
const PAGE: u32 = 256;

/// How often a change is tried again because the keys have changed meanwhile. Once is enough, unless they are changed
/// again and again.
const ATTEMPTS: usize = 5;

/// A store of saved objects.
#[derive(Clone, Debug)]
pub struct EncryptedStore {
    store: Arc<dyn Store>,
    master: Arc<MasterKey>,
    ring: Arc<RwLock<Arc<Ring>>>,
    /// What the user should know of how it was opened.
    missing: Option<Arc<str>>,
    last_sweep: Arc<LastSweep>,
}

/// What is kept of one resource.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The object.
    pub object: SavedObject,
    /// What the owner of the resource keeps beside it; the state store does not look into it.
    pub companion: Bytes,
}

/// Some of what is kept, in the order in which it was added.
#[derive(Debug)]
pub struct SavedPage {
    /// What can be read.
    pub records: Vec<(RecordRef, StoreKey, Saved)>,
    /// What cannot.
    pub faults: Vec<Fault>,
    /// Where the next page begins. `None`: there is no more.
    pub next: Option<RecordNumber>,
}

/// Something in a store that cannot be read.
#[derive(Debug)]
pub struct Fault {
    /// Which record; `None`: what is damaged is the database itself, and more than what is listed may be missing.
    pub number: Option<RecordNumber>,
    /// What it seems to be found by.
    pub key: Option<StoreKey>,
    /// What is wrong.
    pub reason: String,
}

/// A record as it is encrypted: the object as Terraform writes it, and what that has no place for.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Envelope {
    #[prost(message, optional, tag = "1")]
    object: Option<StateResourceInstanceObjectV1>,
    #[prost(bytes = "bytes", tag = "2")]
    companion: Bytes,
    #[prost(message, optional, tag = "3")]
    beside: Option<Beside>,
}

/// A state store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncryptedStoreError {
    /// The store beneath failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key is missing or wrong, or the record is damaged.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The record was decrypted, but is no object.
    #[error("the record of {key} in the store {store} cannot be read")]
    Record {
        /// Which record.
        key: Box<StoreKey>,
        /// Where.
        store: String,
        /// Why.
        #[source]
        error: RecordError,
    },
    /// The record was decrypted, but is no record.
    #[error(
        "the record of {key} in the store {store} cannot be read; use the version of isthmus that wrote it, or a newer one"
    )]
    Envelope {
        /// Which record.
        key: Box<StoreKey>,
        /// Where.
        store: String,
        /// Why.
        #[source]
        error: prost::DecodeError,
    },
    /// What is listed is not all that was kept.
    #[error(
        "the store {store} is damaged: {reason}; restore it from a backup, or export what can still be read"
    )]
    Incomplete {
        /// Where.
        store: String,
        /// What was found.
        reason: String,
    },
    /// Another process has changed the record since it was read.
    #[error("the record of {key} in the store {store} was changed by another process meanwhile; do it again")]
    Changed {
        /// Which record.
        key: Box<StoreKey>,
        /// Where.
        store: String,
    },
    /// Another process is changing the resource now.
    #[error(
        "{key} is being changed by another process ({holder}) right now; do it again when that has ended. If it ended \
         without saying so, its claim ends within {} s", super::journal::LEASE.as_secs()
    )]
    Busy {
        /// Which resource.
        key: Box<StoreKey>,
        /// Who is changing it.
        holder: String,
    },
    /// Another process has taken over a change, because this one was not heard of for too long.
    #[error(
        "{key} was {done}, but its new state could not be stored in {store}: this process was not heard of for so long that \
         another one has taken the resource over. What came of it is kept with the intent, which stays open"
    )]
    Overtaken {
        /// Which resource.
        key: Box<StoreKey>,
        /// "created" or the like.
        done: &'static str,
        /// Where.
        store: String,
    },
    /// The keys were changed too often while something was being written.
    #[error("the keys of the store {store} are being changed; do it again when that has ended")]
    KeyRotationInProgress {
        /// Where.
        store: String,
    },
    /// A new key cannot take the place of the old one.
    #[error("the new key cannot be put in the place of the old one, which stays in use; do it again")]
    Publish {
        /// Why.
        #[source]
        error: std::io::Error,
    },
}

impl EncryptedStore {
    /// Opens the state store in a directory, which is made where it is missing. Without a configured key file, one is kept beside
    /// the store; it is made with a random key as long as there is nothing yet that another key was used for.
    ///
    /// # Errors
    /// When the store or the key cannot be made, opened or used.
    pub async fn open(folder: &Path, configured_key: Option<&Path>) -> Result<Self, EncryptedStoreError> {
        let source = match configured_key {
            Some(path) => KeySource::File(path.to_owned()),
            None => KeySource::Folder(folder.to_owned()),
        };
        Self::connect(&StoreAddress::in_folder(folder), &source).await
    }

    /// Opens the state store at an address, which is made where it is missing.
    ///
    /// # Errors
    /// When the store or the key cannot be made, opened or used; [`KeyError::WrongKey`] when the store was encrypted with
    /// another key.
    pub async fn connect(address: &StoreAddress, key: &KeySource) -> Result<Self, EncryptedStoreError> {
        // In this order: who creates both creates the store first, so a key without a store is an older one.
        let own_key = key.own_file();
        let server = match address {
            StoreAddress::File(path) => {
                let older_key = own_key.filter(|_| !path.exists());
                let encrypted_store =
                    Self::over(Arc::new(SqliteStore::open(path.clone()).await?), key).await?;
                return Ok(encrypted_store.created_beside(older_key));
            }
            StoreAddress::Server(server) => server,
        };
        let store = Arc::new(PostgresStore::connect(server).await?);
        let older_key = match own_key {
            Some(own_key) if keyring::rows(&*store).await?.0.is_empty() => Some(own_key),
            Some(_) | None => None,
        };
        let opened =
            Self::over(store, key).await.map(|encrypted_store| encrypted_store.created_beside(older_key));
        opened.map_err(|error| match error {
            // Others have the key; a file is only what this machine would have by itself.
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
    pub async fn over(store: Arc<dyn Store>, key: &KeySource) -> Result<Self, EncryptedStoreError> {
        let (master, ring) = keyring::open(&*store, key).await?;
        let ring = Arc::new(RwLock::new(Arc::new(ring)));
        Ok(Self { store, master: Arc::new(master), ring, missing: None, last_sweep: Arc::default() })
    }

    /// Notes that the store has just been created, although there was a key already, which a store had been encrypted with.
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

    /// What the user should know about how the state store is kept.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.missing.as_deref().map(str::to_owned).into_iter().chain(self.master.warning.clone())
    }

    /// Where it is, for messages.
    pub fn location(&self) -> String {
        self.store.location()
    }

    /// What is kept under a key, newest first: providers' ids are not always unique.
    pub async fn find(&self, key: &StoreKey) -> Result<Vec<(RecordRef, Saved)>, EncryptedStoreError> {
        let records = self.store.find(Kind::Object, key).await?;
        let mut found = Vec::with_capacity(records.len());
        for record in &records {
            found.push((record.place, self.unsealed_object(record).await?));
        }
        Ok(found)
    }

    /// Everything that is kept, of one package or of all, sorted by key. What can be much is better read in pages.
    ///
    /// # Errors
    /// When anything of it cannot be read: a list with something missing would be a wrong answer.
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

    /// Some of what is kept, of one package or of all, after a number: what can be read, and what cannot.
    ///
    /// # Errors
    /// When nothing can be read at all.
    pub async fn page(
        &self,
        package: Option<&str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Result<SavedPage, EncryptedStoreError> {
        let Page { records, damaged, next, fault } =
            self.store.page(Kind::Object, package, after, at_most).await?;
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

    /// Keeps something new. It is durable when this returns.
    pub async fn add(&self, key: &StoreKey, saved: &Saved) -> Result<RecordRef, EncryptedStoreError> {
        let plain = Envelope::from(saved).encode_to_vec();
        let committed = self.write(|cipher| Batch::of(add(cipher, key, &plain))).await?;
        self.place_of(committed, key)
    }

    /// Replaces what is kept (under the same key), or keeps it anew where another process has removed it meanwhile. It is
    /// durable when this returns.
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
        let committed = self.write(|cipher| Batch::of(replace(cipher, place, key, &plain))).await?;
        if let Committed::Refused(Refusal::Changed { kind: Kind::Object, version: None, .. }) = committed {
            return self.add(key, saved).await;
        }
        self.place_of(committed, key)
    }

    /// Forgets something, whatever it is by now; it may be forgotten already.
    pub async fn remove(&self, number: RecordNumber) -> Result<(), EncryptedStoreError> {
        let remove = Change::Remove { kind: Kind::Object, number, version: None };
        // Nothing that it depends on: it cannot be refused.
        self.store.commit(Batch::of(remove)).await?;
        Ok(())
    }

    fn place_of(&self, committed: Committed, key: &StoreKey) -> Result<RecordRef, EncryptedStoreError> {
        match committed {
            Committed::Done { places, .. } => {
                Ok(*places.first().expect("what was added or replaced has a place"))
            }
            Committed::Refused(_) => Err(self.changed(key)),
        }
    }

    pub(super) fn changed(&self, key: &StoreKey) -> EncryptedStoreError {
        EncryptedStoreError::Changed { key: Box::new(key.clone()), store: self.location() }
    }

    /// Commits what is sealed with the key of the moment, and with another one if that has changed meanwhile.
    pub(super) async fn write(
        &self,
        batch: impl Fn(&CipherKey) -> Batch,
    ) -> Result<Committed, EncryptedStoreError> {
        for _ in 0..ATTEMPTS {
            let (cipher, row) = self.ring().writing();
            let mut batch = batch(&cipher);
            batch.require.push((Kind::Key, row));
            match self.store.commit(batch).await? {
                Committed::Refused(Refusal::Changed { kind: Kind::Key, .. }) => self.reload().await?,
                committed => return Ok(committed),
            }
        }
        Err(EncryptedStoreError::KeyRotationInProgress { store: self.location() })
    }

    pub(super) async fn unseal(
        &self,
        kind: Kind,
        record: &SealedRecord,
    ) -> Result<Vec<u8>, EncryptedStoreError> {
        let key = || Box::new(record.key.clone());
        let damaged = || KeyError::Damaged { key: key(), store: self.location() };
        let id = match key_of(&record.bytes) {
            Ok(id) => id,
            Err(Unopened::Form(form)) => return Err(KeyError::Form { key: key(), form }.into()),
            Err(_) => return Err(damaged().into()),
        };
        let mut cipher = self.ring().key(id).cloned();
        if cipher.is_none() {
            // Another process has begun to use a new key, or this is no key of this store's at all.
            self.reload().await?;
            cipher = self.ring().key(id).cloned();
        }
        let plain = cipher.and_then(|cipher| cipher.unseal(kind, &record.key, &record.bytes).ok());
        plain.ok_or_else(|| damaged().into())
    }

    async fn unsealed_object(&self, record: &SealedRecord) -> Result<Saved, EncryptedStoreError> {
        let plain = self.unseal(Kind::Object, record).await?;
        self.object_in(&record.key, Bytes::from(plain))
    }

    pub(super) fn object_in(&self, key: &StoreKey, plain: Bytes) -> Result<Saved, EncryptedStoreError> {
        let place = || (Box::new(key.clone()), self.store.location());
        let envelope = Envelope::decode(plain).map_err(|error| {
            let (key, store) = place();
            EncryptedStoreError::Envelope { key, store, error }
        })?;
        let (message, beside) = (envelope.object.unwrap_or_default(), envelope.beside.unwrap_or_default());
        let object = SavedObject::from_parts(message, beside).map_err(|error| {
            let (key, store) = place();
            EncryptedStoreError::Record { key, store, error }
        })?;
        Ok(Saved { object, companion: envelope.companion })
    }

    fn ring(&self) -> Arc<Ring> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn reload(&self) -> Result<(), EncryptedStoreError> {
        let ring = keyring::reload(&*self.store, &self.master).await?;
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ring);
        Ok(())
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(super) fn last_sweep(&self) -> &LastSweep {
        &self.last_sweep
    }
}

impl Fault {
    /// A record that is not as it was written.
    pub(super) fn of_damaged(number: RecordNumber, key: Option<StoreKey>) -> Self {
        let reason = match &key {
            Some(key) => format!("the record of {key} is not as it was written"),
            None => format!("the record {} is not as it was written", number.0),
        };
        Self { number: Some(number), key, reason }
    }

    /// A database in which more may be missing.
    pub(super) fn of_database(reason: String) -> Self {
        Self { number: None, key: None, reason }
    }

    /// A record that cannot be read.
    ///
    /// # Errors
    /// With the very error, where it concerns all records.
    pub(super) fn of(record: SealedRecord, error: EncryptedStoreError) -> Result<Self, EncryptedStoreError> {
        match error {
            EncryptedStoreError::Store(_) | EncryptedStoreError::Key(KeyError::WrongKey { .. }) => Err(error),
            error => Ok(Self {
                number: Some(record.place.number),
                key: Some(record.key),
                reason: isthmus_common::error_chain(&error),
            }),
        }
    }
}

impl From<&Saved> for Envelope {
    fn from(saved: &Saved) -> Self {
        Self {
            object: Some(saved.object.to_message()),
            companion: saved.companion.clone(),
            beside: Some(saved.object.beside()),
        }
    }
}

fn add(cipher: &CipherKey, key: &StoreKey, plain: &[u8]) -> Change {
    let kind = Kind::Object;
    Change::Add { kind, key: key.clone(), bytes: cipher.seal(kind, key, plain) }
}

fn replace(cipher: &CipherKey, place: RecordRef, key: &StoreKey, plain: &[u8]) -> Change {
    let kind = Kind::Object;
    Change::Replace { kind, place, key: key.clone(), bytes: cipher.seal(kind, key, plain) }
}
