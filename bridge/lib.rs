//! The executable `isthmus`: the command line, and the resource plugins that it is under other names.
//!
//! Everything else is in crates below this one; see `docs/architecture.md`.

pub mod cli;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
