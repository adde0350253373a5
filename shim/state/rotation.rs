//! Rotation of a store's keys, while other processes use it.
//!
//! Only one process rotates at a time, with a lease: each of two would remove the keys of the other.
//!
//! Each of the four steps can be interrupted and repeated; in between all records can be read with
//! the old key and with the new one.
//!
//! 1. A new record key is added, encrypted with both the user's keys, and every older one is
//!    encrypted with the new one too.
//! 2. The older ones are retired: writes with them are refused and repeated with the new key.
//! 3. Every record is re-encrypted. Records that others changed meanwhile have the new key already.
//! 4. The user's new key replaces the old one, and the rows of the old keys are removed. The keys of
//!    journal files can be read with both before, and only with the new one after.

use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;

use isthmus_common::blocking;
use isthmus_platform::files::sync_directory;

use super::encryption::{CipherKey, KeyId, key_of};
use super::error::{EncryptedStoreError, Fault};
use super::holder::LEASE;
use super::journal::files::error::JournalFilesError;
use super::journal::files::{begin_rotation, end_rotation};
use super::key::{KdfParams, KeySource, MasterKey, create};
use super::key_error::KeyError;
use super::keyring::{self, Ring, RingRow, added};
use super::sealed_store::{ATTEMPTS, SealedStore};
use super::store::{Batch, Change, Committed, Kind, Lease, PAGE, RecordNumber, Refusal};

/// Outcome of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// Number of re-encrypted records.
    pub records: u64,
}

/// A rotation of a store's keys.
#[derive(Debug)]
pub(super) struct Rotation<'a> {
    sealed: &'a SealedStore,
    /// The directory of journal files with the same key.
    journal: Option<&'a Path>,
    lease: Lease,
}

impl<'a> Rotation<'a> {
    /// Acquires the lease, which [`Self::end`] releases.
    ///
    /// # Errors
    /// [`EncryptedStoreError::KeyRotationInProgress`] when another process holds it.
    pub(super) async fn begin(
        sealed: &'a SealedStore,
        journal: Option<&'a Path>,
    ) -> Result<Self, EncryptedStoreError> {
        match keyring::lease(&*sealed.store, LEASE).await? {
            Some(lease) => Ok(Self { sealed, journal, lease }),
            None => Err(sealed.rotating()),
        }
    }

    /// Releases the lease.
    pub(super) async fn end(self) {
        keyring::release(&*self.sealed.store, self.lease).await;
    }

    /// Replaces the key in the directory's key file by a random one.
    pub(super) async fn to_own_key(&self, directory: &Path) -> Result<Rotated, EncryptedStoreError> {
        let current = KeySource::file_in(directory);
        let next = current.with_extension("key.new");
        let path = next.clone();
        blocking(move || {
            if path.is_symlink() {
                return Err(KeyError::Malformed { place: format!("the link {}", path.display()) });
            }
            // It may exist from an interrupted rotation.
            create(&path).map_err(|error| KeyError::Create { path, error })
        })
        .await?;
        let publish = || async {
            tokio::fs::rename(&next, &current).await?;
            // The name must be durable before the old key is removed.
            let directory = directory.to_owned();
            blocking(move || sync_directory(&directory)).await
        };
        self.to(&KeySource::File(next.clone()), publish).await
    }

    /// Rotates to a new key, which `publish` puts in place.
    pub(super) async fn to<Publishing>(
        &self,
        new: &KeySource,
        publish: impl FnOnce() -> Publishing,
    ) -> Result<Rotated, EncryptedStoreError>
    where
        Publishing: Future<Output = io::Result<()>>,
    {
        let store = &*self.sealed.store;
        let (rows, _) = keyring::rows(store).await?;
        let mut master = keyring::fitting(store, new, &rows).await?;
        let is_begun = rows.iter().any(|row| row.master == master.cipher.id());
        if !is_begun {
            // With a new salt.
            master = keyring::load(new, KdfParams::new(), Some(self.sealed.store.location())).await?;
        }
        let ours =
            Ring::of(&rows, &self.sealed.master).ok_or_else(|| keyring::wrong(store, &self.sealed.master))?;
        let is_other = master.cipher.id() != self.sealed.master.cipher.id();
        let theirs = Ring::of(&rows, &master).filter(|_| is_other);
        let target = match theirs {
            // It was started before.
            Some(ring) => ring.writing().0,
            None => {
                let target = Arc::new(CipherKey::random());
                let mut changes = Vec::new();
                if is_other {
                    changes.extend(ours.keys().flat_map(|key| added(key, &master)));
                    changes.extend(added(&target, &self.sealed.master));
                }
                // Last: the newest row has the key for writing, also for a repetition of this.
                changes.extend(added(&target, &master));
                self.commit(changes).await?;
                target
            }
        };
        self.retire_all_but(target.id()).await?;
        self.sealed.reload().await?;
        let records = self.encrypt_all(&target).await?;
        let master = Arc::new(master);
        self.with_journal(&master, begin_rotation).await?;
        // Renews the lease, which must still be this process's.
        self.commit(Vec::new()).await?;
        publish().await.map_err(|error| EncryptedStoreError::Publish { error })?;
        let (rows, _) = keyring::rows(store).await?;
        let is_kept = |row: &RingRow| row.holds == target.id() && row.master == master.cipher.id();
        let others = rows.iter().filter(|row| !is_kept(row));
        self.with_journal(&master, |journal, _, new| end_rotation(journal, new)).await?;
        self.commit(others.map(|row| Change::remove(Kind::Key, row.place.number)).collect()).await?;
        Ok(Rotated { records })
    }

    /// Does a step of the journal's rotation, if there is a journal.
    async fn with_journal(
        &self,
        new: &Arc<MasterKey>,
        step: impl FnOnce(&Path, &MasterKey, &MasterKey) -> Result<(), JournalFilesError> + Send + 'static,
    ) -> Result<(), EncryptedStoreError> {
        let Some(journal) = self.journal.map(Path::to_owned) else { return Ok(()) };
        let (old, new) = (Arc::clone(&self.sealed.master), Arc::clone(new));
        let done = blocking(move || step(&journal, &old, &new)).await;
        done.map_err(|error| EncryptedStoreError::Journal { error: Box::new(error) })
    }

    /// Retires older keys, also if another process rotates at the same time.
    async fn retire_all_but(&self, target: KeyId) -> Result<(), EncryptedStoreError> {
        for _ in 0..ATTEMPTS {
            let (rows, _) = keyring::rows(&*self.sealed.store).await?;
            let retired: Vec<Change> =
                rows.iter().filter(|row| row.holds != target).filter_map(RingRow::retired).collect();
            if retired.is_empty() || self.commit(retired).await? {
                return Ok(());
            }
        }
        Err(self.sealed.rotating())
    }

    /// Commits changes and renews the lease. `false`: a record was changed meanwhile.
    async fn commit(&self, changes: Vec<Change>) -> Result<bool, EncryptedStoreError> {
        let batch = Batch { renewal: Some((self.lease.clone(), LEASE)), ..Batch::all(changes) };
        match self.sealed.store.commit(batch).await? {
            Committed::Done { .. } => Ok(true),
            Committed::Refused(Refusal::Lost(_)) => Err(self.sealed.rotating()),
            Committed::Refused(_) => Ok(false),
        }
    }

    /// Re-encrypts records until all have the key.
    async fn encrypt_all(&self, target: &CipherKey) -> Result<u64, EncryptedStoreError> {
        let mut records = 0;
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Key) {
            loop {
                let changed = self.encrypt_kind(kind, target).await?;
                records += changed.len() as u64;
                // Records that others changed meanwhile are retried; there are fewer each time.
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
            let page = self.sealed.store.page(kind, None, from, PAGE).await?;
            if let Some(reason) = page.fault {
                return Err(EncryptedStoreError::Incomplete { store: self.sealed.store.location(), reason });
            }
            if let Some((number, key)) = page.damaged.into_iter().next() {
                let reason = Fault::of_damaged(number, key).reason;
                return Err(EncryptedStoreError::Incomplete { store: self.sealed.store.location(), reason });
            }
            let mut changes = Vec::new();
            for record in page.records.iter().filter(|record| key_of(&record.bytes) != Ok(target.id())) {
                let plain = self.sealed.unseal(kind, record).await?;
                changes.push(target.replace(kind, record.place, &record.key, &plain));
                changed.insert(record.place.number);
            }
            // Without changes, too: reading many records takes longer than a lease.
            if !page.records.is_empty() && !self.commit(changes.clone()).await? {
                // One of them was changed or removed: commits each by itself, and retries the
                // others.
                for change in changes {
                    self.commit(vec![change]).await?;
                }
            }
            after = page.next;
        }
        Ok(changed)
    }
}
