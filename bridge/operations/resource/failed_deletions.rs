//! Objects left behind by failed deletions.
//!
//! After a failed deletion, an engine keeps its stored properties and sends them with the next
//! call. The object that the provider returned with the failure (with private data that may record
//! its progress) is stored in the journal, as properties, and replaces those that are sent. Its key
//! is the URN, the id, and a digest of what was sent: other properties belong to another object, or
//! to one that was read or changed since.
//!
//! The entry is removed when the object is deleted or changed, and when the properties of its key
//! are returned to an engine again, which makes them newer. A read alone does not remove it: the
//! request does not show whether the result is stored or discarded by a preview. An engine that
//! stored the result sends other properties from then on; one that did not sends the same, for
//! which the entry is correct.
//!
//! If the journal cannot be used, a warning is shown and the engine's properties are used, as other
//! bridges do.

use bytes::Bytes;
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::{Diagnostic, Object};
use isthmus_state::{Sent, StoreKey};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::Target;
use super::operations::{Operations, OperationsError};
use super::prior::Prior;
use super::state::{RenderOptions, properties_in_any_case};
use isthmus_translate::property::bag_without_secrets;

impl Target<'_> {
    /// The properties left behind by a failed deletion with the properties that the engine `sent`.
    pub(super) async fn left_by_failed_delete(&self, sent: &Struct) -> Option<Struct> {
        let (key, operations) = self.journal_key()?;
        let journal = operations.left_states()?;
        let found = async {
            // Digests take time, and there is hardly ever anything to find.
            Ok(if journal.may_have(&key).await? { journal.find(&key, &digest(sent)).await? } else { None })
        };
        match found.await {
            // It can be decoded, unless a newer version wrote it.
            Ok(left) => left.and_then(|left| Struct::decode(left).ok()),
            Err(error) => {
                let summary = "Failed to read what an earlier failed deletion has left";
                let used = "isthmus uses the state that the engine has stored.";
                operations.warn(summary, &error, used, &self.warnings);
                None
            }
        }
    }

    /// Stores the object that a failed deletion left behind, if it differs from `prior`.
    pub(super) async fn keep_what_is_left(
        &self,
        left: &Object,
        prior: &Prior,
        inputs: &Struct,
        sent: &Struct,
    ) {
        let Some((key, operations)) = self.journal_key() else { return };
        let before = &prior.object;
        if (&left.value, &left.private, &left.identity) == (&before.value, &before.private, &before.identity)
        {
            return;
        }
        let identity = self.identity_of(left).await;
        let secrets = self.secrets_of(inputs);
        let options = RenderOptions {
            secrets: &secrets,
            like: sent,
            unread: prior.unread(),
            is_unrefreshed: prior.is_unrefreshed,
        };
        let kept = async {
            let rendering = async { properties_in_any_case(self, left, identity, options, prior.status) };
            let (rendered, _) = self.warnings.aside(rendering).await;
            let (properties, _) = rendered.map_err(|error| isthmus_common::error_chain(&error))?;
            let left = Bytes::from(properties.encode_to_vec());
            let journal = operations.left_states_to_write();
            let journal = journal.map_err(|error| isthmus_common::error_chain(&error))?;
            let kept = journal.keep(&key, &digest(sent), left).await;
            kept.map_err(|error| isthmus_common::error_chain(&error))
        };
        if let Err(reason) = kept.await {
            self.warn(Diagnostic::warning(
                "Failed to store what the failed deletion has left",
                format!("{reason}. The next attempt begins with what was there before."),
            ));
        }
    }

    /// Removes the entry of a failed deletion.
    pub(super) async fn forget_failed_delete(&self, sent: &Struct) {
        let Some((key, operations)) = self.journal_key() else { return };
        self.forget(&key, operations, sent).await;
    }

    /// Removes the entry whose key is `given`, properties about to be returned for the object `id`.
    pub(super) async fn overtake_failed_delete(&self, id: &str, given: &Struct) {
        let Some(journaled) = self.journaled else { return };
        let key = self.journal_key_of(journaled.urn, id);
        self.forget(&key, journaled.operations, given).await;
    }

    async fn forget(&self, key: &StoreKey, operations: &Operations, sent: &Struct) {
        let Some(journal) = operations.left_states() else { return };
        let forgotten = async {
            if journal.may_have(key).await? {
                journal.forget(key, &digest(sent)).await?;
            }
            Ok::<_, OperationsError>(())
        };
        if let Err(error) = forgotten.await {
            let summary = "Failed to remove what an earlier failed deletion has left";
            operations.warn(summary, &error, "It takes the place of the same properties.", &self.warnings);
        }
    }

    fn journal_key(&self) -> Option<(StoreKey, &Operations)> {
        let journaled = self.journaled.as_ref()?;
        Some((self.journal_key_of(journaled.urn, journaled.id), journaled.operations))
    }

    fn journal_key_of(&self, urn: &str, id: &str) -> StoreKey {
        StoreKey {
            package: self.package.name.clone(),
            type_name: self.shape.terraform_type.to_string(),
            id: format!("{urn} {id}"),
        }
    }
}

/// A digest that depends neither on the order of properties nor on secret marks.
pub fn digest(properties: &Struct) -> Sent {
    let plain = bag_without_secrets(properties);
    let mut hasher = Sha256::new();
    add_bag(&mut hasher, plain.as_ref().unwrap_or(properties));
    hasher.finalize().into()
}

/// Each kind has a tag and variable lengths are prefixed, so that the encoding is unambiguous.
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
    use std::collections::HashSet;

    use super::*;
    use isthmus_translate::property::secret;

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
