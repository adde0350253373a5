//! A state store that is opened on first use: most calls need none.

use std::path::PathBuf;

use isthmus_common::blocking;
use tokio::sync::OnceCell;

use super::encrypted_store::{EncryptedStore, is_of_journal};
use super::error::EncryptedStoreError;
use super::key::KeySource;
use super::location::StoreAddress;

/// A state store and its location.
#[derive(Debug)]
pub struct LazyEncryptedStore {
    address: StoreAddress,
    key: KeySource,
    encrypted_store: OnceCell<EncryptedStore>,
}

impl LazyEncryptedStore {
    /// The state store at an address, not yet opened.
    pub fn new(address: StoreAddress, key: KeySource) -> Self {
        Self { address, key, encrypted_store: OnceCell::new() }
    }

    /// The state store, created if it is missing. A failed attempt is repeated.
    ///
    /// # Errors
    /// As of [`EncryptedStore::connect`].
    pub async fn open(&self) -> Result<&EncryptedStore, EncryptedStoreError> {
        self.encrypted_store.get_or_try_init(|| EncryptedStore::connect(&self.address, &self.key)).await
    }

    /// The state store if it exists.
    ///
    /// # Errors
    /// As of [`EncryptedStore::connect`].
    pub async fn existing(&self) -> Result<Option<&EncryptedStore>, EncryptedStoreError> {
        let is_there = match &self.address {
            _ if self.encrypted_store.initialized() => true,
            StoreAddress::File(path) => {
                let path = path.clone();
                blocking(move || path.exists()).await
            }
            StoreAddress::Server(_) => true,
        };
        if is_there { self.open().await.map(Some) } else { Ok(None) }
    }

    /// The location, for messages.
    pub fn location(&self) -> String {
        match &self.address {
            StoreAddress::File(path) => path.display().to_string(),
            StoreAddress::Server(server) => server.location(),
        }
    }

    /// Files of the state store: the database, its log and the log's index, and the key file, if it
    /// has any.
    pub fn files(&self) -> Vec<PathBuf> {
        let store = match &self.address {
            StoreAddress::File(path) => ["", "-wal", "-shm"]
                .map(|ending| {
                    let mut name = path.clone().into_os_string();
                    name.push(ending);
                    PathBuf::from(name)
                })
                .to_vec(),
            StoreAddress::Server(_) => Vec::new(),
        };
        store.into_iter().chain(self.key.file()).collect()
    }

    /// The key file in the place of the state store, if it exists and no journal explains that it does.
    pub async fn own_key_file(&self) -> Option<PathBuf> {
        self.key.own_file().await.filter(|key| !is_of_journal(key))
    }
}
