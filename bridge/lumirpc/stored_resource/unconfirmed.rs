//! Objects that were made and stored by processes which ended before the engine can be known to have been told.
//!
//! Mostly it was: a legacy engine ends its plugin as soon as it has the last answer. So each is told once, at the next
//! start, and stays in mind for as long as that process lives: if the engine then asks for the same again, it was not told.

use std::sync::{Mutex, PoisonError};

use isthmus_proto::property::Struct;
use isthmus_state::{OpenIntent, StoreKey};

use super::last_reported::LastReported;
use super::lookup::is_same;

/// Those that were found in the journal.
#[derive(Debug, Default)]
pub struct UnconfirmedCreations(Mutex<Vec<OpenIntent>>);

impl UnconfirmedCreations {
    /// Keeps one in mind.
    pub fn remember(&self, open: OpenIntent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(open);
    }

    /// Takes out those of a type (the id of `key` does not count) that were made with the same inputs.
    pub(super) fn take_same(&self, key: &StoreKey, inputs: &Struct) -> Vec<OpenIntent> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extract_if(.., |open| {
            let made = &open.intent.key;
            let told = LastReported::kept(&open.intent.companion);
            (&made.package, &made.type_name) == (&key.package, &key.type_name)
                && told.inputs.is_some_and(|told| is_same(&told, inputs))
        })
        .collect()
    }
}
