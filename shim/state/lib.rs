//! Saved objects: what an engine cannot hold itself.
//!
//! The legacy engine sends no prior state, so what a provider made is kept here between its calls. A record is what
//! Terraform's own stacks keep of an object (`tfstackdata1.StateResourceInstanceObjectV1`), encrypted as a whole, in a
//! store that several processes share. A [`EncryptedStore`] is the way to it; [`Store`] is the seam beneath, of which a SQLite file
//! is the usual form, and a PostgreSQL database that of several replicas. Every engine's changes are written down before
//! they are made (`journal`), so that what was cut short is known. `examples/list.rs` is a whole program.

#![warn(missing_docs)]

mod addresses;
mod checksum;
mod encrypted_store;
mod encryption;
mod journal;
mod key;
mod keyring;
mod location;
mod postgres;
mod record;
mod sqlite;
pub mod stacks;
mod store;
pub mod tfstate;
mod tombstones;

#[cfg(test)]
mod suite;

pub use addresses::{
    AddressSyntaxError, ComponentAddress, DeposedKey, InstanceKey, ModuleStep, ObjectAddress,
    ProviderConfigAddress, ResourceAddress, ResourceMode,
};
pub use encrypted_store::{
    EncryptedStore, EncryptedStoreError, Fault, LazyEncryptedStore, Rotated, Saved, SavedPage,
};
pub use journal::{Condition, Intent, IntentGuard, OpenIntent, OpenIntents, OperationKind, Sent, Unanswered};
pub use key::{KeyError, KeySource};
pub use location::{ServerAddress, StoreAddress};
pub use postgres::PostgresStore;
pub use record::{Beside, RecordError, SavedObject, Status};
pub use sqlite::SqliteStore;
pub use store::{
    Batch, Change, Claim, Committed, Durability, Fence, HeldLease, Kind, Lease, Page, Pending, RecordNumber,
    RecordRef, Refusal, SealedRecord, Store, StoreError, StoreKey,
};
pub use tombstones::{Deletion, RETENTION as TOMBSTONE_RETENTION, Tombstone};
