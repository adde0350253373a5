//! States that failed deletions left, which the caller does not store.
//!
//! When a deletion fails halfway, the provider returns the remaining state and new private data.
//! Terraform stores both; the protocol of a caller may have no field for them in the response of a failed
//! deletion, so it continues with its old state. They are stored here for the next call, which is
//! identified by a digest of its properties: they are the same as in the failed deletion. The state
//! is opaque here.

use bytes::Bytes;
use prost::Message as _;

use super::error::EncryptedStoreError;
use super::saved::Sent;
use super::sealed_store::SealedStore;
use super::store::{Batch, Change, Kind, SealedRecord, StoreKey};

/// Limit of states per resource; the oldest are removed first. There are several only if resources
/// share an id.
const MOST: usize = 8;

/// A state before encryption. The digest is encrypted too: a short secret could be guessed from it.
#[derive(Clone, PartialEq, prost::Message)]
struct FailedDeleteState {
    #[prost(bytes = "vec", tag = "1")]
    sent: Vec<u8>,
    #[prost(bytes = "bytes", tag = "2")]
    left: Bytes,
}

/// States that failed deletions left.
#[derive(Debug)]
pub struct FailedDeleteStates<'a> {
    sealed: &'a SealedStore,
}

impl<'a> FailedDeleteStates<'a> {
    pub(super) fn of(sealed: &'a SealedStore) -> Self {
        Self { sealed }
    }

    /// The state for a call with the same properties.
    ///
    /// # Errors
    /// When the store fails, or a state cannot be decrypted.
    pub async fn find(&self, key: &StoreKey, sent: &Sent) -> Result<Option<Bytes>, EncryptedStoreError> {
        for record in self.sealed.store.find(Kind::FailedDeleteState, key).await? {
            let remnant = self.remnant_in(&record).await?;
            if remnant.sent == sent {
                return Ok(Some(remnant.left));
            }
        }
        Ok(None)
    }

    /// Stores a state, replacing that for the same properties. It is durable when this returns.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn keep(&self, key: &StoreKey, sent: &Sent, left: Bytes) -> Result<(), EncryptedStoreError> {
        let plain = FailedDeleteState { sent: sent.to_vec(), left }.encode_to_vec();
        let mut removed = Vec::new();
        let mut others = 0;
        for record in self.sealed.store.find(Kind::FailedDeleteState, key).await? {
            // A state that cannot be read is replaced.
            let is_same = self.remnant_in(&record).await.map_or(true, |remnant| remnant.sent == sent);
            others += usize::from(!is_same);
            if is_same || others >= MOST {
                removed.push(Change::remove(Kind::FailedDeleteState, record.place.number));
            }
        }
        self.sealed
            .write(|cipher| {
                let mut batch = Batch::of(cipher.add(Kind::FailedDeleteState, key, &plain));
                batch.changes.extend(removed.iter().cloned());
                batch
            })
            .await?;
        Ok(())
    }

    /// Removes the state for a call with these properties, if any.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget(&self, key: &StoreKey, sent: &Sent) -> Result<(), EncryptedStoreError> {
        let mut changes = Vec::new();
        for record in self.sealed.store.find(Kind::FailedDeleteState, key).await? {
            if self.remnant_in(&record).await?.sent == sent {
                changes.push(Change::remove(Kind::FailedDeleteState, record.place.number));
            }
        }
        if !changes.is_empty() {
            self.sealed.store.commit(Batch::all(changes)).await?;
        }
        Ok(())
    }

    async fn remnant_in(&self, record: &SealedRecord) -> Result<FailedDeleteState, EncryptedStoreError> {
        self.sealed.decoded(Kind::FailedDeleteState, record).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EncryptedStore;

    fn key() -> StoreKey {
        StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: "urn a".to_owned() }
    }

    fn left(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[tokio::test]
    async fn what_is_left_is_found_by_what_was_sent() {
        let directory = tempfile::tempdir().expect("a directory");
        let encrypted_store = EncryptedStore::open(directory.path(), None).await.expect("a state store");
        encrypted_store.failed_delete_states().keep(&key(), &[1; 32], left("one")).await.expect("kept");
        encrypted_store.failed_delete_states().keep(&key(), &[2; 32], left("two")).await.expect("kept");
        encrypted_store.failed_delete_states().keep(&key(), &[1; 32], left("uno")).await.expect("kept");

        let again = EncryptedStore::open(directory.path(), None).await.expect("the same state store");
        assert_eq!(
            again.failed_delete_states().find(&key(), &[1; 32]).await.expect("an answer"),
            Some(left("uno"))
        );
        assert_eq!(
            again.failed_delete_states().find(&key(), &[2; 32]).await.expect("an answer"),
            Some(left("two"))
        );
        assert_eq!(again.failed_delete_states().find(&key(), &[3; 32]).await.expect("an answer"), None);
        let other = StoreKey { id: "urn b".to_owned(), ..key() };
        assert_eq!(again.failed_delete_states().find(&other, &[1; 32]).await.expect("an answer"), None);

        again.failed_delete_states().forget(&key(), &[1; 32]).await.expect("forgotten");
        again.failed_delete_states().forget(&key(), &[1; 32]).await.expect("forgotten already");
        assert_eq!(
            encrypted_store.failed_delete_states().find(&key(), &[1; 32]).await.expect("an answer"),
            None
        );
        assert_eq!(
            encrypted_store.failed_delete_states().find(&key(), &[2; 32]).await.expect("an answer"),
            Some(left("two"))
        );
    }

    #[tokio::test]
    async fn the_oldest_states_of_a_resource_are_removed_first() {
        let directory = tempfile::tempdir().expect("a directory");
        let encrypted_store = EncryptedStore::open(directory.path(), None).await.expect("a state store");
        for sent in 0..10 {
            encrypted_store
                .failed_delete_states()
                .keep(&key(), &[sent; 32], left("something"))
                .await
                .expect("kept");
        }
        assert_eq!(
            encrypted_store.sealed.store.find(Kind::FailedDeleteState, &key()).await.expect("records").len(),
            MOST
        );
        assert_eq!(
            encrypted_store.failed_delete_states().find(&key(), &[1; 32]).await.expect("an answer"),
            None
        );
        assert!(
            encrypted_store.failed_delete_states().find(&key(), &[2; 32]).await.expect("an answer").is_some()
        );
    }

    #[tokio::test]
    async fn no_file_contains_a_failed_delete_state_unencrypted() {
        let directory = tempfile::tempdir().expect("a directory");
        let encrypted_store = EncryptedStore::open(directory.path(), None).await.expect("a state store");
        encrypted_store
            .failed_delete_states()
            .keep(&key(), b"a digest of all that was sent!!!", left("hunter2"))
            .await
            .expect("kept");
        for entry in std::fs::read_dir(directory.path()).expect("a directory") {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("a file");
            for text in [&b"hunter2"[..], b"a digest of all"] {
                assert!(!bytes.windows(text.len()).any(|window| window == text), "{}", path.display());
            }
        }
    }
}
