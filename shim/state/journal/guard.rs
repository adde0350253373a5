//! What the process that wrote an intent may do: end it, with its outcome.

use std::sync::Arc;

use prost::Message as _;
use tokio::task::JoinHandle;

use super::intent::{Ended, Entry, OperationKind};
use crate::error::EncryptedStoreError;
#[cfg(test)]
use crate::holder::Holder;
use crate::holder::LEASE;
use crate::saved::{Envelope, Saved};
use crate::sealed_store::SealedStore;
use crate::store::{
    Batch, Change, Committed, Kind, Lease, RecordNumber, RecordRef, Refusal, Store, StoreKey,
};
use crate::tombstones::{Deletion, Tombstones, removed};

/// An intent that is in the journal, and what it gives the right to do. One of [`Self::end`], [`Self::store`],
/// [`Self::remove`] and [`Self::leave_open`] is its end, and is not done again once it has succeeded. When it is dropped
/// without an end, the intent stays open, and others may take over.
#[derive(Debug)]
pub struct IntentGuard {
    sealed: SealedStore,
    tombstones: Tombstones,
    entry: Entry,
    key: StoreKey,
    place: RecordRef,
    lease: Option<Lease>,
    renewing: JoinHandle<()>,
    /// Tombstones that are removed when the outcome is stored.
    superseded: Vec<RecordNumber>,
}

/// An object that was made and stored, while the answer is on its way. When it is dropped, the intent stays open.
#[derive(Debug)]
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
        Self { sealed, tombstones, entry, key, place, lease, renewing, superseded: Vec::new() }
    }

    /// The intent's number.
    pub fn number(&self) -> RecordNumber {
        self.place.number
    }

    /// It has ended, and whoever has to know its outcome does: the engine, by an answer that is on its way. Waits for no
    /// disk: should the machine fail now, the intent would be reported though it was not necessary.
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open.
    pub async fn end(&mut self) -> Result<(), EncryptedStoreError> {
        // Whoever has taken over does not lose anything by it.
        let fences = Vec::new();
        let batch = Batch { fences, ..self.closing(Vec::new()) }.soon();
        self.sealed.store.commit(batch).await?;
        self.lease = None;
        Ok(())
    }

    /// Removes these tombstones together with storing the object: it is known by the same properties as what was deleted,
    /// and has to be deletable.
    pub fn supersede(&mut self, tombstones: Vec<RecordNumber>) {
        self.superseded = tombstones;
    }

    /// It has ended, and left an object, which is stored in place of a record, or as a new one. Both happens at once.
    ///
    /// # Errors
    /// [`EncryptedStoreError::Overtaken`] when another process has taken over: the object is kept with the intent, which stays open.
    /// After any other error the intent is open as well.
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
                // Somebody has removed it; what the object is now must not be lost for that.
                Committed::Refused(Refusal::Changed { kind: Kind::Object, version: None, .. }) => {
                    place = None
                }
                Committed::Refused(_) => return Err(self.overtaken(Some(saved)).await),
            }
        }
    }

    /// The object was made, and is stored as a new one. The intent goes only when the engine has the answer
    /// ([`Unconfirmed::confirm`]): if this process ends before, it tells the next one under which id the object is, because
    /// the engine may ask for the same again.
    ///
    /// `beside` are the records that the key has already, newest first, when the id was chosen because of them. `None`:
    /// there are others by now, and nothing was stored.
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

    /// It has ended, and the object is gone; so is its record, in whose place there is a tombstone.
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

    /// It has ended, but nobody knows how: the intent stays open, with what is known.
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open without it.
    pub async fn leave_open(&mut self, known: &str) -> Result<(), EncryptedStoreError> {
        self.note(known.to_owned(), None).await
    }

    /// What came of it cannot be stored where it belongs; it is kept here.
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
        let plain = self.entry.encode_to_vec();
        let (place, key, lease) = (self.place, &self.key, self.lease.take());
        let committed = self
            .sealed
            .write(|cipher| Batch {
                releases: lease.iter().cloned().collect(),
                ..Batch::of(cipher.replace(Kind::Intent, place, key, &plain))
            })
            .await?;
        match committed {
            Committed::Done { .. } => Ok(()),
            // Somebody has dismissed it.
            Committed::Refused(_) => Err(self.sealed.changed(&self.key)),
        }
    }

    /// What ends the intent: it goes, and the lease with it.
    fn closing(&self, changes: Vec<Change>) -> Batch {
        closing(self.place.number, self.lease.clone(), changes)
    }
}

#[cfg(test)]
impl IntentGuard {
    /// As if a process that has ended had begun it.
    pub(crate) fn outlive_its_holder(&mut self) {
        self.entry.holder = Holder::ended().text();
    }
}

impl Unconfirmed {
    /// The engine has the answer. Waits for no disk, as [`IntentGuard::end`].
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open.
    pub async fn confirm(self) -> Result<(), EncryptedStoreError> {
        let remove = Change::remove(Kind::Intent, self.number);
        self.sealed.store.commit(Batch::of(remove).soon()).await?;
        Ok(())
    }
}

impl Drop for IntentGuard {
    fn drop(&mut self) {
        self.renewing.abort();
        if let Some(lease) = self.lease.take() {
            // So that nobody waits for who does not do anything any more; the batch happens though nobody waits for it.
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

/// Keeps a lease for as long as its holder is at it.
fn renew(store: Arc<dyn Store>, lease: Option<Lease>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let Some(lease) = lease else { return };
        loop {
            tokio::time::sleep(LEASE / 3).await;
            // A store that cannot be reached now may be next time; one that was lost is found so at the end.
            let renewal = Some((lease.clone(), LEASE));
            store.commit(Batch { renewal, ..Batch::default() }.soon()).await.ok();
        }
    })
}
