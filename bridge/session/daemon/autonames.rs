//! Which resources have names that Check generated.
//!
//! The diff depends on it: a replacement gets a new name if the old one was generated, and
//! conflicts with the old object if the program set it. Neither inputs nor state record which it
//! was, and must not: they are what the Go bridge stores. But an engine calls Check right before
//! Diff, so memory is enough.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Upper bound of the set. Names beyond it count as set by the program.
const REMEMBERED: usize = 200_000;

/// The resources with generated names, by URN.
#[derive(Debug, Default)]
pub struct Autonames {
    urns: Mutex<HashSet<Box<str>>>,
}

impl Autonames {
    /// Records whether the name of the resource `urn` is generated.
    pub fn note(&self, urn: &str, is_generated: bool) {
        let mut urns = self.urns.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_generated {
            urns.remove(urn);
        } else if urns.len() < REMEMBERED && !urns.contains(urn) {
            urns.insert(urn.into());
        }
    }

    /// Whether the name of the resource `urn` was generated at its last Check.
    pub fn contains(&self, urn: &str) -> bool {
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
