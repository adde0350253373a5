//! Saved objects: state that an engine does not store.
//!
//! The legacy engine sends no prior state, so it is stored here between calls. A record is the
//! message of Terraform's stacks (`tfstackdata1.StateResourceInstanceObjectV1`), encrypted as a
//! whole, in a store that several processes share. [`EncryptedStore`] provides access to a SQLite
//! file, or a PostgreSQL database for several replicas. Changes for any engine are recorded before
//! they start ([`Journal`], [`JournalFiles`]), so that interrupted ones are known. See `examples/list.rs`.

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
mod record;
mod rotation;
mod saved;
mod sealed_store;
mod sqlite;
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
pub use record::{RecordError, SavedObject, Status};
pub use rotation::Rotated;
pub use saved::{Saved, Sent};
pub use sqlite::probe_database;
pub use stack_records::{StackRecord, StackRecords, StoredStack};
pub use store::{RecordNumber, RecordRef, StoreError, StoreKey};
pub use tombstones::{Deletion, RETENTION as TOMBSTONE_RETENTION, Tombstone, Tombstones};
