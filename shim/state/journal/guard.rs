//! Ending an intent with its outcome, by the process that wrote it.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;
use tokio::task::JoinHandle;

use super::intent::{Ended, Entry, Mark, OperationKind};
use crate::encryption::CipherKey;
use crate::error::EncryptedStoreError;
#[cfg(test)]
use crate::holder::Holder;
use crate::holder::LEASE;
use crate::saved::{Envelope, Saved};
use crate::sealed_store::{ATTEMPTS, SealedStore};
use crate::store::{
    Batch, Change, Committed, Kind, Lease, RecordNumber, RecordRef, Refusal, Store, StoreError, StoreKey,
};
use crate::tombstones::{Deletion, Tombstones, removed};

/// An intent in the journal, and the right to end it by one of [`Self::end`], [`Self::store`],
/// [`Self::remove`] and [`Self::leave_open`], once. When it is dropped before, the intent stays
/// open, and others may take over.
#[derive(Debug)]
pub struct IntentGuard {
    sealed: SealedStore,
    tombstones: Tombstones,
    entry: Entry,
    key: StoreKey,
    place: RecordRef,
    lease: Option<Lease>,
    renewing: JoinHandle<()>,
    /// Whether a change of it may have been committed although its answer was lost.
    is_uncertain: bool,
    /// Tombstones to remove with storing the outcome.
    superseded: Vec<RecordNumber>,
}

/// An object that was created and stored, while its response is being sent. When this is dropped,
/// the intent stays open.
#[derive(Clone, Debug)]
pub struct Unconfirmed {
    sealed: SealedStore,
    number: RecordNumber,
}

impl IntentGuard {
    pub(super) fn new(
        (sealed, tombstones): (SealedStore, Tombstones),
        entry: Entry,
        key: StoreKey,
        place: RecordRef,
        lease: Option<Lease>,
    ) -> Self {
        let renewing = renew(Arc::clone(&sealed.store), lease.clone());
        Self {
            sealed,
            tombstones,
            entry,
            key,
            place,
            lease,
            renewing,
            is_uncertain: false,
            superseded: Vec::new(),
        }
    }

    /// The intent's number.
    pub fn number(&self) -> RecordNumber {
        self.place.number
    }

    /// Renews the lease. `false`: another process has reported or settled the operation since.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn is_held(&self) -> Result<bool, EncryptedStoreError> {
        let require = vec![(Kind::Intent, self.place)];
        let renewal = self.lease.clone().map(|lease| (lease, LEASE));
        let committed = self.sealed.store.commit(Batch { require, renewal, ..Batch::default() }).await?;
        Ok(matches!(committed, Committed::Done { .. }))
    }

    /// Ends the intent of an update or a deletion that has succeeded. If another process has reported or settled the
    /// operation since, because this one was not heard of for so long, the intent stays open with what came of it.
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open.
    pub async fn changed(&mut self) -> Result<(), EncryptedStoreError> {
        let remove = Change::remove(Kind::Intent, self.place.number);
        let (require, releases) = (vec![(Kind::Intent, self.place)], self.lease.iter().cloned().collect());
        let batch = Batch { require, releases, ..Batch::of(remove) };
        let committed = self.sealed.store.commit(batch.soon()).await;
        if let Committed::Done { .. } = self.certain(committed)? {
            self.lease = None;
            return Ok(());
        }
        if self.is_uncertain && self.reread().await?.is_none() {
            // This process has removed it.
            self.lease = None;
            return Ok(());
        }
        let done = OperationKind::of(self.entry.intention).done();
        let text = format!(
            "it was {done} by a process that was not heard of for so long that another one has taken the operation over meanwhile"
        );
        self.note(text, None).await
    }

    /// Ends the intent after its outcome was sent to the caller. Does not wait for the disk: after
    /// a machine failure, the intent is reported unnecessarily.
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open.
    pub async fn end(&mut self) -> Result<(), EncryptedStoreError> {
        // A process that took over loses nothing by it.
        let fences = Vec::new();
        let batch = Batch { fences, ..self.closing(Vec::new()) }.soon();
        self.sealed.store.commit(batch).await?;
        self.lease = None;
        Ok(())
    }

    /// Removes these tombstones together with storing the object: it is identified by the same
    /// properties as the deleted one, and must be deletable.
    pub fn supersede(&mut self, tombstones: Vec<RecordNumber>) {
        self.superseded = tombstones;
    }

    /// Ends the intent and stores its object, in place of a record or as a new one, atomically.
    ///
    /// # Errors
    /// [`EncryptedStoreError::Overtaken`] when another process has taken over: the object is stored
    /// with the intent, which stays open. After any other error the intent is open as well.
    pub async fn store(
        &mut self,
        place: Option<RecordRef>,
        key: &StoreKey,
        saved: &Saved,
    ) -> Result<RecordRef, EncryptedStoreError> {
        let plain = Envelope::from(saved).encode_to_vec();
        let mut place = place;
        loop {
            let lease = self.lease.clone();
            let number = self.place.number;
            let committed = self
                .sealed
                .write(|cipher| {
                    let change = match place {
                        Some(place) => cipher.replace(Kind::Object, place, key, &plain),
                        None => cipher.add(Kind::Object, key, &plain),
                    };
                    let removed = self.superseded.iter().copied().map(removed);
                    closing(number, lease.clone(), std::iter::once(change).chain(removed).collect())
                })
                .await?;
            match committed {
                Committed::Done { places, .. } => {
                    self.lease = None;
                    return Ok(*places.first().expect("what was stored has a place"));
                }
                // The record was removed, but the object's new state must not be lost.
                Committed::Refused(Refusal::Changed { kind: Kind::Object, version: None, .. }) => {
                    place = None
                }
                Committed::Refused(_) => return Err(self.overtaken(Some(saved)).await),
            }
        }
    }

    /// Stores the created object as a new one. The intent is removed after the caller has the
    /// response ([`Unconfirmed::confirm`]): if this process exits before, the next one learns the
    /// object's id from it, because the caller may repeat the request.
    ///
    /// `beside` are the records of the key, newest first, if the id was chosen because of them.
    /// `None`: there are others by now, and nothing was stored.
    ///
    /// # Errors
    /// As of [`Self::store`].
    pub async fn store_unconfirmed(
        &mut self,
        key: &StoreKey,
        saved: &Saved,
        beside: Option<&[RecordRef]>,
    ) -> Result<Option<(RecordRef, Unconfirmed)>, EncryptedStoreError> {
        let object = Envelope::from(saved).encode_to_vec();
        self.entry.unconfirmed = Some(key.id.clone());
        let entry = self.entry.encode_to_vec();
        let (place, intent, lease) = (self.place, self.key.clone(), self.lease.clone());
        let newest = |known: &[RecordRef]| known.first().map_or(RecordNumber(0), |newest| newest.number);
        let newest = beside.map(|known| (Kind::Object, key.clone(), newest(known)));
        let committed = self
            .sealed
            .write(|cipher| Batch {
                require: beside.unwrap_or_default().iter().map(|known| (Kind::Object, *known)).collect(),
                newest: newest.iter().cloned().collect(),
                fences: lease.iter().cloned().collect(),
                changes: [
                    cipher.add(Kind::Object, key, &object),
                    cipher.replace(Kind::Intent, place, &intent, &entry),
                ]
                .into_iter()
                .chain(self.superseded.iter().copied().map(removed))
                .collect(),
                releases: lease.iter().cloned().collect(),
                ..Batch::default()
            })
            .await;
        if !matches!(committed, Ok(Committed::Done { .. })) {
            self.entry.unconfirmed = None;
        }
        match committed? {
            Committed::Done { places, .. } => {
                self.lease = None;
                let stored = *places.first().expect("what was stored has a place");
                Ok(Some((stored, Unconfirmed { sealed: self.sealed.clone(), number: place.number })))
            }
            Committed::Refused(Refusal::Changed { kind: Kind::Object, .. } | Refusal::Newer { .. }) => {
                Ok(None)
            }
            Committed::Refused(_) => Err(self.overtaken(Some(saved)).await),
        }
    }

    /// Ends the intent of a deletion: removes the record and writes a tombstone.
    ///
    /// # Errors
    /// As of [`Self::store`].
    pub async fn remove(
        &mut self,
        place: Option<RecordRef>,
        deletion: &Deletion,
    ) -> Result<(), EncryptedStoreError> {
        let remove = place.map(|place| Change::Remove {
            kind: Kind::Object,
            number: place.number,
            version: Some(place.version),
        });
        let replaced = self.tombstones.replaced_by(&self.key, deletion).await;
        let committed = self
            .sealed
            .write(|cipher| {
                let tombstone = deletion.changes(cipher, &self.key, &replaced);
                self.closing(remove.iter().cloned().chain(tombstone).collect())
            })
            .await?;
        match committed {
            Committed::Done { .. } => {
                self.lease = None;
                self.tombstones.sweep(deletion.at).await;
                Ok(())
            }
            Committed::Refused(_) => Err(self.overtaken(None).await),
        }
    }

    /// Records that an object was made, which the caller stores: the intent stays open until it is
    /// dismissed. `object` is opaque.
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open without it.
    pub async fn made(&mut self, id: &str, object: Bytes) -> Result<(), EncryptedStoreError> {
        self.entry.unconfirmed = Some(id.to_owned());
        self.entry.object = object;
        self.update().await
    }

    /// Records that the outcome is unknown, with what is known: the intent stays open.
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open without it.
    pub async fn leave_open(&mut self, known: &str) -> Result<(), EncryptedStoreError> {
        self.note(known.to_owned(), None).await
    }

    /// The outcome cannot be stored in the record, so it is stored in the intent.
    async fn overtaken(&mut self, saved: Option<&Saved>) -> EncryptedStoreError {
        let done = OperationKind::of(self.entry.intention).done();
        let text = format!(
            "it was {done}, but another process has taken over the object meanwhile, so its new state is not in the store"
        );
        if let Err(error) = self.note(text, saved).await {
            return error;
        }
        EncryptedStoreError::Overtaken {
            key: Box::new(self.key.clone()),
            done,
            store: self.sealed.store.location(),
        }
    }

    async fn note(&mut self, text: String, saved: Option<&Saved>) -> Result<(), EncryptedStoreError> {
        self.entry.ended = Some(Ended { text, object: saved.map(Envelope::from) });
        self.update().await
    }

    /// Replaces the intent in the journal, and releases its lease.
    async fn update(&mut self) -> Result<(), EncryptedStoreError> {
        let mut place = Some(self.place);
        for _ in 0..ATTEMPTS {
            let plain = self.entry.encode_to_vec();
            let (key, lease) = (&self.key, &self.lease);
            let written = |cipher: &CipherKey| Batch {
                releases: lease.iter().cloned().collect(),
                ..Batch::of(match place {
                    Some(place) => cipher.replace(Kind::Intent, place, key, &plain),
                    None => cipher.add(Kind::Intent, key, &plain),
                })
            };
            let committed = self.sealed.write(written).await;
            if let Committed::Done { places, .. } = self.certain(committed)? {
                self.place = *places.first().expect("what was written has a place");
                self.lease = None;
                return Ok(());
            }
            // Another process has reported it, or has settled it: what came of it is noted all the same.
            place = self.reread().await?;
        }
        Err(self.sealed.changed(&self.key))
    }

    /// Takes over what other processes have noted of the operation. `None`: it was settled.
    async fn reread(&mut self) -> Result<Option<RecordRef>, EncryptedStoreError> {
        let before = RecordNumber(self.place.number.0.saturating_sub(1));
        let page = self.sealed.store.page(Kind::Intent, None, before, 1).await?;
        let record = page.records.into_iter().find(|record| record.place.number == self.place.number);
        let Some(record) = record else { return Ok(None) };
        let found: Entry = self.sealed.decoded(Kind::Intent, &record).await?;
        self.entry.marks = found.marks;
        if self.entry.unconfirmed.is_some() {
            self.entry.marks.remove(&Mark::REPORTED.0);
        }
        Ok(Some(record.place))
    }

    /// Notes whether the outcome of a commit is unknown.
    fn certain<E: Into<EncryptedStoreError>>(
        &mut self,
        committed: Result<Committed, E>,
    ) -> Result<Committed, EncryptedStoreError> {
        let committed = committed.map_err(E::into);
        let unknown = |error: &EncryptedStoreError| {
            matches!(error, EncryptedStoreError::Store(StoreError::Unknown { .. }))
        };
        self.is_uncertain |= committed.as_ref().is_err_and(unknown);
        committed
    }

    /// The batch that removes the intent and releases its lease.
    fn closing(&self, changes: Vec<Change>) -> Batch {
        closing(self.place.number, self.lease.clone(), changes)
    }
}

#[cfg(test)]
impl IntentGuard {
    /// Records a holder that has exited.
    pub(crate) fn outlive_its_holder(&mut self) {
        self.entry.holder = Holder::ended().text();
    }
}

impl Unconfirmed {
    /// Ends the intent: the caller has the response. Does not wait for the disk, as
    /// [`IntentGuard::end`].
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open.
    pub async fn confirm(&self) -> Result<(), EncryptedStoreError> {
        let remove = Change::remove(Kind::Intent, self.number);
        self.sealed.store.commit(Batch::of(remove).soon()).await?;
        Ok(())
    }
}

impl Drop for IntentGuard {
    fn drop(&mut self) {
        self.renewing.abort();
        if let Some(lease) = self.lease.take() {
            // Releases the lease, so that others need not wait for its expiry; the batch is
            // committed without being awaited.
            drop(self.sealed.store.commit(Batch { releases: vec![lease], ..Batch::default() }.soon()));
        }
    }
}

fn closing(number: RecordNumber, lease: Option<Lease>, changes: Vec<Change>) -> Batch {
    let mut changes = changes;
    changes.push(Change::remove(Kind::Intent, number));
    let fences: Vec<Lease> = lease.into_iter().collect();
    Batch { fences: fences.clone(), changes, releases: fences, ..Batch::default() }
}

/// Renews a lease while its operation runs.
fn renew(store: Arc<dyn Store>, lease: Option<Lease>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let Some(lease) = lease else { return };
        loop {
            tokio::time::sleep(LEASE / 3).await;
            // An unreachable store may be back at the next renewal; a lost lease is detected at the
            // end.
            let renewal = Some((lease.clone(), LEASE));
            store.commit(Batch { renewal, ..Batch::default() }.soon()).await.ok();
        }
    })
}
