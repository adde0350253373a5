//! A store with encryption of its records.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use prost::Message;

use super::encryption::{CipherKey, Unopened, key_of};
use super::error::EncryptedStoreError;
use super::holder::{Holder, takes_over};
use super::key::{KeySource, MasterKey};
use super::key_error::KeyError;
use super::keyring::{self, Ring};
use super::saved::{Envelope, Saved};
use super::store::{
    Batch, Change, Claim, Committed, Kind, Lease, RecordRef, Refusal, SealedRecord, Store, StoreKey,
};

/// Limit of attempts when the keys change meanwhile. One retry suffices, unless they change
/// repeatedly.
pub(super) const ATTEMPTS: usize = 5;

/// A store, and the keys of its records.
#[derive(Clone, Debug)]
pub(super) struct SealedStore {
    pub(super) store: Arc<dyn Store>,
    /// The user's key when it was opened.
    pub(super) master: Arc<MasterKey>,
    source: Arc<KeySource>,
    ring: Arc<RwLock<Arc<Ring>>>,
}

impl SealedStore {
    pub(super) async fn open(store: Arc<dyn Store>, key: &KeySource) -> Result<Self, EncryptedStoreError> {
        let (master, ring) = keyring::open(&*store, key).await?;
        let (master, source) = (Arc::new(master), Arc::new(key.clone()));
        Ok(Self { store, master, source, ring: Arc::new(RwLock::new(Arc::new(ring))) })
    }

    /// Commits changes encrypted with the current key, and again if it has changed meanwhile.
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
        Err(self.rotating())
    }

    /// Commits changes together with acquiring a lease, also from a process that has exited.
    ///
    /// # Errors
    /// [`EncryptedStoreError::Busy`] when another process holds the lease.
    pub(super) async fn claim(
        &self,
        mut claim: Claim,
        key: &StoreKey,
        changes: impl Fn(&CipherKey) -> Vec<Change>,
    ) -> Result<(Vec<RecordRef>, Lease), EncryptedStoreError> {
        loop {
            let batch =
                |cipher: &CipherKey| Batch { claim: Some(claim.clone()), ..Batch::all(changes(cipher)) };
            match self.write(batch).await? {
                Committed::Done { places, lease } => {
                    return Ok((places, lease.expect("a claim that is not refused has a lease")));
                }
                Committed::Refused(Refusal::Held(held)) => {
                    if takes_over(&mut claim, &held) {
                        continue;
                    }
                    let other = Holder::parse(&held.holder);
                    let holder = other.map_or(held.holder, |other| other.description());
                    return Err(EncryptedStoreError::Busy { key: Box::new(key.clone()), holder });
                }
                Committed::Refused(Refusal::Changed { .. } | Refusal::Newer { .. } | Refusal::Lost(_)) => {
                    return Err(self.changed(key));
                }
            }
        }
    }

    pub(super) async fn unseal(
        &self,
        kind: Kind,
        record: &SealedRecord,
    ) -> Result<Vec<u8>, EncryptedStoreError> {
        let key = || Box::new(record.key.clone());
        let damaged = || KeyError::Damaged { key: key(), store: self.store.location() };
        let id = match key_of(&record.bytes) {
            Ok(id) => id,
            Err(Unopened::Form(form)) => return Err(KeyError::Form { key: key(), form }.into()),
            Err(_) => return Err(damaged().into()),
        };
        let mut cipher = self.ring().key(id).cloned();
        if cipher.is_none() {
            // Another process has introduced a new key, or the key is none of this store.
            self.reload().await?;
            cipher = self.ring().key(id).cloned();
        }
        let plain = cipher.and_then(|cipher| cipher.unseal(kind, &record.key, &record.bytes).ok());
        plain.ok_or_else(|| damaged().into())
    }

    /// Decodes the message in a record.
    pub(super) async fn decoded<M: Message + Default>(
        &self,
        kind: Kind,
        record: &SealedRecord,
    ) -> Result<M, EncryptedStoreError> {
        let plain = Bytes::from(self.unseal(kind, record).await?);
        M::decode(plain).map_err(|error| EncryptedStoreError::Envelope {
            key: Box::new(record.key.clone()),
            store: self.store.location(),
            error,
        })
    }

    /// Decodes the saved object in an envelope.
    pub(super) fn saved_in(&self, key: &StoreKey, envelope: Envelope) -> Result<Saved, EncryptedStoreError> {
        Saved::try_from(envelope).map_err(|error| EncryptedStoreError::Record {
            key: Box::new(key.clone()),
            store: self.store.location(),
            error,
        })
    }

    pub(super) fn changed(&self, key: &StoreKey) -> EncryptedStoreError {
        EncryptedStoreError::Changed { key: Box::new(key.clone()), store: self.store.location() }
    }

    pub(super) fn rotating(&self) -> EncryptedStoreError {
        keyring::rotating(&*self.store)
    }

    fn ring(&self) -> Arc<Ring> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the keys again, after another process has changed them.
    pub(super) async fn reload(&self) -> Result<(), EncryptedStoreError> {
        let ring = keyring::reload(&*self.store, &self.master, &self.source).await?;
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ring);
        Ok(())
    }
}
