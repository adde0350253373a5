//! Entrances for the fuzzer (`fuzz/`), to what is private to this crate.
//!
//! Each takes an input, and panics where a decoder breaks a promise.

use bytes::Bytes;

use crate::cli::inspected;

/// A file with the records of a stack, as `isthmus state inspect` shows it.
pub fn inspect(bytes: &Bytes) {
    let [Some((_, hidden)), Some((_, open))] = [false, true].map(|secrets| inspected(bytes, secrets)) else {
        return;
    };
    for json in [hidden, open] {
        serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    }
}
