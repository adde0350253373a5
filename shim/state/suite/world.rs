//! A database for one test.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tempfile::TempDir;

use crate::cty::json::Json;
use crate::provider::StoredObject;
use crate::state::store::{Batch, Change, Committed, Kind, Place, Store, StoreError, StoreKey};
use crate::state::{KeySource, Saved, SavedObject, SqliteStore, Status, Vault};

/// A database for one test, and the folder of its keys.
pub(in crate::state) struct World {
    folder: TempDir,
}

impl World {
    pub(in crate::state) fn sqlite() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// Where keys are.
    pub(in crate::state) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("state.sqlite")
    }

    /// Opens the database once more.
    pub(in crate::state) async fn try_store(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(SqliteStore::open(self.file()).await?))
    }

    pub(in crate::state) async fn store(&self) -> Arc<dyn Store> {
        self.try_store().await.expect("a store")
    }

    /// A vault over the database, with the folder's own key.
    pub(in crate::state) async fn vault(&self) -> Vault {
        Vault::over(self.store().await, &self.own_key()).await.expect("a vault")
    }

    pub(in crate::state) fn own_key(&self) -> KeySource {
        KeySource::Folder(self.folder.path().to_owned())
    }

    /// Changes the database behind the store's back. Yields how many rows were changed.
    pub(in crate::state) async fn sql(&self, statement: &str) -> u64 {
        let connection = rusqlite::Connection::open(self.file()).expect("a database");
        connection.busy_timeout(std::time::Duration::from_secs(30)).expect("patience");
        connection.execute(statement, ()).expect("a change") as u64
    }

    /// Bytes as they are written in a statement.
    pub(in crate::state) fn bytes(&self, bytes: &[u8]) -> String {
        format!("x'{}'", hex::encode(bytes))
    }

    /// Makes the database one of another version.
    pub(in crate::state) async fn set_format(&self, format: i64) {
        let connection = rusqlite::Connection::open(self.file()).expect("a database");
        connection.pragma_update(None, "user_version", format).expect("a change");
    }

    /// The end of every lease, moved into the past.
    pub(in crate::state) async fn let_leases_expire(&self) {
        assert!(self.sql("UPDATE leases SET expires = 1").await > 0, "there are leases");
    }
}

pub(in crate::state) fn key(id: &str) -> StoreKey {
    StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: id.to_owned() }
}

pub(in crate::state) fn add(id: &str, bytes: &[u8]) -> Change {
    Change::Add { kind: Kind::Object, key: key(id), bytes: bytes.to_vec() }
}

pub(in crate::state) fn replace(id: &str, place: Place, bytes: &[u8]) -> Change {
    Change::Replace { kind: Kind::Object, place, key: key(id), bytes: bytes.to_vec() }
}

pub(in crate::state) fn remove(place: Place) -> Change {
    Change::Remove { kind: Kind::Object, number: place.number, version: None }
}

/// Commits what must not be refused.
pub(in crate::state) async fn commit(store: &Arc<dyn Store>, batch: Batch) -> Vec<Place> {
    match store.commit(batch).await.expect("committed") {
        Committed::Done { places, .. } => places,
        Committed::Refused(refusal) => panic!("it was refused: {refusal:?}"),
    }
}

pub(in crate::state) async fn commit_one(store: &Arc<dyn Store>, change: Change) -> Option<Place> {
    commit(store, Batch::of(change)).await.first().copied()
}

/// The bytes of a key's records, newest first.
pub(in crate::state) async fn bytes_of(store: &Arc<dyn Store>, id: &str) -> Vec<Vec<u8>> {
    let records = store.find(Kind::Object, &key(id)).await.expect("records");
    records.into_iter().map(|record| record.bytes).collect()
}

/// A saved object with a secret.
pub(in crate::state) fn saved(result: &str) -> Saved {
    let value = Json::parse(format!(r#"{{"id":"none","result":"{result}"}}"#).as_bytes()).expect("JSON");
    let identity = isthmus_proto::tfplugin6::ResourceIdentityData {
        identity_data: Some(isthmus_proto::tfplugin6::DynamicValue {
            msgpack: vec![0x80].into(),
            json: Bytes::new(),
        }),
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

/// The secrets of a key's objects, newest first.
pub(in crate::state) async fn results(vault: &Vault, id: &str) -> Vec<String> {
    let found = vault.find(&key(id)).await.expect("records");
    found.iter().map(|(_, saved)| result(saved)).collect()
}

pub(in crate::state) fn result(saved: &Saved) -> String {
    let Json::Object(members) = &saved.object.object.value else { panic!("no object: {saved:?}") };
    match members.iter().find(|(name, _)| name == "result") {
        Some((_, Json::String(text))) => text.clone(),
        other => panic!("no result: {other:?}"),
    }
}

/// An object as it is encrypted.
pub(in crate::state) fn envelope(secret: &str) -> Vec<u8> {
    prost::Message::encode_to_vec(&crate::state::vault::Envelope::from(&saved(secret)))
}
