//! What failed deletions have left behind.
//!
//! An engine that is told that a deletion has failed keeps the properties that it had, and sends them with the next call.
//! What the provider has answered with the failure (what is left, and its private data, which may say how far it got) is
//! kept in the journal, as the properties that would have been stored, and takes the place of those that are sent. It is
//! known by URN, id, and a digest of what was sent: properties that are not those belong to another object, or to one that
//! was read or changed since.
//!
//! It is forgotten when the object is gone or changed, and when the very properties that it is known by are given to an
//! engine anew, which makes them later than it. A read alone does not end it: whether its answer is stored, or was for a
//! preview and is thrown away, nothing in the request tells. An engine that has stored the answer sends other properties
//! from then on, and one that has not sends the same again, and is right to find what is kept.
//!
//! A journal that cannot be used is warned of. The engine's own properties then have to do, as they do for other bridges.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::{Diagnostic, Object};
use isthmus_state::{
    EncryptedStore, EncryptedStoreError, Intent, IntentGuard, LazyEncryptedStore, Sent, StoreKey,
};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::state::{Prior, RenderOptions, properties_in_any_case};
use super::{OperationWarnings, Target};
use crate::home::PlaceError;
use crate::translate::property::bag_without_secrets;

/// The journal, which is part of the store of objects.
#[derive(Debug)]
pub(crate) struct FailedDeletes {
    state_store: Result<Arc<LazyEncryptedStore>, PlaceError>,
    /// What the user was warned of, as hashes: texts may be of any length.
    told: Mutex<HashSet<u64>>,
    hashes: RandomState,
}

/// The journal cannot be used.
#[derive(Debug, thiserror::Error)]
enum JournalError {
    /// There is no place for it, or none that can be trusted.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The store or its key.
    #[error(transparent)]
    EncryptedStore(#[from] EncryptedStoreError),
}

impl FailedDeletes {
    /// The journal in a state store, or why there is none.
    pub(crate) fn new(state_store: Result<Arc<LazyEncryptedStore>, PlaceError>) -> Self {
        Self { state_store, told: Mutex::default(), hashes: RandomState::new() }
    }

    /// `None`: nothing was ever kept.
    async fn existing(&self) -> Result<Option<&EncryptedStore>, JournalError> {
        match &self.state_store {
            Ok(state_store) => Ok(state_store.existing().await?),
            // It is warned of when something is to be written.
            Err(_) => Ok(None),
        }
    }

    /// Writes down what is about to be done.
    ///
    /// # Errors
    /// Why that is not possible, in the user's words.
    pub(super) async fn begin(&self, intent: Intent) -> Result<IntentGuard, String> {
        let state_store = self.opened().await.map_err(|error| isthmus_common::error_chain(&error))?;
        state_store.journal().begin(intent, None).await.map_err(|error| isthmus_common::error_chain(&error))
    }

    /// Warns of a journal that cannot be used. What is wrong with it is mostly the same for every resource of a program, and
    /// is told once.
    pub(super) fn complain(
        &self,
        summary: &str,
        reason: &str,
        consequence: &str,
        notes: &mut OperationWarnings,
    ) {
        let hash = self.hashes.hash_one((summary, reason));
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(hash) {
            notes.warnings.push(Diagnostic::warning(summary, format!("{reason}. {consequence}")));
        }
    }

    async fn opened(&self) -> Result<&EncryptedStore, JournalError> {
        Ok(self.state_store.as_ref().map_err(PlaceError::clone)?.open().await?)
    }
}

impl Target<'_> {
    /// The properties that take the place of those that an engine has `sent`, after a deletion with the same has failed.
    pub(super) async fn left_by_failed_delete(
        &self,
        sent: &Struct,
        notes: &mut OperationWarnings,
    ) -> Option<Struct> {
        let (key, journal) = self.journal_key()?;
        let found = async {
            let Some(journal) = journal.existing().await? else { return Ok(None) };
            Ok::<_, JournalError>(journal.remnants().find(&key, &digest(sent)).await?)
        };
        match found.await {
            // What was written by us can be read by us, unless a newer version has written it otherwise.
            Ok(left) => left.and_then(|left| Struct::decode(left).ok()),
            Err(error) => {
                let summary = "Failed to read what an earlier failed deletion has left";
                let reason = isthmus_common::error_chain(&error);
                journal.complain(summary, &reason, "What the engine has stored is used.", notes);
                None
            }
        }
    }

    /// Keeps what the deletion of `prior` has left, unless it is what was there before.
    pub(super) async fn keep_what_is_left(
        &self,
        left: &Object,
        prior: &Prior,
        inputs: &Struct,
        sent: &Struct,
        notes: &mut OperationWarnings,
    ) {
        let Some((key, journal)) = self.journal_key() else { return };
        let before = &prior.object;
        if (&left.value, &left.private, &left.identity) == (&before.value, &before.private, &before.identity)
        {
            return;
        }
        let identity = self.identity_of(left, notes).await;
        let secrets = self.secrets_of(inputs);
        let look = RenderOptions { secrets: &secrets, like: sent };
        let kept = async {
            let (properties, _) = properties_in_any_case(self, left, identity, look, prior.status)
                .map_err(|error| isthmus_common::error_chain(&error))?;
            let left = Bytes::from(properties.encode_to_vec());
            let journal = journal.opened().await.map_err(|error| isthmus_common::error_chain(&error))?;
            let kept = journal.remnants().keep(&key, &digest(sent), left).await;
            kept.map_err(|error| isthmus_common::error_chain(&error))
        };
        if let Err(reason) = kept.await {
            notes.warnings.push(Diagnostic::warning(
                "Failed to store what the failed deletion has left",
                format!("{reason}. The next attempt begins with what was there before."),
            ));
        }
    }

    /// Forgets what a failed deletion has left, when it has become the engine's business again.
    pub(super) async fn forget_failed_delete(&self, sent: &Struct, notes: &mut OperationWarnings) {
        let Some((key, journal)) = self.journal_key() else { return };
        self.forget(&key, journal, sent, notes).await;
    }

    /// Forgets what is kept for `given`, properties that an engine is about to get for the object called `id`.
    pub(super) async fn overtake_failed_delete(
        &self,
        id: &str,
        given: &Struct,
        notes: &mut OperationWarnings,
    ) {
        let Some(memory) = self.memory else { return };
        let key = self.journal_key_of(memory.urn, id);
        self.forget(&key, memory.failed_deletes, given, notes).await;
    }

    async fn forget(
        &self,
        key: &StoreKey,
        journal: &FailedDeletes,
        sent: &Struct,
        notes: &mut OperationWarnings,
    ) {
        let forgotten = async {
            let Some(journal) = journal.existing().await? else { return Ok(()) };
            Ok::<_, JournalError>(journal.remnants().forget(key, &digest(sent)).await?)
        };
        if let Err(error) = forgotten.await {
            let summary = "Failed to remove what an earlier failed deletion has left";
            let reason = isthmus_common::error_chain(&error);
            journal.complain(summary, &reason, "It takes the place of the same properties.", notes);
        }
    }

    fn journal_key(&self) -> Option<(StoreKey, &FailedDeletes)> {
        let memory = self.memory.as_ref()?;
        Some((self.journal_key_of(memory.urn, memory.id), memory.failed_deletes))
    }

    fn journal_key_of(&self, urn: &str, id: &str) -> StoreKey {
        StoreKey {
            package: self.package.name.clone(),
            type_name: self.shape.terraform_type.to_string(),
            id: format!("{urn} {id}"),
        }
    }
}

/// What is the same for the same properties, in whichever order an engine has sent them, and whatever it has marked as
/// secret.
pub(crate) fn digest(properties: &Struct) -> Sent {
    let plain = bag_without_secrets(properties);
    let mut hasher = Sha256::new();
    add_bag(&mut hasher, plain.as_ref().unwrap_or(properties));
    hasher.finalize().into()
}

/// Each kind begins with a byte of its own, and what has a length with the length, so that no two bags read alike.
fn add(hasher: &mut Sha256, value: &Property) {
    match value {
        Property::Null => hasher.update([0]),
        Property::Bool(value) => hasher.update([1, u8::from(*value)]),
        Property::Number(number) => {
            hasher.update([2]);
            hasher.update(number.to_bits().to_le_bytes());
        }
        Property::String(text) => {
            hasher.update([3]);
            add_text(hasher, text);
        }
        Property::List(elements) => {
            hasher.update([4]);
            hasher.update(elements.len().to_le_bytes());
            for element in elements {
                add(hasher, element);
            }
        }
        Property::Struct(bag) => add_bag(hasher, bag),
    }
}

fn add_bag(hasher: &mut Sha256, bag: &Struct) {
    let mut members: Vec<(&str, &Property)> = bag.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    hasher.update([5]);
    hasher.update(members.len().to_le_bytes());
    for (name, value) in members {
        add_text(hasher, name);
        add(hasher, value);
    }
}

fn add_text(hasher: &mut Sha256, text: &str) {
    hasher.update(text.len().to_le_bytes());
    hasher.update(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::property::secret;

    #[test]
    fn the_same_properties_are_known_in_any_order_and_whatever_is_secret() {
        let text = |value: &str| Property::from(value);
        let one = Struct::from([("a", text("x")), ("b", secret(text("y")))]);
        let other = Struct::from([("b", text("y")), ("a", text("x"))]);
        assert_eq!(digest(&one), digest(&other));
    }

    #[test]
    fn other_properties_are_not_known() {
        let bags = [
            Struct::new(),
            Struct::from([("a", Property::Null)]),
            Struct::from([("a", Property::Bool(false))]),
            Struct::from([("a", Property::from("b"))]),
            Struct::from([("ab", Property::from(""))]),
            Struct::from([("a", Property::from(1.0))]),
            Struct::from([("a", Property::List(vec![]))]),
            Struct::from([("a", Property::List(vec![Property::Null]))]),
            Struct::from([("a", Property::Struct(Struct::new()))]),
            Struct::from([("a", Property::List(vec![Property::List(vec![]), Property::Null]))]),
            Struct::from([("a", Property::List(vec![Property::List(vec![Property::Null])]))]),
        ];
        let digests: HashSet<Sent> = bags.iter().map(digest).collect();
        assert_eq!(digests.len(), bags.len());
    }
}
