//! Where a store is.

use std::path::{Path, PathBuf};

/// The database's name in its folder.
const DATABASE: &str = "state.sqlite";

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreAddress {
    /// A SQLite file.
    File(PathBuf),
}

impl StoreAddress {
    /// The store of a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self::File(folder.join(DATABASE))
    }
}
