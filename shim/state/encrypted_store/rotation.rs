//! Another key for a store, while others use it.
//!
//! There are four steps. Each can be cut short at any point and done again; in between everything can be read with the old
//! key and with the new one.
//!
//! 1. A new key for records is added, sealed with both the user's keys, and every older one is sealed with the new one too.
//! 2. The older ones are retired: whoever wanted to write with one is refused, and takes the new one.
//! 3. Every record is encrypted anew. A record that somebody has changed meanwhile has the new key already.
//! 4. The user's new key takes the old one's place, and the rows of the old keys go.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use super::{EncryptedStore, EncryptedStoreError, Fault, PAGE};
use crate::encryption::{CipherKey, KeyId, key_of};
use crate::key::{KdfParams, KeyError, KeySource, create};
use crate::keyring::{self, Ring, RingRow, added};
use crate::store::{Batch, Change, Kind, RecordNumber, StoreError};

/// What a rotation has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// How many records were encrypted anew.
    pub records: u64,
}

impl EncryptedStore {
    /// Encrypts everything anew, for the user's new key. The state store is one that was opened with the old key; after a
    /// rotation that was cut short, with either. What was opened with the old key does not serve any more afterwards.
    ///
    /// The new key is to be in its place before this is called. A store's own key file is replaced by a random one with
    /// [`Self::rotate_own_key`].
    ///
    /// # Errors
    /// When the store or the new key cannot be used, or a record cannot be read: it would be lost with the old key. The
    /// rotation can then be done again.
    pub async fn rotate(&self, new: &KeySource) -> Result<Rotated, EncryptedStoreError> {
        self.rotate_and(new, || async { Ok(()) }).await
    }

    /// Gives a store another random key in its directory's key file.
    ///
    /// # Errors
    /// As of [`Self::rotate`].
    pub async fn rotate_own_key(&self, folder: &std::path::Path) -> Result<Rotated, EncryptedStoreError> {
        let current = KeySource::file_in(folder);
        let next = current.with_extension("key.new");
        if next.is_symlink() {
            let place = format!("the link {}", next.display());
            return Err(KeyError::Malformed { place }.into());
        }
        // One that is there already is of a rotation that was cut short.
        create(&next).map_err(|error| KeyError::Create { path: next.clone(), error })?;
        let publish = || async {
            tokio::fs::rename(&next, &current).await?;
            // The name must be on the disk before the old key is of no use any more.
            tokio::fs::File::open(folder).await?.sync_all().await
        };
        self.rotate_and(&KeySource::File(next.clone()), publish).await
    }

    async fn rotate_and<Publishing>(
        &self,
        new: &KeySource,
        publish: impl FnOnce() -> Publishing,
    ) -> Result<Rotated, EncryptedStoreError>
    where
        Publishing: Future<Output = std::io::Result<()>>,
    {
        let store = &*self.store;
        let (rows, _) = keyring::rows(store).await?;
        let mut master = keyring::fitting(store, new, &rows).await?;
        let is_begun = rows.iter().any(|row| row.master == master.cipher.id());
        if !is_begun {
            // Not with the salt of an old passphrase.
            master = keyring::load(new, KdfParams::new(), Some(self.location())).await?;
        }
        let ours = Ring::of(&rows, &self.master).ok_or_else(|| keyring::wrong(store, &self.master))?;
        let is_other = master.cipher.id() != self.master.cipher.id();
        let theirs = Ring::of(&rows, &master).filter(|_| is_other);
        let target = match theirs {
            // It was begun before.
            Some(ring) => ring.writing().0,
            None => {
                let target = Arc::new(CipherKey::random());
                let mut changes = added(&target, &master);
                if is_other {
                    changes.extend(added(&target, &self.master));
                    changes.extend(ours.keys().flat_map(|key| added(key, &master)));
                }
                store.commit(Batch { changes, ..Batch::default() }).await?;
                target
            }
        };
        self.retire_all_but(target.id()).await?;
        self.reload().await?;
        let records = self.encrypt_all(&target).await?;
        publish().await.map_err(|error| EncryptedStoreError::Publish { error })?;
        let (rows, _) = keyring::rows(store).await?;
        let is_kept = |row: &RingRow| row.holds == target.id() && row.master == master.cipher.id();
        self.change_rows(rows.iter().filter(|row| !is_kept(row)).map(|row| Change::Remove {
            kind: Kind::Key,
            number: row.place.number,
            version: None,
        }))
        .await?;
        Ok(Rotated { records })
    }

    /// Older keys are not written with any more. That is how it is when this returns, whoever else rotates.
    async fn retire_all_but(&self, target: KeyId) -> Result<(), EncryptedStoreError> {
        for _ in 0..super::ATTEMPTS {
            let (rows, _) = keyring::rows(&*self.store).await?;
            let retired: Vec<Change> =
                rows.iter().filter(|row| row.holds != target).filter_map(RingRow::retired).collect();
            if retired.is_empty() || self.change_rows(retired.into_iter()).await? {
                return Ok(());
            }
        }
        Err(EncryptedStoreError::KeyRotationInProgress { store: self.location() })
    }

    async fn change_rows(&self, changes: impl Iterator<Item = Change>) -> Result<bool, StoreError> {
        let batch = Batch { changes: changes.collect(), ..Batch::default() };
        Ok(keyring::was_done(&self.store.commit(batch).await?))
    }

    /// Walks through all records until none is left that has another key.
    async fn encrypt_all(&self, target: &CipherKey) -> Result<u64, EncryptedStoreError> {
        let mut records = 0;
        for kind in [Kind::Object, Kind::Intent, Kind::Remnant, Kind::Tombstone] {
            loop {
                let changed = self.encrypt_kind(kind, target).await?;
                records += changed.len() as u64;
                // What was changed by others meanwhile is looked at again; there is less of it each time.
                if changed.is_empty() {
                    break;
                }
            }
        }
        Ok(records)
    }

    async fn encrypt_kind(
        &self,
        kind: Kind,
        target: &CipherKey,
    ) -> Result<HashSet<RecordNumber>, EncryptedStoreError> {
        let mut changed = HashSet::new();
        let mut after = Some(RecordNumber(0));
        while let Some(from) = after {
            let page = self.store.page(kind, None, from, PAGE).await?;
            if let Some(reason) = page.fault {
                return Err(EncryptedStoreError::Incomplete { store: self.location(), reason });
            }
            if let Some((number, key)) = page.damaged.into_iter().next() {
                let reason = Fault::of_damaged(number, key).reason;
                return Err(EncryptedStoreError::Incomplete { store: self.location(), reason });
            }
            let mut changes = Vec::new();
            for record in page.records.iter().filter(|record| key_of(&record.bytes) != Ok(target.id())) {
                let plain = self.unseal(kind, record).await?;
                let bytes = target.seal(kind, &record.key, &plain);
                changes.push(Change::Replace { kind, place: record.place, key: record.key.clone(), bytes });
            }
            let numbers = changes.iter().filter_map(|change| match change {
                Change::Replace { place, .. } => Some(place.number),
                Change::Add { .. } | Change::Remove { .. } => None,
            });
            let numbers: Vec<RecordNumber> = numbers.collect();
            if !changes.is_empty() && !self.change_rows(changes.clone().into_iter()).await? {
                // One of them was changed or removed by somebody: then each by itself, and the others later.
                for change in changes {
                    self.change_rows(std::iter::once(change)).await?;
                }
            }
            changed.extend(numbers);
            after = page.next;
        }
        Ok(changed)
    }
}
