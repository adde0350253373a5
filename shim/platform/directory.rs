//! Directories that are open: what is in them is found, opened and removed relative to them, and through no symbolic link.
//!
//! So a name that another process replaces meanwhile redirects nothing.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as family;

use std::ffi::OsString;

pub use family::{Directory, Entries};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A local socket; never on Windows, where a regular file stands for one.
    Socket,
    /// Anything else.
    Other,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What it is; a symbolic link is itself.
    pub kind: Kind,
    /// Whether it belongs to the user of this process.
    pub is_own: bool,
}
