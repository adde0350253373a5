//! Saved objects in a store: encrypted on the way in, checked on the way out.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use isthmus_proto::tfplugin6::ResourceIdentityData;
use isthmus_proto::tfstackdata1::StateResourceInstanceObjectV1;
use prost::Message as _;

use super::encryption::{KeyError, KeyFile};
use super::record::{RecordError, SavedObject};
use super::sqlite::SqliteStore;
use super::store::{RecordNumber, SealedRecord, Store, StoreError, StoreKey};

/// The database's name in its folder.
const DATABASE: &str = "state.sqlite";
/// The key file's name in the same folder, where no other is configured.
const KEY: &str = "state.key";

/// A store of saved objects.
#[derive(Clone, Debug)]
pub struct Vault {
    store: Arc<dyn Store>,
    key: KeyFile,
}

/// What is kept of one resource.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The object.
    pub object: SavedObject,
    /// What the owner of the resource keeps beside it; the vault does not look into it.
    pub companion: Bytes,
}

/// A record as it is encrypted: the object as Terraform writes it, and what that has no place for.
#[derive(Clone, PartialEq, prost::Message)]
struct Envelope {
    #[prost(message, optional, tag = "1")]
    object: Option<StateResourceInstanceObjectV1>,
    #[prost(message, optional, tag = "2")]
    identity: Option<ResourceIdentityData>,
    #[prost(bytes = "bytes", tag = "3")]
    companion: Bytes,
}

/// A vault cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The store beneath failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key is missing or wrong, or the record is damaged.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The record was decrypted, but is no object.
    #[error("the record of {key} in the store {store} cannot be read")]
    Record {
        /// Which record.
        key: Box<StoreKey>,
        /// Where.
        store: String,
        /// Why.
        #[source]
        error: RecordError,
    },
    /// The record was decrypted, but is no record.
    #[error(
        "the record of {key} in the store {store} cannot be read; use the version of isthmus that wrote it, or a newer one"
    )]
    Envelope {
        /// Which record.
        key: Box<StoreKey>,
        /// Where.
        store: String,
        /// Why.
        #[source]
        error: prost::DecodeError,
    },
}

impl Vault {
    /// Opens the vault in a folder, which is made where it is missing. Without a configured key file, one is kept beside
    /// the store; it is made with a random key as long as there is nothing yet that another key was used for.
    ///
    /// # Errors
    /// When the store or the key cannot be made, opened or used.
    pub async fn open(folder: &Path, configured_key: Option<&Path>) -> Result<Self, VaultError> {
        let store = SqliteStore::open(folder.join(DATABASE)).await?;
        let key = key_file(&store, folder, configured_key).await?;
        Ok(Self::new(Arc::new(store), key))
    }

    /// A vault over any store.
    pub fn new(store: Arc<dyn Store>, key: KeyFile) -> Self {
        Self { store, key }
    }

    /// What the user should know about how the vault is kept.
    pub fn warning(&self) -> Option<String> {
        self.key.warning()
    }

    /// Where it is, for messages.
    pub fn location(&self) -> String {
        self.store.location()
    }

    /// What is kept under a key, newest first: providers' ids are not always unique.
    pub async fn find(&self, key: &StoreKey) -> Result<Vec<(RecordNumber, Saved)>, VaultError> {
        let records = self.store.find(key).await?;
        records.iter().map(|record| Ok((record.number, self.unseal(record)?))).collect()
    }

    /// Everything that is kept, of one package or of all, sorted by key.
    pub async fn list(
        &self,
        package: Option<&str>,
    ) -> Result<Vec<(RecordNumber, StoreKey, Saved)>, VaultError> {
        let records = self.store.list(package).await?;
        records
            .into_iter()
            .map(|record| {
                let saved = self.unseal(&record)?;
                Ok((record.number, record.key, saved))
            })
            .collect()
    }

    /// Keeps something new. It is durable when this returns.
    pub async fn add(&self, key: &StoreKey, saved: &Saved) -> Result<RecordNumber, VaultError> {
        Ok(self.store.add(key, self.seal(key, saved)).await?)
    }

    /// Replaces what is kept (under the same key), or keeps it anew where another process has removed it meanwhile. It is
    /// durable when this returns.
    pub async fn replace(
        &self,
        number: RecordNumber,
        key: &StoreKey,
        saved: &Saved,
    ) -> Result<RecordNumber, VaultError> {
        if self.store.replace(number, self.seal(key, saved)).await? {
            return Ok(number);
        }
        self.add(key, saved).await
    }

    /// Forgets something; it may be forgotten already.
    pub async fn remove(&self, number: RecordNumber) -> Result<(), VaultError> {
        self.store.remove(number).await?;
        Ok(())
    }

    fn seal(&self, key: &StoreKey, saved: &Saved) -> Vec<u8> {
        let envelope = Envelope {
            object: Some(saved.object.to_message()),
            identity: saved.object.object.identity.clone(),
            companion: saved.companion.clone(),
        };
        self.key.seal(key, &envelope.encode_to_vec())
    }

    fn unseal(&self, record: &SealedRecord) -> Result<Saved, VaultError> {
        let plain = self.key.unseal(&record.key, &record.bytes)?;
        let place = || (Box::new(record.key.clone()), self.store.location());
        let envelope = Envelope::decode(Bytes::from(plain)).map_err(|error| {
            let (key, store) = place();
            VaultError::Envelope { key, store, error }
        })?;
        let mut object = SavedObject::from_message(envelope.object.unwrap_or_default()).map_err(|error| {
            let (key, store) = place();
            VaultError::Record { key, store, error }
        })?;
        object.object.identity = envelope.identity;
        Ok(Saved { object, companion: envelope.companion })
    }
}

/// The key of a store in a folder.
pub(super) async fn key_file(
    store: &SqliteStore,
    folder: &Path,
    configured: Option<&Path>,
) -> Result<KeyFile, VaultError> {
    if let Some(path) = configured {
        return Ok(KeyFile::open(path)?);
    }
    let path = folder.join(KEY);
    // In this order: another process makes its key before its first record.
    let has_records = !store.is_empty().await?;
    if has_records && !path.exists() {
        return Err(KeyError::Missing { path, store: store.location() }.into());
    }
    Ok(KeyFile::open_or_create(&path)?)
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::DynamicValue;

    use super::*;
    use crate::cty::json::Json;
    use crate::provider::StoredObject;
    use crate::state::Status;

    fn key() -> StoreKey {
        StoreKey {
            package: "random".to_owned(),
            type_name: "random_password".to_owned(),
            id: "none".to_owned(),
        }
    }

    fn password(result: &str) -> Saved {
        let value = Json::parse(format!(r#"{{"id":"none","result":"{result}"}}"#).as_bytes()).expect("JSON");
        let identity = ResourceIdentityData {
            identity_data: Some(DynamicValue { msgpack: vec![0x80].into(), json: Bytes::new() }),
        };
        Saved {
            object: SavedObject {
                object: StoredObject {
                    value,
                    schema_version: 3,
                    private: Bytes::from_static(b"private"),
                    identity: Some(identity),
                },
                status: Status::Damaged,
                sensitive_paths: Vec::new(),
                dependencies: Vec::new(),
                create_before_destroy: true,
                provider: "provider[\"random\"]".to_owned(),
            },
            companion: Bytes::from_static(b"inputs"),
        }
    }

    #[tokio::test]
    async fn everything_that_was_kept_comes_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = Vault::open(folder.path(), None).await.expect("a vault");
        first.add(&key(), &password("hunter2")).await.expect("kept");
        let again = Vault::open(folder.path(), None).await.expect("the same vault");
        let found = again.find(&key()).await.expect("records");
        let [(number, saved)] = &found[..] else { panic!("one record, not {found:?}") };
        assert_eq!(format!("{saved:?}"), format!("{:?}", password("hunter2")));
        assert_eq!(again.list(Some("random")).await.expect("records")[0].1, key());
        again.remove(*number).await.expect("forgotten");
        again.remove(*number).await.expect("forgotten already");
        assert!(first.find(&key()).await.expect("records").is_empty());
        let anew = first.replace(*number, &key(), &password("hunter3")).await.expect("kept anew");
        assert_ne!(anew, *number);
        assert_eq!(again.find(&key()).await.expect("records").len(), 1);
    }

    #[tokio::test]
    async fn no_file_holds_a_secret_in_the_clear() {
        let folder = tempfile::tempdir().expect("a folder");
        let vault = Vault::open(folder.path(), None).await.expect("a vault");
        vault.add(&key(), &password("hunter2hunter2")).await.expect("kept");
        for entry in std::fs::read_dir(folder.path()).expect("a folder") {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("a file");
            assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", path.display());
        }
    }

    #[tokio::test]
    async fn a_lost_key_is_not_replaced_by_a_new_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let vault = Vault::open(folder.path(), None).await.expect("a vault");
        vault.add(&key(), &password("hunter2")).await.expect("kept");
        std::fs::remove_file(folder.path().join(KEY)).expect("removed");
        let error = Vault::open(folder.path(), None).await.expect_err("no key");
        assert!(matches!(error, VaultError::Key(KeyError::Missing { .. })), "{error}");
        assert!(
            error.to_string().contains("state.key") && error.to_string().contains("state.sqlite"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_configured_key_is_used_and_another_one_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let (ours, other) = (folder.path().join("ours"), folder.path().join("other"));
        KeyFile::open_or_create(&ours).expect("a key");
        KeyFile::open_or_create(&other).expect("a key");
        let home = folder.path().join("home");
        let vault = Vault::open(&home, Some(&ours)).await.expect("a vault");
        vault.add(&key(), &password("hunter2")).await.expect("kept");
        assert!(!home.join(KEY).exists(), "no key is made beside the configured one");
        let wrong = Vault::open(&home, Some(&other)).await.expect("a vault");
        let error = wrong.find(&key()).await.expect_err("the wrong key");
        assert!(matches!(error, VaultError::Key(KeyError::WrongKey { .. })), "{error}");
        let error = Vault::open(&home, Some(&folder.path().join("none"))).await.expect_err("no key file");
        assert!(matches!(error, VaultError::Key(KeyError::Read { .. })), "{error}");
    }
}
