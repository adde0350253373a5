//! The dependency lock file, `.terraform.lock.hcl`: which version of each provider a project uses, and the sums of its packages.
//!
//! It is read as strictly as OpenTofu reads it, and written byte for byte as OpenTofu writes it, so that neither finds
//! anything to change in what the other has written. As there, what people add by hand is lost when it is written; only the
//! comments at its head stay, which say by whom it is maintained.
//!
//! The file is in HCL 2, but nothing in it may be more than strings, lists and blocks, which both versions of the language
//! share; so the reader of the CLI configuration reads it.

mod error;
mod provider_lock;
mod read;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use crate::ProviderAddress;

pub(crate) use error::LockFault;
pub use error::LockFileError;
pub use provider_lock::{NotLocked, OtherPackage, ProviderLock};

/// What the file is called, beside the project.
pub const LOCK_FILE_NAME: &str = ".terraform.lock.hcl";

/// The comments that a new file starts with.
const HEADER: &str = "# This file is maintained automatically by \"isthmus install --lock\".\n\
                      # Manual edits may be lost in future updates.\n";

/// A lock file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    header: String,
    providers: BTreeMap<ProviderAddress, ProviderLock>,
    /// What was not understood, but does no harm.
    pub warnings: Vec<String>,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { header: HEADER.to_owned(), providers: BTreeMap::new(), warnings: Vec::new() }
    }
}

impl LockFile {
    /// The lock file in a directory; an empty one, where there is none.
    ///
    /// # Errors
    /// When it cannot be read or understood.
    pub fn read(path: &Path) -> Result<Self, LockFileError> {
        match std::fs::read(path) {
            Ok(bytes) => Self::parse(&bytes, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(LockFileError::Read { path: path.to_owned(), source }),
        }
    }

    /// Reads a lock file's text. The path is for errors.
    ///
    /// # Errors
    /// When it cannot be understood.
    pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Self, LockFileError> {
        let read::Content { header, providers, warnings } = read::parse(bytes, path)?;
        Ok(Self { header: header.unwrap_or_else(|| HEADER.to_owned()), providers, warnings })
    }

    /// Replaces the file, in one step.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), LockFileError> {
        write::replace(path, &self.to_string())
            .map_err(|source| LockFileError::Write { path: path.to_owned(), source })
    }

    /// What the project uses of a provider.
    pub fn provider(&self, address: &ProviderAddress) -> Option<&ProviderLock> {
        self.providers.get(address)
    }

    /// All providers.
    pub fn providers(&self) -> impl Iterator<Item = (&ProviderAddress, &ProviderLock)> {
        self.providers.iter()
    }

    /// Locks a provider. As long as its version stays, all sums that were known stay known.
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
