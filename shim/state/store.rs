//! The interface of databases for the state store.
//!
//! Records are opaque here: encryption and contents are the state store's. A provider's ids are not
//! always unique (two `random_password`s are both `none`, two `local_file`s of one content share
//! its hash), so a key may have several records, each with its own number.
//!
//! All changes are a [`Batch`]: it is atomic, and committed only if everything that it depends on
//! is unchanged (versions of records, leases). So an outcome is stored, its intent removed and its
//! lease released in one write, and no process overwrites what another has changed meanwhile.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

pub use super::store_error::StoreError;
pub use super::store_key::StoreKey;

/// Kind of a record. Each has its own table, all with the same columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A resource's object.
    Object = 1,
    /// An operation without a known outcome.
    Intent = 2,
    /// State that a failed deletion left.
    FailedDeleteState = 3,
    /// An encrypted key of records.
    Key = 4,
    /// A completed deletion, so that its repetition is recognized.
    Tombstone = 5,
    /// A record of a stack other than of an object.
    StackRecord = 6,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Object, Self::Intent, Self::FailedDeleteState, Self::Key, Self::Tombstone, Self::StackRecord];

    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Object => "objects",
            Self::Intent => "intents",
            Self::FailedDeleteState => "failed_delete_states",
            Self::Key => "keys",
            Self::Tombstone => "tombstones",
            Self::StackRecord => "stack_records",
        }
    }

    /// Number of the kind in checksums and associated data.
    pub(super) fn mark(self) -> u8 {
        self as u8
    }
}

/// Number of a record; never reused within a store, and increasing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordNumber(pub i64);

/// A version of a record, which a replacement must name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordRef {
    /// Which one.
    pub number: RecordNumber,
    /// Number of writes: 1 when it was added.
    pub version: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SealedRecord {
    /// Number and version.
    pub place: RecordRef,
    /// The key.
    pub key: StoreKey,
    /// Its encrypted bytes.
    pub bytes: Vec<u8>,
}

/// Page size of listings, which limits memory.
pub(super) const PAGE: u32 = 256;

/// A page of records of a kind, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Valid records.
    pub records: Vec<SealedRecord>,
    /// Damaged records: their numbers, and their apparent keys.
    pub damaged: Vec<(RecordNumber, Option<StoreKey>)>,
    /// Start of the next page; `None`: this is the last.
    pub next: Option<RecordNumber>,
    /// A fault of the database, due to which records may be missing.
    pub fault: Option<String>,
}

/// An atomic set of changes with its conditions.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// Records that must be unchanged.
    pub require: Vec<(Kind, RecordRef)>,
    /// Keys whose newest record must be this one.
    pub newest: Vec<(Kind, StoreKey, RecordNumber)>,
    /// Leases that no other process may have taken over, expired or not.
    pub fences: Vec<Lease>,
    /// A lease to renew, and for how long from now.
    pub renewal: Option<(Lease, Duration)>,
    /// A lease to acquire.
    pub claim: Option<Claim>,
    /// Changes of records.
    pub changes: Vec<Change>,
    /// Leases to release, whoever holds them now.
    pub releases: Vec<Lease>,
    /// The durability of the commit.
    pub durability: Durability,
}

impl Batch {
    pub(super) fn of(change: Change) -> Self {
        Self::all(vec![change])
    }

    pub(super) fn all(changes: Vec<Change>) -> Self {
        Self { changes, ..Self::default() }
    }

    /// The same without waiting for the disk.
    pub(super) fn soon(self) -> Self {
        Self { durability: Durability::Soon, ..self }
    }
}

/// Durability of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Durability {
    /// Survives a power failure after the response.
    #[default]
    Durable,
    /// Survives the process being killed after the response. A failure of the machine loses this
    /// batch and later ones, never earlier ones.
    Soon,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A new record.
    Add {
        kind: Kind,
        /// Its key.
        key: StoreKey,
        /// Its encrypted bytes.
        bytes: Vec<u8>,
    },
    /// Replaces a record's bytes. Refused if the record is missing or has changed.
    Replace {
        kind: Kind,
        /// The record and its version.
        place: RecordRef,
        /// Its key, which does not change.
        key: StoreKey,
        bytes: Vec<u8>,
    },
    /// Removes a record, which may be missing.
    Remove {
        kind: Kind,
        /// Its number.
        number: RecordNumber,
        /// Refused if the record has another version. `None`: any version.
        version: Option<i64>,
    },
}

impl Change {
    /// Removes a record of any version.
    pub(super) fn remove(kind: Kind, number: RecordNumber) -> Self {
        Self::Remove { kind, number, version: None }
    }
}

/// A request for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Name of the lease.
    pub name: String,
    /// Description of the holder.
    pub holder: String,
    /// Duration by the store's clock.
    pub time: Duration,
    /// The fence of a lease that may be taken over before it expires: its holder has exited.
    pub over: Option<Fence>,
}

/// A fencing token: increases with every lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Fence(pub i64);

/// A lease that is held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    pub name: String,
    /// Its fence.
    pub fence: Fence,
}

/// State of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeldLease {
    /// Its fence.
    pub fence: Fence,
    /// Its holder.
    pub holder: String,
    /// Whether it has expired, by the store's clock.
    pub is_over: bool,
}

/// Outcome of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Committed {
    /// It is committed.
    Done {
        /// The added and replaced records, in the order of the changes.
        places: Vec<RecordRef>,
        /// The acquired lease.
        lease: Option<Lease>,
    },
    /// Nothing was changed.
    Refused(Refusal),
}

/// Why a batch was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A record is missing, or has changed.
    Changed {
        kind: Kind,
        /// The record's number.
        number: RecordNumber,
        /// Its current version; `None` if it is missing.
        version: Option<i64>,
    },
    /// A key has a newer record than expected.
    Newer {
        kind: Kind,
        /// The record's number.
        number: RecordNumber,
    },
    /// Another process has taken over the lease.
    Lost(Lease),
    /// Another process holds the requested lease.
    Held(HeldLease),
}

/// Why a transaction stops.
pub(super) enum Stopped<E> {
    /// A condition of the batch is not met.
    Refused(Refusal),
    Failed(E),
}

impl<E> From<E> for Stopped<E> {
    fn from(error: E) -> Self {
        Self::Failed(error)
    }
}

/// The future of a store's call.
pub(super) type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A database of records.
///
/// Several processes may use one database at once. Reads return records as written, or report
/// damage: a checksum covers kind, key, number, version and bytes of each record.
pub(super) trait Store: fmt::Debug + Send + Sync {
    /// The records of a key, newest first.
    fn find<'a>(&'a self, kind: Kind, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>>;

    /// At most `limit` records after a number.
    fn page<'a>(
        &'a self,
        kind: Kind,
        package: Option<&'a str>,
        after: RecordNumber,
        at_most: u32,
    ) -> Pending<'a, Page>;

    /// Commits a batch. It is queued at once if there is room, else when the future has waited for
    /// room; once queued, it is committed even if it is not awaited.
    fn commit(&self, batch: Batch) -> Pending<'_, Committed>;

    /// The state of a lease; `None` if there is none.
    fn held<'a>(&'a self, name: &'a str) -> Pending<'a, Option<HeldLease>>;

    /// The location for messages, without password.
    fn location(&self) -> String;
}
