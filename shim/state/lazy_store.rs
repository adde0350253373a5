//! A state store that is opened when it is first needed: most calls of most users need none.

use std::path::PathBuf;

use isthmus_common::blocking;
use tokio::sync::OnceCell;

use super::encrypted_store::EncryptedStore;
use super::error::EncryptedStoreError;
use super::key::KeySource;
use super::location::StoreAddress;

/// A state store, and where it is.
#[derive(Debug)]
pub struct LazyEncryptedStore {
    address: StoreAddress,
    key: KeySource,
    encrypted_store: OnceCell<EncryptedStore>,
}

impl LazyEncryptedStore {
    /// The state store at an address. Nothing is looked at yet.
    pub fn new(address: StoreAddress, key: KeySource) -> Self {
        Self { address, key, encrypted_store: OnceCell::new() }
    }

    /// The state store, which is made where it is missing. An attempt that failed is made again.
    ///
    /// # Errors
    /// As of [`EncryptedStore::connect`].
    pub async fn open(&self) -> Result<&EncryptedStore, EncryptedStoreError> {
        self.encrypted_store.get_or_try_init(|| EncryptedStore::connect(&self.address, &self.key)).await
    }

    /// The state store if there may be anything in it; `None`: nobody has ever made it.
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

    /// Where it is, for messages.
    pub fn location(&self) -> String {
        match &self.address {
            StoreAddress::File(path) => path.display().to_string(),
            StoreAddress::Server(server) => server.location(),
        }
    }

    /// The files of the state store: the store, its log and the log's index, and its key, as far as they are files.
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

    /// The key file that is kept beside the state store, if there is one.
    pub async fn own_key_file(&self) -> Option<PathBuf> {
        self.key.own_file().await
    }
}
