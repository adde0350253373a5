//! Saved objects: what an engine cannot hold itself.
//!
//! The engine of 2017 sends no prior state, so what a provider made is kept here between its calls. A record is what
//! Terraform's own stacks keep of an object (`tfstackdata1.StateResourceInstanceObjectV1`), encrypted as a whole, in a
//! store that several processes share. A [`Vault`] is the way to it; [`Store`] is the seam beneath, of which SQLite is
//! the first form. Today's engine stores state itself, all but what a failed deletion leaves: that is in the [`Journal`].

mod encryption;
mod journal;
mod record;
mod sqlite;
mod store;
mod vault;

pub use encryption::{KeyError, KeyFile};
pub use journal::{Journal, Sent};
pub use record::{RecordError, SavedObject, Status};
pub use sqlite::SqliteStore;
pub use store::{Pending, RecordNumber, SealedRecord, Store, StoreError, StoreKey};
pub use vault::{Saved, Vault, VaultError};
