//! Directories that are open: what is in them is found, opened and removed relative to them, and through no symbolic link.
//!
//! So a name that another process replaces meanwhile redirects nothing.

mod unix;

pub use unix::{Directory, Entries, Entry, Kind};
