//! Which error has which code.

mod classify;

pub use classify::{
    of_configuration, of_encrypted_store, of_installation, of_journal, of_open_store, of_start, of_store,
};
