//! The journal of operations whose outcome the caller may not know.
//!
//! There are two: in files, for callers that store objects themselves ([`JournalFiles`]), and in the state
//! store, with the objects ([`Journal`]).
//!
//! In the state store, an *intent* is durable before a provider is called to change anything. It is removed when the
//! operation has ended and its outcome is stored or sent to the caller. So intents without a
//! running process at a start are operations with an unknown outcome: they are listed and reported,
//! and never guessed.
//!
//! Each intent has a lease. It shows that a process is working on it, prevents two processes from
//! changing one object at once, and its *fence* prevents a process that was suspended too long from
//! overwriting another's outcome.
//!
//! States of failed deletions are separate (`super::failed_delete_states`).

pub(crate) mod files;
mod guard;
mod intent;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use prost::Message as _;

use super::encryption::{CipherKey, random};
use super::error::{EncryptedStoreError, Fault};
use super::holder::{Holder, LEASE};
use super::saved::Envelope;
use super::sealed_store::SealedStore;
use super::store::{Batch, Change, Claim, Kind, PAGE, Page, RecordNumber, SealedRecord, StoreKey};
use super::tombstones::{Tombstones, milliseconds};
use intent::{Ended, Entry};

pub use files::error::JournalFilesError;
pub use files::{JournalDurability, JournalFiles, LARGEST_OBJECT, LeftState};
pub(crate) use files::{clear_journal, is_journal_file, journal_holds_nothing, listing_lock};
pub use guard::{IntentGuard, Unconfirmed};
pub use intent::{
    Condition, Intent, InvalidOperationId, JournalFault, Mark, Marks, OpenIntent, OpenIntents, OperationId,
    OperationKind,
};

/// The journal of a state store.
#[derive(Clone, Debug)]
pub struct Journal {
    sealed: SealedStore,
    tombstones: Tombstones,
}

impl Journal {
    pub(super) fn new(sealed: SealedStore) -> Self {
        Self { tombstones: Tombstones::new(sealed.clone()), sealed }
    }

    pub(super) fn tombstones(&self) -> &Tombstones {
        &self.tombstones
    }

    /// Writes an intent. It is durable when this returns; only then may the provider be called.
    /// `record` is the record of the object that will change: no other process can begin to change
    /// it until this one has ended or its lease has expired.
    ///
    /// # Errors
    /// [`EncryptedStoreError::Busy`] when another process is changing the object; any other when
    /// the journal cannot be written. The operation must not start then.
    pub async fn begin(
        &self,
        intent: Intent,
        record: Option<RecordNumber>,
    ) -> Result<IntentGuard, EncryptedStoreError> {
        let lease_name = match record {
            Some(RecordNumber(number)) => format!("object {number}"),
            None => format!("intent {}", hex::encode(random::<16>())),
        };
        let Intent { intention, key, subject, prior, companion } = intent;
        let entry = Entry {
            intention: intention.number(),
            subject,
            prior: prior.as_ref().map(Envelope::from),
            companion,
            since: milliseconds(SystemTime::now()),
            holder: Holder::this().text(),
            lease_name: lease_name.clone(),
            ended: None,
            unconfirmed: None,
            marks: BTreeMap::new(),
            object: Bytes::new(),
        };
        let plain = entry.encode_to_vec();
        let begun = |cipher: &CipherKey| vec![cipher.add(Kind::Intent, &key, &plain)];
        let claim = Claim { name: lease_name, holder: entry.holder.clone(), time: LEASE, over: None };
        let (places, lease) = self.sealed.claim(claim, &key, begun).await?;
        let place = *places.first().expect("what was added has a place");
        let parts = (self.sealed.clone(), self.tombstones.clone());
        Ok(IntentGuard::new(parts, entry, key, place, Some(lease)))
    }

    /// Open intents. A damaged intent does not hide the others.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_intents(&self) -> Result<OpenIntents, EncryptedStoreError> {
        let mut open = OpenIntents { has_journal: true, ..OpenIntents::default() };
        let mut after = Some(RecordNumber(0));
        while let Some(from) = after {
            let Page { records, damaged, next, fault } =
                self.sealed.store.page(Kind::Intent, None, from, PAGE).await?;
            for record in records {
                match self.open_intent(&record).await {
                    Ok(intent) => open.intents.push(intent),
                    Err(error) => open.faults.push(Fault::of(record, error)?.into()),
                }
            }
            let damaged = damaged.into_iter().map(|(number, key)| Fault::of_damaged(number, key));
            open.faults.extend(damaged.chain(fault.map(Fault::of_database)).map(JournalFault::from));
            after = next;
        }
        Ok(open)
    }

    /// Open intents of one resource; reads no others. A damaged intent does not hide the others;
    /// [`Self::open_intents`] reports it.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_intents_of(&self, key: &StoreKey) -> Result<Vec<OpenIntent>, EncryptedStoreError> {
        let mut open = Vec::new();
        for record in self.sealed.store.find(Kind::Intent, key).await? {
            match self.open_intent(&record).await {
                Ok(intent) => open.push(intent),
                Err(error) => drop(Fault::of(record, error)?),
            }
        }
        Ok(open)
    }

    /// Removes an intent that the user has acknowledged; `false` if there was none.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn dismiss(&self, number: RecordNumber) -> Result<bool, EncryptedStoreError> {
        let before = RecordNumber(number.0.saturating_sub(1));
        let Page { records, damaged, .. } = self.sealed.store.page(Kind::Intent, None, before, 1).await?;
        let is_there = records.iter().any(|record| record.place.number == number)
            || damaged.iter().any(|(damaged, _)| *damaged == number);
        self.sealed.store.commit(Batch::of(Change::remove(Kind::Intent, number))).await?;
        Ok(is_there)
    }

    /// Removes intents of which nothing is left to be told. One that is not there any more is passed over.
    ///
    /// # Errors
    /// When the journal cannot be written: then none is removed.
    pub async fn settle(&self, numbers: &[RecordNumber]) -> Result<(), EncryptedStoreError> {
        let changes = numbers.iter().map(|number| Change::remove(Kind::Intent, *number)).collect();
        self.sealed.store.commit(Batch { changes, ..Batch::default() }).await?;
        Ok(())
    }

    /// Marks intents. One that is not there any more, or cannot be read, is passed over.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn mark(&self, numbers: &[RecordNumber], mark: Mark) -> Result<(), EncryptedStoreError> {
        for number in numbers {
            let before = RecordNumber(number.0.saturating_sub(1));
            let page = self.sealed.store.page(Kind::Intent, None, before, 1).await?;
            let Some(record) = page.records.into_iter().find(|record| record.place.number == *number) else {
                continue;
            };
            let Ok(mut entry) = self.sealed.decoded::<Entry>(Kind::Intent, &record).await else { continue };
            *entry.marks.entry(mark.0).or_default() += 1;
            let plain = entry.encode_to_vec();
            // Refused if its process has changed it meanwhile: then it is another report.
            let marked = |cipher: &CipherKey| {
                Batch::of(cipher.replace(Kind::Intent, record.place, &record.key, &plain))
            };
            self.sealed.write(marked).await?;
        }
        Ok(())
    }

    async fn open_intent(&self, record: &SealedRecord) -> Result<OpenIntent, EncryptedStoreError> {
        let entry: Entry = self.sealed.decoded(Kind::Intent, record).await?;
        let object = |envelope: Option<Envelope>| {
            envelope.map(|envelope| self.sealed.saved_in(&record.key, envelope)).transpose()
        };
        let holder = Holder::parse(&entry.holder);
        let since = UNIX_EPOCH + Duration::from_millis(entry.since);
        let condition = match entry.ended {
            // Its process may still be delivering the response; of a process elsewhere only its age
            // is known.
            None if entry.unconfirmed.is_some() => {
                let is_over = holder.as_ref().is_some_and(Holder::has_ended)
                    // One that has begun in the future is of a clock that says nothing.
                    || since.elapsed().map_or_else(|ahead| ahead.duration() > LEASE, |age| age > LEASE);
                if is_over { Condition::Unconfirmed } else { Condition::InProgress }
            }
            Some(Ended { text, object: left }) => {
                Condition::Ended { text, object: object(left)?.map(Box::new) }
            }
            None => {
                let held = self.sealed.store.held(&entry.lease_name).await?;
                let is_at_it = held.is_some_and(|held| held.holder == entry.holder && !held.is_over)
                    && !holder.as_ref().is_some_and(Holder::has_ended);
                if is_at_it { Condition::InProgress } else { Condition::Interrupted }
            }
        };
        Ok(OpenIntent {
            id: OperationId::InStore(record.place.number),
            intent: Intent {
                intention: OperationKind::of(entry.intention),
                key: match entry.unconfirmed {
                    Some(id) => StoreKey { id, ..record.key.clone() },
                    None => record.key.clone(),
                },
                subject: entry.subject,
                prior: object(entry.prior)?,
                companion: entry.companion,
            },
            since,
            holder: holder.map_or(entry.holder, |holder| holder.description()),
            condition,
            marks: Marks(entry.marks),
            object: entry.object,
        })
    }
}
