//! Entrances for the fuzzer (`fuzz/`), to what is private to this crate.
//!
//! Each takes an input, and panics where a decoder breaks a promise.

use crate::project::document::{FileKind, Named};

/// The files of a Pulumi project that may name the plugin.
pub fn project(name: &str, text: &str) {
    if let Some(kind) = FileKind::of(name)
        && let Ok(named) = Named::parse(kind, name, text)
    {
        let _ = named.versions();
    }
}
