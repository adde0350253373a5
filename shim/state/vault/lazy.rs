//! A vault that is opened when it is first needed: most calls of most users need none.

use std::path::Path;

use tokio::sync::OnceCell;

use super::{Vault, VaultError};
use crate::key::KeySource;
use crate::location::StoreAddress;

/// A vault, and where it is.
#[derive(Debug)]
pub struct LazyVault {
    address: StoreAddress,
    key: KeySource,
    vault: OnceCell<Vault>,
}

impl LazyVault {
    /// The vault at an address. Nothing is looked at yet.
    pub fn new(address: StoreAddress, key: KeySource) -> Self {
        Self { address, key, vault: OnceCell::new() }
    }

    /// The vault in a folder, with the key in a file, or with the folder's own.
    pub fn in_folder(folder: &Path, key_file: Option<&Path>) -> Self {
        let key = match key_file {
            Some(path) => KeySource::File(path.to_owned()),
            None => KeySource::Folder(folder.to_owned()),
        };
        Self::new(StoreAddress::in_folder(folder), key)
    }

    /// The vault, which is made where it is missing. An attempt that failed is made again.
    ///
    /// # Errors
    /// As of [`Vault::connect`].
    pub async fn open(&self) -> Result<&Vault, VaultError> {
        self.vault.get_or_try_init(|| Vault::connect(&self.address, &self.key)).await
    }

    /// The vault if there may be anything in it; `None`: nobody has ever made it.
    ///
    /// # Errors
    /// As of [`Vault::connect`].
    pub async fn existing(&self) -> Result<Option<&Vault>, VaultError> {
        let is_there = match &self.address {
            _ if self.vault.initialized() => true,
            StoreAddress::File(path) => path.exists(),
            StoreAddress::Server(_) => true,
        };
        if is_there { self.open().await.map(Some) } else { Ok(None) }
    }
}
