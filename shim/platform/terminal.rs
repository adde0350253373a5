//! The terminal: its size, and keys that are read as they are pressed.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as family;

pub use family::{Keys, is_discarded, size};
