//! The terminal: its size, and keys that are read as they are pressed.

mod unix;

pub use unix::{Keys, is_discarded, size};
