//! Paused lists.
//!
//! An engine requests a list page by page. The provider's stream stays open in between, so that
//! each object is returned once, in the provider's order, whatever the length. An engine may never
//! request the next page, so the number of lists is bounded and the oldest is dropped.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use isthmus_proto::property::Struct;
use isthmus_provider::Listing;

const MOST: usize = 16;

/// The lists of one provider process.
#[derive(Debug, Default)]
pub struct Listings {
    paused: Mutex<VecDeque<(String, Paused)>>,
}

/// A list, and the request that it answers.
#[derive(Debug)]
pub struct Paused {
    /// The remaining stream.
    pub listing: Listing,
    /// The resource's token.
    pub token: String,
    pub query: Struct,
}

impl Listings {
    /// Stores a list, and returns its continuation token.
    pub fn keep(&self, paused: Paused) -> String {
        // The hasher is keyed with random bytes of the system; the name is no secret.
        let name = format!("{:016x}", RandomState::new().hash_one(&paused.token));
        let mut lists = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        while lists.len() >= MOST {
            lists.pop_front();
        }
        lists.push_back((name.clone(), paused));
        name
    }

    /// Removes and returns the list with this name.
    pub fn take(&self, name: &str) -> Option<Paused> {
        let mut lists = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        let position = lists.iter().position(|(kept, _)| kept == name)?;
        lists.remove(position).map(|(_, paused)| paused)
    }

    /// Whether any list is paused.
    pub(crate) fn are_paused(&self) -> bool {
        !self.paused.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Closes the streams of all lists.
    pub(crate) fn drop_all(&self) {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
