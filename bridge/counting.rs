//! Entrances for the counted paths (`benches/instructions`), to what is private to this crate.

pub use crate::resource::counting::{add_name, changes, check};
