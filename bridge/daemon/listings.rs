//! Lists that an engine has seen the beginning of.
//!
//! An engine asks for a list page by page. The provider's stream stays open in between, so that each object is told once,
//! in the provider's order, however long the list is. What is never asked for again must not stay for ever: only so many
//! lists are kept, and the oldest gives way.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use isthmus_proto::property::Struct;
use isthmus_provider::Listing;

/// How many lists are kept.
const MOST: usize = 16;

/// The lists of one provider process.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    paused: Mutex<VecDeque<(String, Paused)>>,
}

/// A list, and what it is a list of.
#[derive(Debug)]
pub(crate) struct Paused {
    /// The rest of it.
    pub listing: Listing,
    /// The resource's token.
    pub token: String,
    /// What was asked for.
    pub query: Struct,
}

impl Listings {
    /// Keeps a list for later, and returns what it is asked for by.
    pub(crate) fn keep(&self, paused: Paused) -> String {
        // The hasher is keyed by the operating system's randomness; more is not needed of what is not secret.
        let name = format!("{:016x}", RandomState::new().hash_one(&paused.token));
        let mut lists = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        while lists.len() >= MOST {
            lists.pop_front();
        }
        lists.push_back((name.clone(), paused));
        name
    }

    /// The list that was kept under this name, which is then not kept any more.
    pub(crate) fn take(&self, name: &str) -> Option<Paused> {
        let mut lists = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        let position = lists.iter().position(|(kept, _)| kept == name)?;
        lists.remove(position).map(|(_, paused)| paused)
    }

    /// Tells the provider that nobody wants the rest of any list.
    pub(crate) fn drop_all(&self) {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
