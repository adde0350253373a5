//! A database for one test.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use fixtures::postgres::PostgresServer;
use isthmus_cty::StoredIdentity;
use isthmus_cty::json::Json;
use tempfile::TempDir;

use crate::postgres::PostgresStore;
use crate::sqlite::SqliteStore;
use crate::store::{Batch, Change, Committed, Kind, RecordNumber, RecordRef, Store, StoreError, StoreKey};
use crate::{EncryptedStore, KeySource, Saved, SavedObject, Status, StoreAddress};

/// A database for one test, and the directory of its keys.
pub(crate) struct World {
    directory: TempDir,
    database: Database,
}

enum Database {
    File,
    /// The database's name.
    Server(String),
}

/// The server of all tests of this program. It exits with the program, which closes its standard
/// input.
pub(crate) struct Server {
    process: PostgresServer,
    certificates: TempDir,
}

impl Server {
    /// The server, started on first use.
    pub(crate) fn shared() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(|| {
            let certificates = tempfile::tempdir().expect("a directory");
            let key = rcgen::KeyPair::generate().expect("a key");
            let certificate = rcgen::CertificateParams::new(["localhost".to_owned()])
                .and_then(|parameters| parameters.self_signed(&key))
                .expect("a certificate");
            std::fs::write(certificates.path().join("server.crt"), certificate.pem()).expect("written");
            std::fs::write(certificates.path().join("server.key"), key.serialize_pem()).expect("written");
            let process = PostgresServer::start(Some(certificates.path()), false)
                .unwrap_or_else(|reason| panic!("these tests need a PostgreSQL server: {reason}"));
            Self { process, certificates }
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.process.port
    }

    /// The server's self-signed certificate.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.certificates.path().join("server.crt")
    }

    /// The address of a database, by the server's socket.
    pub(crate) fn address(&self, database: &str) -> String {
        self.process.address(database)
    }

    /// Executes statements without the store.
    pub(crate) async fn execute(&self, database: &str, statement: &str) -> u64 {
        let config: tokio_postgres::Config = self.address(database).parse().expect("an address");
        let (client, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
        let connection = tokio::spawn(connection);
        client.batch_execute("SET search_path = isthmus, public").await.expect("a setting");
        let changed =
            client.execute(statement, &[]).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        drop(client);
        connection.await.expect("the end of the connection").expect("a quiet end");
        changed
    }
}

impl World {
    pub(crate) fn sqlite() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory"), database: Database::File }
    }

    /// `None`: tests that need a server are left out.
    pub(crate) async fn postgres() -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        fixtures::needs!(PostgreSql, None);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let server = tokio::task::spawn_blocking(Server::shared).await.expect("the server");
        server.execute("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0")).await;
        let directory = tempfile::tempdir().expect("a directory");
        Some(Self { directory, database: Database::Server(name) })
    }

    /// The directory of keys.
    pub(crate) fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    pub(crate) fn address(&self) -> StoreAddress {
        match &self.database {
            Database::File => StoreAddress::File(self.file()),
            Database::Server(name) => {
                StoreAddress::parse(&Server::shared().address(name)).expect("an address")
            }
        }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("state.sqlite")
    }

    /// Opens the database again.
    pub(crate) async fn try_store(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(match &self.address() {
            StoreAddress::File(path) => Arc::new(SqliteStore::open(path.clone()).await?),
            StoreAddress::Server(address) => Arc::new(PostgresStore::connect(address).await?),
        })
    }

    pub(crate) async fn store(&self) -> Arc<dyn Store> {
        self.try_store().await.expect("a store")
    }

    /// A state store over the database, with the directory's key.
    pub(crate) async fn encrypted_store(&self) -> EncryptedStore {
        EncryptedStore::over(self.store().await, &self.own_key()).await.expect("a state store")
    }

    pub(crate) fn own_key(&self) -> KeySource {
        KeySource::Directory(self.directory.path().to_owned())
    }

    /// Changes the database directly. Returns the number of changed rows.
    pub(crate) async fn sql(&self, statement: &str) -> u64 {
        match &self.database {
            Database::File => {
                let connection = rusqlite::Connection::open(self.file()).expect("a database");
                connection.busy_timeout(std::time::Duration::from_secs(30)).expect("patience");
                connection.execute(statement, ()).expect("a change") as u64
            }
            Database::Server(name) => Server::shared().execute(name, statement).await,
        }
    }

    /// Bytes as a literal in a statement.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> String {
        match &self.database {
            Database::File => format!("x'{}'", hex::encode(bytes)),
            Database::Server(_) => format!("'\\x{}'::bytea", hex::encode(bytes)),
        }
    }

    /// Sets the format version.
    pub(crate) async fn set_format(&self, format: i64) {
        match &self.database {
            Database::File => {
                let connection = rusqlite::Connection::open(self.file()).expect("a database");
                connection.pragma_update(None, "user_version", format).expect("a change");
            }
            Database::Server(_) => {
                self.sql(&format!("UPDATE format SET version = {format}")).await;
            }
        }
    }

    /// Turns the database into one of the format before, which has no records of stacks.
    pub(crate) async fn make_older(&self) {
        self.sql("DROP TABLE stack_records").await;
        match &self.database {
            Database::File => {
                self.sql("DROP TABLE stack_records_by_key").await;
                self.sql("DROP TABLE stack_records_by_key_again").await;
                self.set_format(2).await;
            }
            Database::Server(_) => self.set_format(4).await,
        }
    }

    /// Expires all leases.
    pub(crate) async fn let_leases_expire(&self) {
        let past = match &self.database {
            Database::File => "1",
            Database::Server(_) => "'epoch'",
        };
        assert!(self.sql(&format!("UPDATE leases SET expires = {past}")).await > 0, "there are leases");
    }
}

pub(crate) fn key(id: &str) -> StoreKey {
    StoreKey { package: "random".to_owned(), type_name: "random_pet".to_owned(), id: id.to_owned() }
}

pub(crate) fn add(id: &str, bytes: &[u8]) -> Change {
    Change::Add { kind: Kind::Object, key: key(id), bytes: bytes.to_vec() }
}

pub(crate) fn replace(id: &str, place: RecordRef, bytes: &[u8]) -> Change {
    Change::Replace { kind: Kind::Object, place, key: key(id), bytes: bytes.to_vec() }
}

pub(crate) fn remove(place: RecordRef) -> Change {
    Change::Remove { kind: Kind::Object, number: place.number, version: None }
}

/// Commits a batch that must not be refused.
pub(crate) async fn commit(store: &Arc<dyn Store>, batch: Batch) -> Vec<RecordRef> {
    match store.commit(batch).await.expect("committed") {
        Committed::Done { places, .. } => places,
        Committed::Refused(refusal) => panic!("it was refused: {refusal:?}"),
    }
}

pub(crate) async fn commit_one(store: &Arc<dyn Store>, change: Change) -> Option<RecordRef> {
    commit(store, Batch::of(change)).await.first().copied()
}

/// The bytes of a key's records, newest first.
pub(crate) async fn bytes_of(store: &Arc<dyn Store>, id: &str) -> Vec<Vec<u8>> {
    let records = store.find(Kind::Object, &key(id)).await.expect("records");
    records.into_iter().map(|record| record.bytes).collect()
}

pub(crate) async fn is_empty(store: &Arc<dyn Store>, kind: Kind) -> bool {
    let page = store.page(kind, None, RecordNumber(0), 1).await.expect("a page");
    page.records.is_empty() && page.damaged.is_empty()
}

/// A saved object with a secret.
pub(crate) fn saved(result: &str) -> Saved {
    let value = Json::parse(format!(r#"{{"id":"none","result":"{result}"}}"#).as_bytes()).expect("JSON");
    Saved {
        object: SavedObject {
            value,
            schema_version: 3,
            private: Bytes::from_static(b"private"),
            identity: Some(StoredIdentity { schema_version: 2, json: Json::Object(Vec::new()) }),
            status: Status::Damaged,
            sensitive_paths: Vec::new(),
            dependencies: Vec::new(),
            create_before_destroy: true,
            provider: "provider[\"random\"]".to_owned(),
            address: "random_password.a".parse().ok(),
            component: "component.main[\"eu\"]".parse().ok(),
        },
        companion: Bytes::from_static(b"inputs"),
    }
}

/// The secrets of a key's objects, newest first.
pub(crate) async fn results(encrypted_store: &EncryptedStore, id: &str) -> Vec<String> {
    let found = encrypted_store.find(&key(id)).await.expect("records");
    found.iter().map(|(_, saved)| result(saved)).collect()
}

pub(crate) fn result(saved: &Saved) -> String {
    let Json::Object(members) = &saved.object.value else { panic!("no object: {saved:?}") };
    match members.iter().find(|(name, _)| name == "result") {
        Some((_, Json::String(text))) => text.clone(),
        other => panic!("no result: {other:?}"),
    }
}
