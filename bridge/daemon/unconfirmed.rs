//! Creations that ended processes stored without confirmation that the engine has the answer.
//!
//! Usually it has: a legacy engine ends its plugin as soon as it has the last answer. So each is
//! reported once, at the next start, and remembered until this process ends: if the engine then
//! requests the same creation again, it had no answer.

use std::sync::{Mutex, PoisonError};

use isthmus_state::OpenIntent;

#[derive(Debug, Default)]
pub(crate) struct UnconfirmedCreations(Mutex<Vec<OpenIntent>>);

impl UnconfirmedCreations {
    pub(crate) fn remember(&self, open: OpenIntent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(open);
    }

    /// Removes and returns those that match.
    pub(crate) fn take(&self, is_same: impl Fn(&OpenIntent) -> bool) -> Vec<OpenIntent> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extract_if(.., |open| is_same(open)).collect()
    }
}
