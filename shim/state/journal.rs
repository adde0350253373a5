//! The journal: what was begun, and how it ended where nobody else can be told.
//!
//! An *intent* is written before a provider is told to change anything, and is on the disk before the provider hears of
//! it. When the change has ended and its outcome is where it belongs (an object in the store, an answer on its way to the
//! engine), the intent goes. So what is in the journal at a start and is not being done by anybody is what may have
//! happened without anybody knowing: it is listed, and reported, and never guessed at.
//!
//! Each intent has a lease. It tells others that somebody is at it, keeps two processes from changing one object at once,
//! and its *fence* keeps a process that slept for too long from storing what another one has overtaken.
//!
//! Beside intents stand *remnants* (`remnants`): what failed deletions have left.

mod holder;
mod remnants;
#[cfg(test)]
pub(super) mod testing {
    /// What stands in the lease of a process of this machine that has ended.
    pub(crate) fn ended_holder() -> String {
        super::holder::Holder::ended().text()
    }

    /// As if a process that has ended had begun it.
    pub(crate) fn begun_by_who_has_ended(begun: &mut super::IntentGuard) {
        begun.entry.holder = ended_holder();
    }
}

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use prost::Message as _;
use tokio::task::JoinHandle;

use super::encrypted_store::{EncryptedStore, EncryptedStoreError, Envelope, Fault, Saved};
use super::encryption::random;
use super::store::{
    Batch, Change, Claim, Committed, Durability, Kind, Lease, Page, RecordNumber, RecordRef, Refusal,
    SealedRecord, Store, StoreKey,
};
use super::tombstones::{self, Deletion};
use holder::Holder;

pub use remnants::Sent;

/// How long a process may be silent until another one may take over what it was doing.
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// An object is made.
    Create,
    /// An object is changed.
    Update,
    /// An object is deleted.
    Delete,
}

/// What is about to be done, and to what.
#[derive(Clone, Debug)]
pub struct Intent {
    /// What.
    pub intention: OperationKind,
    /// To what. The id is empty as long as there is none.
    pub key: StoreKey,
    /// What the engine calls it: a URN, or a name.
    pub subject: String,
    /// The object before, where this side knows it.
    pub prior: Option<Saved>,
    /// What the owner of the resource wants to find again with the intent; the journal does not look into it.
    pub companion: Bytes,
}

/// An intent whose end nobody has written down.
#[derive(Clone, Debug)]
pub struct OpenIntent {
    /// Its number, by which it can be dismissed.
    pub number: RecordNumber,
    /// What was about to be done.
    pub intent: Intent,
    /// When.
    pub since: SystemTime,
    /// Who was about to do it, for messages.
    pub holder: String,
    /// What is known of it.
    pub condition: Condition,
}

/// What was begun and has no end yet, as far as the journal can be read.
#[derive(Debug, Default)]
pub struct OpenIntents {
    /// What can be read, oldest first.
    pub intents: Vec<OpenIntent>,
    /// What cannot: nobody knows what was begun there.
    pub faults: Vec<Fault>,
}

/// What is known of an open intent.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Somebody is at it.
    UnderWay,
    /// Whoever was at it has ended, or is not heard of: nobody knows what happened.
    Interrupted,
    /// The object was made and is stored, but whoever made it ended before anybody could know that the engine was told.
    Unanswered,
    /// It has ended, but its outcome could not be put where it belongs, or nobody knows what it is.
    Ended {
        /// What is known of it.
        text: String,
        /// The object that it left, where that is known.
        object: Option<Box<Saved>>,
    },
}

/// An intent that is in the journal, and what it gives the right to do. One of [`Self::end`], [`Self::store`],
/// [`Self::remove`] and [`Self::leave_open`] is its end, and is not done again once it has succeeded. When it is dropped
/// without an end, the intent stays open, and others may take over.
#[derive(Debug)]
pub struct IntentGuard {
    encrypted_store: EncryptedStore,
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
pub struct Unanswered {
    encrypted_store: EncryptedStore,
    number: RecordNumber,
}

/// An intent as it is encrypted.
#[derive(Clone, PartialEq, prost::Message)]
struct Entry {
    #[prost(uint32, tag = "1")]
    intention: u32,
    #[prost(string, tag = "2")]
    subject: String,
    #[prost(message, optional, tag = "3")]
    prior: Option<Envelope>,
    #[prost(bytes = "bytes", tag = "4")]
    companion: Bytes,
    /// Milliseconds since 1970.
    #[prost(uint64, tag = "5")]
    since: u64,
    #[prost(string, tag = "6")]
    holder: String,
    #[prost(string, tag = "7")]
    lease_name: String,
    #[prost(message, optional, tag = "8")]
    ended: Option<Ended>,
    /// The id of the object that was made and stored, while nobody knows that the engine was told.
    #[prost(string, optional, tag = "9")]
    unanswered: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Ended {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(message, optional, tag = "2")]
    object: Option<Envelope>,
}

impl OperationKind {
    /// What is done, as in "it was created".
    pub fn done(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Update => "updated",
            Self::Delete => "deleted",
        }
    }

    /// What doing it is called, as in "the creation of it".
    pub fn noun(self) -> &'static str {
        match self {
            Self::Create => "creation",
            Self::Update => "update",
            Self::Delete => "deletion",
        }
    }

    fn number(self) -> u32 {
        match self {
            Self::Create => 1,
            Self::Update => 2,
            Self::Delete => 3,
        }
    }

    fn of(number: u32) -> Option<Self> {
        [Self::Create, Self::Update, Self::Delete].into_iter().find(|one| one.number() == number)
    }
}

impl EncryptedStore {
    /// Writes down an intent. It is durable when this returns, and not a moment before may the provider be told to do
    /// anything. `record` is the record of the object that is to be changed: nobody else can begin to change the same one
    /// until this has ended, or was not heard of for a minute.
    ///
    /// # Errors
    /// [`EncryptedStoreError::Busy`] when somebody else is changing the object; any other when the journal cannot be written. Nothing
    /// is to be done then.
    pub async fn begin(
        &self,
        intent: Intent,
        record: Option<RecordNumber>,
    ) -> Result<IntentGuard, EncryptedStoreError> {
        let holder = Holder::this();
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
            holder: holder.text(),
            lease_name: lease_name.clone(),
            ended: None,
            unanswered: None,
        };
        let plain = entry.encode_to_vec();
        let mut over = None;
        loop {
            let claim = Claim { name: lease_name.clone(), holder: holder.text(), time: LEASE, over };
            let committed = self
                .write(|cipher| Batch {
                    claim: Some(claim.clone()),
                    ..Batch::of(Change::Add {
                        kind: Kind::Intent,
                        key: key.clone(),
                        bytes: cipher.seal(Kind::Intent, &key, &plain),
                    })
                })
                .await?;
            match committed {
                Committed::Done { places, lease } => {
                    let place = *places.first().expect("what was added has a place");
                    let renewing = renew(Arc::clone(self.store()), lease.clone());
                    return Ok(IntentGuard {
                        encrypted_store: self.clone(),
                        entry,
                        key,
                        place,
                        lease,
                        renewing,
                        superseded: Vec::new(),
                    });
                }
                Committed::Refused(Refusal::Held(held)) => {
                    let other = Holder::parse(&held.holder);
                    // Once for each holder that has ended.
                    if over != Some(held.fence) && other.as_ref().is_some_and(Holder::has_ended) {
                        over = Some(held.fence);
                        continue;
                    }
                    let holder = other.map_or(held.holder, |other| other.description());
                    return Err(EncryptedStoreError::Busy { key: Box::new(key), holder });
                }
                Committed::Refused(Refusal::Changed { .. } | Refusal::Newer { .. } | Refusal::Lost(_)) => {
                    return Err(self.changed(&key));
                }
            }
        }
    }

    /// What was begun and has no end yet. A damaged intent does not hide the others.
    ///
    /// # Errors
    /// When nothing of the journal can be read.
    pub async fn open_intents(&self) -> Result<OpenIntents, EncryptedStoreError> {
        let mut open = OpenIntents::default();
        let mut after = Some(RecordNumber(0));
        while let Some(from) = after {
            let Page { records, damaged, next, fault } =
                self.store().page(Kind::Intent, None, from, 256).await?;
            for record in records {
                match self.open_intent(&record).await {
                    Ok(intent) => open.intents.push(intent),
                    Err(error) => open.faults.push(Fault::of(record, error)?),
                }
            }
            open.faults.extend(damaged.into_iter().map(|(number, key)| Fault::of_damaged(number, key)));
            open.faults.extend(fault.map(Fault::of_database));
            after = next;
        }
        Ok(open)
    }

    /// Takes an intent out of the journal, because somebody has seen to what came of it. `false`: there was none.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn dismiss(&self, number: RecordNumber) -> Result<bool, EncryptedStoreError> {
        let open = self.open_intents().await?;
        let known = open.intents.iter().any(|open| open.number == number)
            || open.faults.iter().any(|fault| fault.number == Some(number));
        let remove = Change::Remove { kind: Kind::Intent, number, version: None };
        self.store().commit(Batch::of(remove)).await?;
        Ok(known)
    }

    async fn open_intent(&self, record: &SealedRecord) -> Result<OpenIntent, EncryptedStoreError> {
        let plain = self.unseal(Kind::Intent, record).await?;
        let unreadable = |error| EncryptedStoreError::Envelope {
            key: Box::new(record.key.clone()),
            store: self.location(),
            error,
        };
        let entry = Entry::decode(&plain[..]).map_err(unreadable)?;
        // Only this program writes them; what a newer one has added is none of these.
        let intention = OperationKind::of(entry.intention).unwrap_or(OperationKind::Update);
        let object = |envelope: Option<Envelope>| {
            envelope.map(|envelope| self.object_in(&record.key, envelope.encode_to_vec().into())).transpose()
        };
        let holder = Holder::parse(&entry.holder);
        let since = UNIX_EPOCH + Duration::from_millis(entry.since);
        let condition = match entry.ended {
            // Its process has a moment left to hand the answer over; of one elsewhere nobody knows more than its age.
            None if entry.unanswered.is_some() => {
                let is_over = holder.as_ref().is_some_and(Holder::has_ended)
                    || since.elapsed().is_ok_and(|age| age > LEASE);
                if is_over { Condition::Unanswered } else { Condition::UnderWay }
            }
            Some(Ended { text, object: left }) => {
                Condition::Ended { text, object: object(left)?.map(Box::new) }
            }
            None => {
                let held = self.store().held(&entry.lease_name).await?;
                let is_at_it = held.is_some_and(|held| held.holder == entry.holder && !held.is_over)
                    && !holder.as_ref().is_some_and(Holder::has_ended);
                if is_at_it { Condition::UnderWay } else { Condition::Interrupted }
            }
        };
        Ok(OpenIntent {
            number: record.place.number,
            intent: Intent {
                intention,
                key: match entry.unanswered {
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
        })
    }
}

impl OpenIntent {
    /// One sentence for whoever has to see to it.
    pub fn report(&self) -> String {
        let Intent { intention, key, subject, .. } = &self.intent;
        let noun = intention.noun();
        let what = match (subject.is_empty(), key.id.is_empty()) {
            (true, _) => key.to_string(),
            (false, true) => format!("{subject} ({} of package {})", key.type_name, key.package),
            (false, false) => format!("{subject} ({key})"),
        };
        match &self.condition {
            Condition::UnderWay => format!("the {noun} of {what} is under way ({})", self.holder),
            Condition::Interrupted => format!(
                "the {noun} of {what} was begun by {} and never ended: nobody knows whether it has happened",
                self.holder
            ),
            Condition::Unanswered => format!(
                "{what} was made by {} and is in the store, but that ended before it could know that the engine was told",
                self.holder
            ),
            Condition::Ended { text, .. } => {
                format!("the {noun} of {what}, begun by {}: {text}", self.holder)
            }
        }
    }
}

impl IntentGuard {
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
        let batch = Batch { durability: Durability::Soon, fences, ..self.closing(Vec::new()) };
        self.encrypted_store.store().commit(batch).await?;
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
                .encrypted_store
                .write(|cipher| {
                    let kind = Kind::Object;
                    let bytes = cipher.seal(kind, key, &plain);
                    let change = match place {
                        Some(place) => Change::Replace { kind, place, key: key.clone(), bytes },
                        None => Change::Add { kind, key: key.clone(), bytes },
                    };
                    let removed = self.superseded.iter().copied().map(tombstones::removed);
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
    /// ([`Unanswered::answered`]): if this process ends before, it tells the next one under which id the object is, because
    /// the engine may ask for the same again.
    ///
    /// `beside` are the records that the key has already, newest first, when the id was chosen because of them. `None`:
    /// there are others by now, and nothing was stored.
    ///
    /// # Errors
    /// As of [`Self::store`].
    pub async fn store_unanswered(
        &mut self,
        key: &StoreKey,
        saved: &Saved,
        beside: Option<&[RecordRef]>,
    ) -> Result<Option<(RecordRef, Unanswered)>, EncryptedStoreError> {
        let object = Envelope::from(saved).encode_to_vec();
        self.entry.unanswered = Some(key.id.clone());
        let entry = self.entry.encode_to_vec();
        let (place, intent, lease) = (self.place, self.key.clone(), self.lease.clone());
        let newest = |known: &[RecordRef]| known.first().map_or(RecordNumber(0), |newest| newest.number);
        let newest = beside.map(|known| (Kind::Object, key.clone(), newest(known)));
        let committed = self
            .encrypted_store
            .write(|cipher| Batch {
                require: beside.unwrap_or_default().iter().map(|known| (Kind::Object, *known)).collect(),
                newest: newest.iter().cloned().collect(),
                fences: lease.iter().cloned().collect(),
                changes: [
                    Change::Add {
                        kind: Kind::Object,
                        key: key.clone(),
                        bytes: cipher.seal(Kind::Object, key, &object),
                    },
                    Change::Replace {
                        kind: Kind::Intent,
                        place,
                        key: intent.clone(),
                        bytes: cipher.seal(Kind::Intent, &intent, &entry),
                    },
                ]
                .into_iter()
                .chain(self.superseded.iter().copied().map(tombstones::removed))
                .collect(),
                releases: lease.iter().cloned().collect(),
                ..Batch::default()
            })
            .await;
        if !matches!(committed, Ok(Committed::Done { .. })) {
            self.entry.unanswered = None;
        }
        match committed? {
            Committed::Done { places, .. } => {
                self.lease = None;
                let stored = *places.first().expect("what was stored has a place");
                Ok(Some((
                    stored,
                    Unanswered { encrypted_store: self.encrypted_store.clone(), number: place.number },
                )))
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
        let replaced = self.encrypted_store.replaced_by(&self.key, deletion).await;
        let committed = self
            .encrypted_store
            .write(|cipher| {
                let tombstone = deletion.changes(cipher, &self.key, &replaced);
                self.closing(remove.iter().cloned().chain(tombstone).collect())
            })
            .await?;
        match committed {
            Committed::Done { .. } => {
                self.lease = None;
                self.encrypted_store.sweep(deletion.at).await;
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
        let done = OperationKind::of(self.entry.intention).unwrap_or(OperationKind::Update).done();
        let text = format!(
            "it was {done}, but another process has taken over the object meanwhile, so its new state is not in the store"
        );
        if let Err(error) = self.note(text, saved).await {
            return error;
        }
        EncryptedStoreError::Overtaken {
            key: Box::new(self.key.clone()),
            done,
            store: self.encrypted_store.location(),
        }
    }

    async fn note(&mut self, text: String, saved: Option<&Saved>) -> Result<(), EncryptedStoreError> {
        self.entry.ended = Some(Ended { text, object: saved.map(Envelope::from) });
        let plain = self.entry.encode_to_vec();
        let (place, key, lease) = (self.place, &self.key, self.lease.take());
        let committed = self
            .encrypted_store
            .write(|cipher| Batch {
                releases: lease.iter().cloned().collect(),
                ..Batch::of(Change::Replace {
                    kind: Kind::Intent,
                    place,
                    key: key.clone(),
                    bytes: cipher.seal(Kind::Intent, key, &plain),
                })
            })
            .await?;
        match committed {
            Committed::Done { .. } => Ok(()),
            // Somebody has dismissed it.
            Committed::Refused(_) => Err(self.encrypted_store.changed(&self.key)),
        }
    }

    /// What ends the intent: it goes, and the lease with it.
    fn closing(&self, changes: Vec<Change>) -> Batch {
        closing(self.place.number, self.lease.clone(), changes)
    }
}

impl Unanswered {
    /// The engine has the answer. Waits for no disk, as [`IntentGuard::end`].
    ///
    /// # Errors
    /// When the journal cannot be written; the intent stays open.
    pub async fn answered(self) -> Result<(), EncryptedStoreError> {
        let remove = Change::Remove { kind: Kind::Intent, number: self.number, version: None };
        let batch = Batch { durability: Durability::Soon, ..Batch::of(remove) };
        self.encrypted_store.store().commit(batch).await?;
        Ok(())
    }
}

impl Drop for IntentGuard {
    fn drop(&mut self) {
        self.renewing.abort();
        if let Some(lease) = self.lease.take() {
            // So that nobody waits for who does not do anything any more; the batch happens though nobody waits for it.
            let releases = vec![lease];
            drop(self.encrypted_store.store().commit(Batch {
                releases,
                durability: Durability::Soon,
                ..Batch::default()
            }));
        }
    }
}

fn closing(number: RecordNumber, lease: Option<Lease>, changes: Vec<Change>) -> Batch {
    let mut changes = changes;
    changes.push(Change::Remove { kind: Kind::Intent, number, version: None });
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
            store.commit(Batch { renewal, durability: Durability::Soon, ..Batch::default() }).await.ok();
        }
    })
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
