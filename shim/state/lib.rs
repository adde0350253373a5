//! Saved objects: state that an engine does not store.
//!
//! The legacy engine sends no prior state with a call, so isthmus stores the state of its resources:
//! Terraform's objects, with private data and identity. For every engine, it also records a change
//! before the provider starts it, so that an interrupted one is known afterwards.
//!
//! Start with [`EncryptedStore::open`], and with `examples/list.rs`, which adds an object and lists all.
//!
//! - [`Saved`]: an object and the caller's own data. The object is the message of Terraform's stacks
//!   (`tfstackdata1.StateResourceInstanceObjectV1`).
//! - [`EncryptedStore`] encrypts a [`Saved`] as a whole (`encryption`, with keys of `keyring`). Below it, a
//!   `Store` has encrypted records only: a SQLite file (`sqlite`), or a PostgreSQL database that several
//!   replicas share (`postgres`). All changes are a `Batch` (`store`), atomic and conditional.
//! - [`Journal`] is in the state store: an intent is removed in the write that stores its outcome.
//!   [`JournalFiles`] is for engines that store objects themselves. See `examples/journal.rs`.
//! - [`FailedDeleteStates`] and [`Tombstones`] have what remains of a deletion: the state that a failed one
//!   left, and the evidence of a completed one, so that its repetition is recognized.
//! - [`tfstate`] and [`stacks`] read and write Terraform's own files.

#![warn(missing_docs)]

mod addresses;
mod backup;
mod checksum;
#[cfg(feature = "counting")]
#[doc(hidden)]
pub mod counting {
    //! Entrances for the counted paths (`benches/instructions`).

    pub use crate::journal::files::counting::JournalEntries;
}
mod encrypted_store;
mod encryption;
mod error;
mod failed_delete_states;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    //! Entrances for the fuzzer (`fuzz/`).

    pub use crate::journal::files::fuzzing::{entries, frames};
}
mod holder;
mod journal;
mod key;
mod key_error;
mod keyring;
mod lazy_store;
mod location;
mod postgres;
mod rotation;
mod saved;
mod sealed_store;
mod sqlite;
#[cfg(feature = "simulation")]
pub mod simulation {
    //! Entrances for the simulation (`tests/simulation`).

    pub use crate::sqlite::simulation::{DatabaseServer, serve_from};
}
mod stack_records;
pub mod stacks;
mod store;
mod store_error;
mod store_key;
pub mod tfstate;
mod tombstones;

#[cfg(test)]
mod suite;

pub use addresses::{
    AddressSyntaxError, ComponentAddress, DeposedKey, InstanceKey, ModuleStep, ObjectAddress,
    ProviderConfigAddress, ResourceAddress, ResourceMode,
};
pub use backup::{BackedUp, BackupError, BackupScope};
pub use encrypted_store::{EncryptedStore, SavedPage};
pub use error::{EncryptedStoreError, Fault};
pub use failed_delete_states::FailedDeleteStates;
pub use journal::{
    Condition, Intent, IntentGuard, InvalidOperationId, Journal, JournalDurability, JournalFault,
    JournalFiles, JournalFilesError, LARGEST_OBJECT, LeftState, Mark, Marks, OpenIntent, OpenIntents,
    OperationId, OperationKind, Unconfirmed,
};
pub use key::KeySource;
pub use key_error::KeyError;
pub use lazy_store::LazyEncryptedStore;
pub use location::{ServerAddress, StoreAddress, database_in};
pub use rotation::Rotated;
pub use saved::{RecordError, Saved, SavedObject, Sent, Status};
pub use sqlite::probe_database;
pub use stack_records::{StackRecord, StackRecords, StoredStack};
pub use store::{RecordNumber, RecordRef, StoreError, StoreKey};
pub use tombstones::{Deletion, RETENTION as TOMBSTONE_RETENTION, Tombstone, Tombstones};
