//! Objects that were created and stored by processes which ended before the engine can be known to have had the answer.
//!
//! Mostly it had: a legacy engine ends its plugin as soon as it has the last answer. So each is reported once, at the next
//! start, and remembered until this process ends: if the engine then asks for the same again, it had no answer.

use std::sync::{Mutex, PoisonError};

use isthmus_state::OpenIntent;

/// Those that were found in the journal.
#[derive(Debug, Default)]
pub(crate) struct UnconfirmedCreations(Mutex<Vec<OpenIntent>>);

impl UnconfirmedCreations {
    /// Remembers one.
    pub(crate) fn remember(&self, open: OpenIntent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(open);
    }

    /// Takes out those that are the same as a new one.
    pub(crate) fn take(&self, is_same: impl Fn(&OpenIntent) -> bool) -> Vec<OpenIntent> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extract_if(.., |open| is_same(open)).collect()
    }
}
