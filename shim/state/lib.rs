//! Saved objects: what an engine cannot hold itself.
//!
//! The legacy engine sends no prior state, so what a provider made is kept here between its calls. A record is what
//! Terraform's own stacks keep of an object (`tfstackdata1.StateResourceInstanceObjectV1`), encrypted as a whole, in a
//! store that several processes share. An [`EncryptedStore`] is the way to it; beneath is a SQLite file, or a PostgreSQL
//! database for several replicas. Every engine's changes are written down before they are made ([`Journal`]), so that what
//! was cut short is known. `examples/list.rs` is a whole program.

#![warn(missing_docs)]

mod addresses;
mod checksum;
mod encrypted_store;
mod encryption;
mod error;
mod failed_delete_states;
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
pub use encrypted_store::{EncryptedStore, SavedPage};
pub use error::{EncryptedStoreError, Fault};
pub use failed_delete_states::FailedDeleteStates;
pub use journal::{
    Condition, Intent, IntentGuard, Journal, OpenIntent, OpenIntents, OperationKind, Unconfirmed,
};
pub use key::KeySource;
pub use key_error::KeyError;
pub use lazy_store::LazyEncryptedStore;
pub use location::{ServerAddress, StoreAddress};
pub use record::{RecordError, SavedObject, Status};
pub use rotation::Rotated;
pub use saved::{Saved, Sent};
pub use store::{RecordNumber, RecordRef, StoreError, StoreKey};
pub use tombstones::{Deletion, RETENTION as TOMBSTONE_RETENTION, Tombstone, Tombstones};
