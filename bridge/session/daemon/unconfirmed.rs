//! Creations for a legacy engine that ended processes stored, without confirmation that it has the answer.
//!
//! Usually it has: it ends its plugin as soon as it has the last answer. A later call with the id shows
//! that it knows the resource; if it requests the same creation again, it had no answer.

use std::sync::{Mutex, PoisonError};

use isthmus_state::OpenIntent;

#[derive(Debug, Default)]
pub struct UnconfirmedCreations(Mutex<Vec<OpenIntent>>);

impl UnconfirmedCreations {
    pub fn remember(&self, open: OpenIntent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(open);
    }

    /// Removes and returns those that match.
    pub fn take(&self, is_same: impl Fn(&OpenIntent) -> bool) -> Vec<OpenIntent> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extract_if(.., |open| is_same(open)).collect()
    }
}
