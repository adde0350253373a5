//! The keys that encrypt records.
//!
//! They are random, and stored in the store itself, encrypted with the user's key. So a wrong key
//! is detected before any record is read, and a rotation starts with a few new rows. Each key is
//! stored twice, because all records depend on it.
//!
//! A write of a record requires in the same batch that the row of its key is unchanged. So a
//! rotation can end while other processes write: once it has changed the row, no more records of
//! the old key are written.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::blocking;
use prost::Message as _;
use tokio::time::{Instant, sleep};

use super::encryption::{CipherKey, KeyId, key_of};
use super::error::EncryptedStoreError;
use super::holder::{Holder, takes_over};
use super::key::{KdfParams, KeySource, MasterKey};
use super::key_error::KeyError;
use super::store::{
    Batch, Change, Claim, Committed, Kind, Lease, PAGE, Page, RecordNumber, RecordRef, Refusal, Store,
    StoreError, StoreKey,
};

/// Copies of each key.
const COPIES: usize = 2;

/// How long a process may take to create the first keys, which others wait for: deriving a key from a
/// passphrase takes about a second.
const BEGINNING: Duration = Duration::from_secs(10);
/// How long they wait, so that they outlast one that was killed on another machine, and between attempts.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(50);

/// Name of the lease of changes to the keys.
const NAME: &str = "keys";

/// A row before encoding.
#[derive(Clone, PartialEq, prost::Message)]
struct Row {
    /// The key, encrypted with the user's key.
    #[prost(bytes = "vec", tag = "1")]
    sealed: Vec<u8>,
    /// Parameters of the user's key, if derived from a passphrase.
    #[prost(message, optional, tag = "2")]
    recipe: Option<KdfParams>,
    /// Whether records must not be written with it any more.
    #[prost(bool, tag = "3")]
    retired: bool,
}

/// A row and its position.
#[derive(Clone, Debug)]
pub(super) struct RingRow {
    pub(super) place: RecordRef,
    key: StoreKey,
    row: Row,
    /// Id of the key in it.
    pub(super) holds: KeyId,
    /// Id of the user's key that encrypts it.
    pub(super) master: KeyId,
}

/// The keys when they were last read.
#[derive(Debug)]
pub(super) struct Ring {
    keys: HashMap<KeyId, Arc<CipherKey>>,
    /// The key for writing, and its row.
    writing: (Arc<CipherKey>, RecordRef),
}

impl Ring {
    pub(super) fn key(&self, id: KeyId) -> Option<&Arc<CipherKey>> {
        self.keys.get(&id)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Arc<CipherKey>> {
        self.keys.values()
    }

    pub(super) fn writing(&self) -> (Arc<CipherKey>, RecordRef) {
        self.writing.clone()
    }

    /// The keys in the rows of this user's key; `None` if there are none.
    pub(super) fn of(rows: &[RingRow], master: &MasterKey) -> Option<Self> {
        let mut keys = HashMap::new();
        let mut writing = None;
        for row in rows.iter().filter(|row| row.master == master.cipher.id()) {
            let Ok(bytes) = master.cipher.unseal(Kind::Key, &row.key, &row.row.sealed) else { continue };
            let Ok(bytes) = <[u8; 32]>::try_from(bytes) else { continue };
            let key = Arc::new(CipherKey::new(bytes));
            if !row.row.retired {
                writing = Some((Arc::clone(&key), row.place));
            }
            keys.insert(key.id(), key);
        }
        Some(Self { keys, writing: writing? })
    }
}

/// The rows of a store, oldest first, and whether others are damaged.
pub(super) async fn rows(store: &dyn Store) -> Result<(Vec<RingRow>, bool), StoreError> {
    let mut found = Vec::new();
    let mut is_damaged = false;
    let mut after = Some(RecordNumber(0));
    while let Some(from) = after {
        let Page { records, damaged, next, fault } = store.page(Kind::Key, None, from, PAGE).await?;
        is_damaged |= !damaged.is_empty() || fault.is_some();
        for record in records {
            let row = Row::decode(&record.bytes[..]).ok().and_then(|row| {
                let mut holds = KeyId::default();
                hex::decode_to_slice(&record.key.id, &mut holds).ok()?;
                let master = key_of(&row.sealed).ok()?;
                Some(RingRow { place: record.place, key: record.key, row, holds, master })
            });
            match row {
                Some(row) => found.push(row),
                None => is_damaged = true,
            }
        }
        after = next;
    }
    Ok((found, is_damaged))
}

/// Loads the user's key that matches the rows, and decrypts them; creates the first key of an empty
/// store.
pub(super) async fn open(
    store: &dyn Store,
    source: &KeySource,
) -> Result<(MasterKey, Ring), EncryptedStoreError> {
    let (mut found, is_damaged) = rows(store).await?;
    if found.is_empty() && is_damaged {
        let key = Box::new(key_of_row(KeyId::default()));
        return Err(StoreError::Damaged { location: store.location(), key }.into());
    }
    if found.is_empty() {
        if let Some(begun) = begin(store, source).await? {
            return Ok(begun);
        }
        found = rows(store).await?.0;
    }
    let master = fitting(store, source, &found).await?;
    match Ring::of(&found, &master) {
        Some(ring) => Ok((master, ring)),
        None => Err(wrong(store, &master)),
    }
}

/// Reads the keys again, after another process has changed them, and the user's key from its source
/// if it was replaced there.
pub(super) async fn reload(
    store: &dyn Store,
    master: &MasterKey,
    source: &KeySource,
) -> Result<Ring, EncryptedStoreError> {
    let (rows, _) = rows(store).await?;
    if let Some(ring) = Ring::of(&rows, master) {
        return Ok(ring);
    }
    let replaced = fitting(store, source, &rows).await.ok();
    replaced.and_then(|master| Ring::of(&rows, &master)).ok_or_else(|| wrong(store, master))
}

/// The user's key; of a passphrase, with the parameters of a row.
pub(super) async fn fitting(
    store: &dyn Store,
    source: &KeySource,
    rows: &[RingRow],
) -> Result<MasterKey, EncryptedStoreError> {
    let mut recipes: Vec<KdfParams> = Vec::new();
    for recipe in rows.iter().filter_map(|row| row.row.recipe.clone()) {
        if !recipes.contains(&recipe) {
            recipes.push(recipe);
        }
    }
    if recipes.is_empty() {
        recipes.push(KdfParams::new());
    }
    let mut last = None;
    // The newest first: older ones exist during a rotation only.
    for recipe in recipes.into_iter().rev() {
        let master = load(source, recipe, (!rows.is_empty()).then(|| store.location())).await?;
        if rows.iter().any(|row| row.master == master.cipher.id()) {
            return Ok(master);
        }
        last = Some(master);
    }
    Ok(last.expect("there is a recipe, so there was a key"))
}

/// On a blocking thread: deriving a key is slow, and files may be remote.
pub(super) async fn load(
    source: &KeySource,
    recipe: KdfParams,
    store: Option<String>,
) -> Result<MasterKey, KeyError> {
    let source = source.clone();
    blocking(move || source.load(&recipe, store.as_deref())).await
}

/// Creates the first keys of a store. Of several processes one does so, since each would derive
/// another key from a passphrase. `None`: another process has created them.
async fn begin(
    store: &dyn Store,
    source: &KeySource,
) -> Result<Option<(MasterKey, Ring)>, EncryptedStoreError> {
    let deadline = Instant::now() + PATIENCE;
    let lease = loop {
        if let Some(lease) = lease(store, BEGINNING).await? {
            break lease;
        }
        if Instant::now() > deadline {
            return Err(rotating(store));
        }
        sleep(PAUSE).await;
    };
    let begun = begin_held(store, source, &lease).await;
    release(store, lease).await;
    begun
}

async fn begin_held(
    store: &dyn Store,
    source: &KeySource,
    lease: &Lease,
) -> Result<Option<(MasterKey, Ring)>, EncryptedStoreError> {
    if !rows(store).await?.0.is_empty() {
        return Ok(None);
    }
    let master = load(source, KdfParams::new(), None).await?;
    let changes = added(&CipherKey::random(), &master);
    let batch = Batch { fences: vec![lease.clone()], ..Batch::all(changes) };
    if let Committed::Refused(_) = store.commit(batch).await? {
        return Err(rotating(store));
    }
    let ring = reload(store, &master, source).await?;
    Ok(Some((master, ring)))
}

/// Acquires the lease of changes to the keys for a time, also from a process that has exited. `None`:
/// another process holds it.
pub(super) async fn lease(store: &dyn Store, time: Duration) -> Result<Option<Lease>, StoreError> {
    let mut claim = Claim { name: NAME.to_owned(), holder: Holder::this().text(), time, over: None };
    loop {
        match store.commit(Batch { claim: Some(claim.clone()), ..Batch::default() }.soon()).await? {
            Committed::Done { lease, .. } => return Ok(lease),
            Committed::Refused(Refusal::Held(held)) if takes_over(&mut claim, &held) => {}
            Committed::Refused(_) => return Ok(None),
        }
    }
}

/// Releases it. If that fails, it ends with this process, or after a minute.
pub(super) async fn release(store: &dyn Store, lease: Lease) {
    store.commit(Batch { releases: vec![lease], ..Batch::default() }.soon()).await.ok();
}

/// The rows of a new key.
pub(super) fn added(key: &CipherKey, master: &MasterKey) -> Vec<Change> {
    let row_key = key_of_row(key.id());
    (0..COPIES)
        .map(|_| {
            let sealed = master.cipher.seal(Kind::Key, &row_key, key.bytes());
            let row = Row { sealed, recipe: master.recipe.clone(), retired: false };
            Change::Add { kind: Kind::Key, key: row_key.clone(), bytes: row.encode_to_vec() }
        })
        .collect()
}

impl RingRow {
    /// The change that retires the key; `None` if it is retired.
    pub(super) fn retired(&self) -> Option<Change> {
        if self.row.retired {
            return None;
        }
        let row = Row { retired: true, ..self.row.clone() };
        let (place, key) = (self.place, self.key.clone());
        Some(Change::Replace { kind: Kind::Key, place, key, bytes: row.encode_to_vec() })
    }
}

fn key_of_row(id: KeyId) -> StoreKey {
    StoreKey { package: String::new(), type_name: "key".to_owned(), id: hex::encode(id) }
}

pub(super) fn rotating(store: &dyn Store) -> EncryptedStoreError {
    EncryptedStoreError::KeyRotationInProgress { store: store.location() }
}

pub(super) fn wrong(store: &dyn Store, master: &MasterKey) -> EncryptedStoreError {
    KeyError::WrongKey { origin: master.origin.clone(), store: store.location() }.into()
}
