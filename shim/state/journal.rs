//! What came of operations that failed, where the engine cannot be told.
//!
//! When a deletion fails half-way, a provider answers with what is left and with new private data of it. Core stores both;
//! an engine has no place for them in its answer to a failed deletion, and goes on with what it had. So they are kept here,
//! for the call that takes the matter up again: it is known by the properties that it sends, which are those that were sent
//! to the deletion that failed. What is kept is the owner's business; the journal does not look into it.
//!
//! It is a database of its own: most users have none, and as long as there is none nobody has to open it, which calls about
//! resources would otherwise do every time.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;

use super::encryption::KeyFile;
use super::sqlite::SqliteStore;
use super::store::{Store, StoreKey};
use super::vault::{VaultError, key_file};

/// The database's name in its folder.
const DATABASE: &str = "journal.sqlite";

/// How many entries a resource may have; the oldest go first. There is more than one only where several resources have one
/// id.
const ENTRIES: usize = 8;

/// A digest of the properties that a call has sent.
pub type Sent = [u8; 32];

/// A journal. Its entries are encrypted as the vault's are, and with the same key.
#[derive(Clone, Debug)]
pub struct Journal {
    store: Arc<dyn Store>,
    key: KeyFile,
}

/// An entry as it is encrypted. The digest is inside: from one that anybody can read, a short secret could be guessed.
#[derive(Clone, PartialEq, prost::Message)]
struct Entry {
    #[prost(bytes = "vec", tag = "1")]
    sent: Vec<u8>,
    #[prost(bytes = "bytes", tag = "2")]
    left: Bytes,
}

impl Journal {
    /// Whether there is a journal in a folder.
    pub fn exists(folder: &Path) -> bool {
        folder.join(DATABASE).exists()
    }

    /// Opens the journal in a folder, which is made where it is missing, and the key, as the vault does.
    ///
    /// # Errors
    /// When the store or the key cannot be made, opened or used.
    pub async fn open(folder: &Path, configured_key: Option<&Path>) -> Result<Self, VaultError> {
        let store = SqliteStore::open(folder.join(DATABASE)).await?;
        let key = key_file(&store, folder, configured_key).await?;
        Ok(Self { store: Arc::new(store), key })
    }

    /// What was kept of a resource for a call that sends the same again.
    ///
    /// # Errors
    /// When the store fails, or an entry cannot be decrypted.
    pub async fn find(&self, key: &StoreKey, sent: &Sent) -> Result<Option<Bytes>, VaultError> {
        for record in self.store.find(key).await? {
            let entry = self.unseal(key, &record.bytes)?;
            if entry.sent == sent {
                return Ok(Some(entry.left));
            }
        }
        Ok(None)
    }

    /// Keeps what is left of a resource, in the place of what was kept for the same call. It is durable when this returns.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn keep(&self, key: &StoreKey, sent: &Sent, left: Bytes) -> Result<(), VaultError> {
        let entry = Entry { sent: sent.to_vec(), left };
        let sealed = self.key.seal(key, &entry.encode_to_vec());
        // Written before anything is removed, so that there is no moment without it.
        let added = self.store.add(key, sealed).await?;
        let mut others = 0;
        for record in self.store.find(key).await?.into_iter().filter(|record| record.number != added) {
            // What cannot be read any more is of no use to anybody.
            let is_same = self.unseal(key, &record.bytes).map_or(true, |entry| entry.sent == sent);
            others += 1;
            if is_same || others >= ENTRIES {
                self.store.remove(record.number).await?;
            }
        }
        Ok(())
    }

    /// Forgets what was kept for such a call; there may be nothing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget(&self, key: &StoreKey, sent: &Sent) -> Result<(), VaultError> {
        for record in self.store.find(key).await? {
            if self.unseal(key, &record.bytes)?.sent == sent {
                self.store.remove(record.number).await?;
            }
        }
        Ok(())
    }

    fn unseal(&self, key: &StoreKey, sealed: &[u8]) -> Result<Entry, VaultError> {
        let plain = self.key.unseal(key, sealed)?;
        Entry::decode(Bytes::from(plain)).map_err(|error| VaultError::Envelope {
            key: Box::new(key.clone()),
            store: self.store.location(),
            error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::KeyError;

    fn key() -> StoreKey {
        StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: "urn a".to_owned() }
    }

    fn left(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[tokio::test]
    async fn what_is_left_is_found_by_what_was_sent() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!Journal::exists(folder.path()));
        let journal = Journal::open(folder.path(), None).await.expect("a journal");
        assert!(Journal::exists(folder.path()));
        journal.keep(&key(), &[1; 32], left("one")).await.expect("kept");
        journal.keep(&key(), &[2; 32], left("two")).await.expect("kept");
        journal.keep(&key(), &[1; 32], left("uno")).await.expect("kept");

        let again = Journal::open(folder.path(), None).await.expect("the same journal");
        assert_eq!(again.find(&key(), &[1; 32]).await.expect("an answer"), Some(left("uno")));
        assert_eq!(again.find(&key(), &[2; 32]).await.expect("an answer"), Some(left("two")));
        assert_eq!(again.find(&key(), &[3; 32]).await.expect("an answer"), None);
        let other = StoreKey { id: "urn b".to_owned(), ..key() };
        assert_eq!(again.find(&other, &[1; 32]).await.expect("an answer"), None);

        again.forget(&key(), &[1; 32]).await.expect("forgotten");
        again.forget(&key(), &[1; 32]).await.expect("forgotten already");
        assert_eq!(journal.find(&key(), &[1; 32]).await.expect("an answer"), None);
        assert_eq!(journal.find(&key(), &[2; 32]).await.expect("an answer"), Some(left("two")));
    }

    #[tokio::test]
    async fn the_oldest_entries_of_a_resource_go_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Journal::open(folder.path(), None).await.expect("a journal");
        for sent in 0..10 {
            journal.keep(&key(), &[sent; 32], left("something")).await.expect("kept");
        }
        assert_eq!(journal.store.find(&key()).await.expect("records").len(), ENTRIES);
        assert_eq!(journal.find(&key(), &[1; 32]).await.expect("an answer"), None);
        assert!(journal.find(&key(), &[2; 32]).await.expect("an answer").is_some());
    }

    #[tokio::test]
    async fn no_file_holds_anything_in_the_clear() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Journal::open(folder.path(), None).await.expect("a journal");
        journal.keep(&key(), b"a digest of all that was sent!!!", left("hunter2")).await.expect("kept");
        for entry in std::fs::read_dir(folder.path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("a file");
            for text in [&b"hunter2"[..], b"a digest of all"] {
                assert!(!bytes.windows(text.len()).any(|window| window == text), "{}", path.display());
            }
        }
    }

    #[tokio::test]
    async fn an_entry_of_another_key_is_told_and_then_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Journal::open(folder.path(), None).await.expect("a journal");
        journal.keep(&key(), &[1; 32], left("one")).await.expect("kept");
        let other = folder.path().join("other");
        KeyFile::open_or_create(&other).expect("a key");
        let journal = Journal::open(folder.path(), Some(&other)).await.expect("a journal");
        let error = journal.find(&key(), &[1; 32]).await.expect_err("the wrong key");
        assert!(matches!(error, VaultError::Key(KeyError::WrongKey { .. })), "{error}");
        journal.keep(&key(), &[1; 32], left("uno")).await.expect("kept");
        assert_eq!(journal.find(&key(), &[1; 32]).await.expect("an answer"), Some(left("uno")));
    }
}
