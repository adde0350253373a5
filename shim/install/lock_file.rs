//! The dependency lock file, `.terraform.lock.hcl`: the version of each provider in a project, and
//! its package hashes.
//!
//! It is read as strictly and written byte for byte as by OpenTofu, so that neither changes the
//! other's file. As there, users' additions are lost when it is written, except the comments at its
//! head.

mod error;
mod provider_lock;
mod read;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use isthmus_common::{Links, read_regular};

use crate::ProviderAddress;

pub(crate) use error::LockFault;
pub use error::LockFileError;
pub use provider_lock::{NotLocked, OtherPackage, ProviderLock};

/// Name of the file, in the project's directory.
pub const LOCK_FILE_NAME: &str = ".terraform.lock.hcl";

/// The comments at the head of a new file.
const HEADER: &str = "# This file is maintained automatically by \"isthmus install --lock\".\n\
                      # Manual edits may be lost in future updates.\n";

/// The contents of a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    header: String,
    providers: BTreeMap<ProviderAddress, ProviderLock>,
    /// Warnings.
    pub warnings: Vec<String>,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { header: HEADER.to_owned(), providers: BTreeMap::new(), warnings: Vec::new() }
    }
}

impl LockFile {
    /// Reads the lock file in a directory; a missing one is empty.
    ///
    /// # Errors
    /// When it cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self, LockFileError> {
        match read_regular(path, Links::FollowOrNull) {
            Ok(bytes) => Self::parse(&bytes, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(LockFileError::Read { path: path.to_owned(), source }),
        }
    }

    /// Parses a lock file. The path is for errors.
    ///
    /// # Errors
    /// When it is invalid.
    pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Self, LockFileError> {
        let read::Content { header, providers, warnings } = read::parse(bytes, path)?;
        Ok(Self { header: header.unwrap_or_else(|| HEADER.to_owned()), providers, warnings })
    }

    /// Replaces the file atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), LockFileError> {
        write::replace(path, &self.to_string())
            .map_err(|source| LockFileError::Write { path: path.to_owned(), source })
    }

    /// The lock of a provider.
    pub fn provider(&self, address: &ProviderAddress) -> Option<&ProviderLock> {
        self.providers.get(address)
    }

    /// All locked providers.
    pub fn providers(&self) -> impl Iterator<Item = (&ProviderAddress, &ProviderLock)> {
        self.providers.iter()
    }

    /// Locks a provider. For the same version, existing hashes are preserved.
    pub fn lock(&mut self, address: ProviderAddress, mut lock: ProviderLock) {
        if let Some(previous) = self.providers.remove(&address)
            && previous.version == lock.version
        {
            lock.hashes.extend(previous.hashes);
        }
        self.providers.insert(address, lock);
    }

    /// Unlocks a provider.
    pub fn unlock(&mut self, address: &ProviderAddress) -> Option<ProviderLock> {
        self.providers.remove(address)
    }
}

impl fmt::Display for LockFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.header)?;
        write::providers(formatter, &self.providers)
    }
}

#[cfg(test)]
mod tests;
