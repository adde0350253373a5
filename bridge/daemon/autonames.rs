//! Which resources have names that Check made up.
//!
//! A difference depends on it: a resource that is replaced gets a new name if the old one was made up, and is in its own
//! way if the program gave it. Neither the inputs nor the state say which it was, and they must not (they are what the Go
//! bridge stores). But an engine checks a resource right before it asks for the difference, so remembering is enough.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// How many resources are remembered. The names of others pass for their programs' own, rather than memory grow.
const REMEMBERED: usize = 200_000;

/// The resources with made-up names, by URN.
#[derive(Debug, Default)]
pub(crate) struct Autonames {
    urns: Mutex<HashSet<Box<str>>>,
}

impl Autonames {
    /// Notes whether the name of the resource `urn` is made up.
    pub(crate) fn note(&self, urn: &str, is_made_up: bool) {
        let mut urns = self.urns.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_made_up {
            urns.remove(urn);
        } else if urns.len() < REMEMBERED && !urns.contains(urn) {
            urns.insert(urn.into());
        }
    }

    /// Whether the resource `urn` had a made-up name when it was checked last.
    pub(crate) fn contains(&self, urn: &str) -> bool {
        self.urns.lock().unwrap_or_else(PoisonError::into_inner).contains(urn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts() {
        let names = Autonames::default();
        assert!(!names.contains("a"));
        names.note("a", true);
        names.note("a", true);
        assert!(names.contains("a") && !names.contains("b"));
        names.note("a", false);
        assert!(!names.contains("a"));
    }
}
