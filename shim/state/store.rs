//! The seam beneath the vault: what any database has to do for it.
//!
//! Records are opaque here: encryption and meaning are the vault's, so that every store has them alike. A provider's ids
//! are not always unique (two `random_password`s are both `none`, two `local_file`s of one content share its hash), so
//! a key may have several records, each with a number of its own.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;

/// What a record is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreKey {
    /// The package that the resource belongs to.
    pub package: String,
    /// The resource's type, in Terraform's spelling.
    pub type_name: String,
    /// The provider's id.
    pub id: String,
}

impl fmt::Display for StoreKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:?} of package {}", self.type_name, self.id, self.package)
    }
}

/// Which record; never given out twice by one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordNumber(pub i64);

/// One record as it lies in the store.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedRecord {
    /// Which one.
    pub number: RecordNumber,
    /// What it is found by.
    pub key: StoreKey,
    /// Its encrypted bytes.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for SealedRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, key, bytes } = self;
        write!(formatter, "SealedRecord({}, {key}, {} bytes)", number.0, bytes.len())
    }
}

/// What a call of a store yields, once awaited.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A database of records.
///
/// A change is durable before its call returns: whoever has the answer may be killed, and the machine may lose its
/// power, without the change being lost. Several processes may use one database at once.
pub trait Store: fmt::Debug + Send + Sync {
    /// The records of a key, newest first.
    fn find<'a>(&'a self, key: &'a StoreKey) -> Pending<'a, Vec<SealedRecord>>;

    /// Adds a record.
    fn add<'a>(&'a self, key: &'a StoreKey, bytes: Vec<u8>) -> Pending<'a, RecordNumber>;

    /// Replaces a record's bytes. `false`: there is no such record any more.
    fn replace(&self, number: RecordNumber, bytes: Vec<u8>) -> Pending<'_, bool>;

    /// Removes a record. `false`: there is no such record any more.
    fn remove(&self, number: RecordNumber) -> Pending<'_, bool>;

    /// All records, of one package or of all, sorted by key.
    fn list<'a>(&'a self, package: Option<&'a str>) -> Pending<'a, Vec<SealedRecord>>;

    /// Whether there is no record at all.
    fn is_empty(&self) -> Pending<'_, bool>;

    /// Where it is, for messages.
    fn location(&self) -> String;
}

/// A store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder or file cannot be made.
    #[error("the store {path} cannot be made; set ISTHMUS_HOME to a folder that can be written to", path = path.display())]
    Create {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// The database refuses.
    #[error("the store {path} cannot be used ({doing})", path = path.display())]
    Database {
        /// Its file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        error: rusqlite::Error,
    },
    /// The database belongs to something else, or to a newer version of this program.
    #[error(
        "the store {path} has format {found}, but this version knows formats up to {known}; use the version of isthmus \
         that wrote it, or a newer one",
        path = path.display()
    )]
    Format {
        /// Its file.
        path: PathBuf,
        /// What it says of itself.
        found: i64,
        /// What this version can read.
        known: i64,
    },
    /// A record's bytes are not those that were written.
    #[error(
        "the record of {key} in the store {path} is damaged: its bytes are not those that were written; restore the file \
         from a backup, or remove the resource from the engine's state and import it again",
        path = path.display()
    )]
    Damaged {
        /// The database's file.
        path: PathBuf,
        /// Which record.
        key: Box<StoreKey>,
    },
    /// The work broke off.
    #[error("the work on the store {path} broke off", path = path.display())]
    BrokenOff {
        /// The database's file.
        path: PathBuf,
    },
}
