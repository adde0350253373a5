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

pub use family::{Directory, Entries, Entry, Kind};
