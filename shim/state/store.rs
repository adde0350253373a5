//! The seam beneath the state store: what any database has to do for it.
//!
//! Records are opaque here: encryption and meaning are the state store's, so that every store has them alike. A provider's ids
//! are not always unique (two `random_password`s are both `none`, two `local_file`s of one content share its hash), so
//! a key may have several records, each with a number of its own.
//!
//! There is one way to change anything, a [`Batch`]: it happens as a whole or not at all, and only if everything that it
//! depends on is still as it was (versions of records, leases). So an outcome can be stored, its intent closed and its
//! lease given back by one wait for the disk, and nobody can write over what another process has changed meanwhile.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

pub use super::store_error::StoreError;
pub use super::store_key::StoreKey;

/// What a record is of. Each kind has a table of its own, all of the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A resource's object.
    Object = 1,
    /// Something that was begun, and of which it is not known how it ended.
    Intent = 2,
    /// What a failed operation has left, and an engine cannot be told.
    FailedDeleteState = 3,
    /// A key that records are encrypted with, itself encrypted.
    Key = 4,
    /// A completed deletion, so that its repetition is recognized.
    Tombstone = 5,
}

impl Kind {
    /// All of them.
    pub(super) const ALL: [Self; 5] =
        [Self::Object, Self::Intent, Self::FailedDeleteState, Self::Key, Self::Tombstone];

    /// Its table.
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Object => "objects",
            Self::Intent => "intents",
            Self::FailedDeleteState => "failed_delete_states",
            Self::Key => "keys",
            Self::Tombstone => "tombstones",
        }
    }

    /// What stands for it in checksums and in what records are bound to.
    pub(super) fn mark(self) -> u8 {
        self as u8
    }
}

/// Which record; never given out twice by one store, and larger for what was added later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordNumber(pub i64);

/// A record as it was when it was read or written: whoever replaces it says what he takes it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordRef {
    /// Which one.
    pub number: RecordNumber,
    /// How often it has been written: 1 when it was added.
    pub version: i64,
}

/// One record as it lies in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SealedRecord {
    /// Which one, and of which version.
    pub place: RecordRef,
    /// What it is found by.
    pub key: StoreKey,
    /// Its encrypted bytes.
    pub bytes: Vec<u8>,
}

/// How many records are read at once where many are: what is in memory at a time.
pub(super) const PAGE: u32 = 256;

/// Some records of a kind, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Those that are as they were written.
    pub records: Vec<SealedRecord>,
    /// Those that are not: their numbers, and what their keys seem to be, where there seem to be any.
    pub damaged: Vec<(RecordNumber, Option<StoreKey>)>,
    /// Where the next page begins. `None`: there is no more.
    pub next: Option<RecordNumber>,
    /// What is wrong with the database beneath, for which records may be missing here.
    pub fault: Option<String>,
}

/// Changes that happen together, or not at all.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// What must be as it was for this to happen.
    pub require: Vec<(Kind, RecordRef)>,
    /// Keys that must have no newer record than this one for this to happen.
    pub newest: Vec<(Kind, StoreKey, RecordNumber)>,
    /// Leases that must still be their holder's for this to happen, whether their time is over or not: what counts is that
    /// nobody has taken them over.
    pub fences: Vec<Lease>,
    /// A lease to prolong, and for how long from now.
    pub renewal: Option<(Lease, Duration)>,
    /// A lease to take.
    pub claim: Option<Claim>,
    /// What to change.
    pub changes: Vec<Change>,
    /// Leases to give back. They need not be the holder's any more.
    pub releases: Vec<Lease>,
    /// What the answer waits for.
    pub durability: Durability,
}

impl Batch {
    /// A batch of one change.
    pub(super) fn of(change: Change) -> Self {
        Self::all(vec![change])
    }

    /// A batch of changes.
    pub(super) fn all(changes: Vec<Change>) -> Self {
        Self { changes, ..Self::default() }
    }

    /// The same, without a wait for the disk.
    pub(super) fn soon(self) -> Self {
        Self { durability: Durability::Soon, ..self }
    }
}

/// What the answer to a batch waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Durability {
    /// The machine may lose its power after the answer, and nothing is lost.
    #[default]
    Durable,
    /// The process may be killed after the answer, and nothing is lost. What is lost when the machine fails is this batch
    /// and what came later, never something before it.
    Soon,
}

/// A change of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A new record.
    Add {
        /// Of what.
        kind: Kind,
        /// What it is to be found by.
        key: StoreKey,
        /// Its encrypted bytes.
        bytes: Vec<u8>,
    },
    /// Other bytes in a record. It is refused if the record has gone or was changed.
    Replace {
        /// Of what.
        kind: Kind,
        /// Which one.
        place: RecordRef,
        /// What it is found by, which does not change.
        key: StoreKey,
        /// Its encrypted bytes.
        bytes: Vec<u8>,
    },
    /// No such record any more. That it has gone already is no fault.
    Remove {
        /// Of what.
        kind: Kind,
        /// Which one.
        number: RecordNumber,
        /// It is refused if the record has another version. `None`: any will do.
        version: Option<i64>,
    },
}

impl Change {
    /// What removes a record, of whichever version.
    pub(super) fn remove(kind: Kind, number: RecordNumber) -> Self {
        Self::Remove { kind, number, version: None }
    }
}

/// A wish for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// What of.
    pub name: String,
    /// Who takes it, in words of the state store's.
    pub holder: String,
    /// For how long, by the store's own clock.
    pub time: Duration,
    /// The lease that may be taken over though its time is not over: its holder is known to have ended.
    pub over: Option<Fence>,
}

/// A number that grows with every lease that is given: what a holder was given before another one is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Fence(pub i64);

/// A lease that somebody has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    /// What of.
    pub name: String,
    /// Which one.
    pub fence: Fence,
}

/// What is known of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeldLease {
    /// Which one.
    pub fence: Fence,
    /// Who took it.
    pub holder: String,
    /// Whether its time is over, by the store's clock.
    pub is_over: bool,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Committed {
    /// It happened.
    Done {
        /// The records that were added and replaced, in the order of the changes.
        places: Vec<RecordRef>,
        /// The lease that was taken.
        lease: Option<Lease>,
    },
    /// Nothing of it happened.
    Refused(Refusal),
}

/// Why nothing of a batch happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A record has gone, or was changed.
    Changed {
        /// Of what.
        kind: Kind,
        /// Which one.
        number: RecordNumber,
        /// Its version now. `None`: it has gone.
        version: Option<i64>,
    },
    /// A key has a newer record than is known.
    Newer {
        /// Of what.
        kind: Kind,
        /// Which one.
        number: RecordNumber,
    },
    /// A lease is not its holder's any more.
    Lost(Lease),
    /// The lease that was wanted is somebody else's.
    Held(HeldLease),
}

/// Why a batch does not happen, within a database's transaction.
pub(super) enum Stopped<E> {
    /// What it depends on is not as it was.
    Refused(Refusal),
    /// The database fails.
    Failed(E),
}

impl<E> From<E> for Stopped<E> {
    fn from(error: E) -> Self {
        Self::Failed(error)
    }
}

/// What a call of a store yields, once awaited.
pub(super) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A database of records.
///
/// Several processes may use one database at once. What a call reads is as it was written, or the call says that it is
/// not: each record has a checksum that covers its kind, its key, its number, its version and its bytes.
pub(super) trait Store: fmt::Debug + Send + Sync {
    /// The records of a key, newest first.
    fn find<'a>(&'a self, kind: Kind, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>>;

    /// Some records after a number, at most so many.
    fn page<'a>(
        &'a self,
        kind: Kind,
        package: Option<&'a str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Pending<'a, Page>;

    /// Changes something. Once the batch was handed over, it happens even if nobody waits for the answer: where the store
    /// has room for it that is now, else when the future has waited for room.
    fn commit(&self, batch: Batch) -> Pending<'_, Committed>;

    /// What is known of a lease. `None`: nobody has it.
    fn held<'a>(&'a self, name: &'a str) -> Pending<'a, Option<HeldLease>>;

    /// Where it is, for messages; without any password.
    fn location(&self) -> String;
}
