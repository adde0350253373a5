//! Tombstones of deleted objects.
//!
//! The legacy engine repeats a deletion whose answer it did not receive, perhaps after another
//! object was created under the same id. A tombstone is written in the transaction that removes the
//! record, and identifies the object by a digest of the properties that the engine sent for its
//! deletion: the repetition is recognized by it, and the other object is unaffected.
//!
//! Tombstones expire after [`RETENTION`]. Each key has at most [`MOST`], and expired ones are
//! removed when later ones are written, so that a deletion adds one small row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message as _;

use super::encryption::CipherKey;
use super::error::EncryptedStoreError;
use super::saved::Sent;
use super::sealed_store::SealedStore;
use super::store::{Batch, Change, Kind, PAGE, Page, RecordNumber, SealedRecord, StoreError, StoreKey};

/// How long a tombstone is effective.
pub const RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Maximum number of tombstones of a key; the oldest are removed first. Ids that many objects share
/// (every `random_password` is `none`) would otherwise make each deletion slower than the one
/// before.
const MOST: usize = 64;

/// How often a process sweeps expired tombstones.
const SWEEP_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// A completed deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Digest of all properties in the request.
    pub properties: Sent,
    /// Digest of the inputs of the last create or update, if known.
    pub inputs: Option<Sent>,
    /// When it was completed.
    pub at: SystemTime,
}

/// A tombstone that has not expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Its number, for removal.
    pub number: RecordNumber,
    /// The deletion.
    pub deletion: Deletion,
}

/// When this process last swept, in milliseconds since 1970.
#[derive(Debug, Default)]
struct LastSweep(AtomicU64);

/// The tombstones of a state store.
#[derive(Clone, Debug)]
pub struct Tombstones {
    sealed: SealedStore,
    last_sweep: Arc<LastSweep>,
}

/// A tombstone before encryption. The digests are encrypted too: a short secret could be guessed
/// from one.
#[derive(Clone, PartialEq, prost::Message)]
struct Entry {
    #[prost(bytes = "vec", tag = "1")]
    properties: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "2")]
    inputs: Option<Vec<u8>>,
    /// Milliseconds since 1970.
    #[prost(uint64, tag = "3")]
    at: u64,
}

impl Tombstones {
    pub(super) fn new(sealed: SealedStore) -> Self {
        Self { sealed, last_sweep: Arc::default() }
    }

    /// The tombstones of a key that have not expired, newest first. Damaged ones count as absent: they
    /// only spare the caller checks that are made without them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find(&self, key: &StoreKey, now: SystemTime) -> Result<Vec<Tombstone>, EncryptedStoreError> {
        let records = match self.sealed.store.find(Kind::Tombstone, key).await {
            Err(StoreError::Damaged { .. }) => Vec::new(),
            found => found?,
        };
        let mut tombstones = Vec::new();
        for record in records {
            if let Ok(deletion) = self.deletion_in(&record).await
                && !deletion.is_expired(now)
            {
                tombstones.push(Tombstone { number: record.place.number, deletion });
            }
        }
        Ok(tombstones)
    }

    /// Writes the tombstone of an object that has no record. It is durable when this returns.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn add(&self, key: &StoreKey, deletion: &Deletion) -> Result<(), EncryptedStoreError> {
        let replaced = self.replaced_by(key, deletion).await;
        self.sealed.write(|cipher| Batch::all(deletion.changes(cipher, key, &replaced))).await?;
        self.sweep(deletion.at).await;
        Ok(())
    }

    /// Removes tombstones whose properties identify a later object.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn remove(&self, numbers: &[RecordNumber]) -> Result<(), EncryptedStoreError> {
        if !numbers.is_empty() {
            let changes = numbers.iter().copied().map(removed).collect();
            self.sealed.store.commit(Batch::all(changes)).await?;
        }
        Ok(())
    }

    /// The tombstones that a new one of the same key replaces: of the same properties, expired
    /// ones, and the oldest beyond the limit. A failure is reported by the write that follows.
    pub(super) async fn replaced_by(&self, key: &StoreKey, deletion: &Deletion) -> Vec<RecordNumber> {
        let Ok(records) = self.sealed.store.find(Kind::Tombstone, key).await else { return Vec::new() };
        let mut replaced = Vec::new();
        let mut others = 0;
        for record in records {
            let is_obsolete = match self.deletion_in(&record).await {
                Ok(other) => other.properties == deletion.properties || other.is_expired(deletion.at),
                Err(_) => true,
            };
            others += usize::from(!is_obsolete);
            if is_obsolete || others >= MOST {
                replaced.push(record.place.number);
            }
        }
        replaced
    }

    /// Removes expired and damaged tombstones of all keys, at most once a day and process. Failures
    /// are ignored: expired tombstones have no effect.
    pub(super) async fn sweep(&self, now: SystemTime) {
        if !self.last_sweep.is_due(now) {
            return;
        }
        let mut after = Some(RecordNumber(0));
        while let Some(from) = after {
            let Ok(Page { records, damaged, next, .. }) =
                self.sealed.store.page(Kind::Tombstone, None, from, PAGE).await
            else {
                return;
            };
            let mut expired: Vec<RecordNumber> = damaged.into_iter().map(|(number, _)| number).collect();
            for record in &records {
                if self.deletion_in(record).await.is_ok_and(|deletion| deletion.is_expired(now)) {
                    expired.push(record.place.number);
                }
            }
            // They are ordered by time, unless a clock was set back; then a later sweep finds them.
            if expired.is_empty() {
                return;
            }
            let changes = expired.into_iter().map(removed).collect();
            if self.sealed.store.commit(Batch::all(changes).soon()).await.is_err() {
                return;
            }
            after = next;
        }
    }

    async fn deletion_in(&self, record: &SealedRecord) -> Result<Deletion, EncryptedStoreError> {
        let Entry { properties, inputs, at } = self.sealed.decoded(Kind::Tombstone, record).await?;
        Ok(Deletion {
            // A digest of another length matches nothing.
            properties: Sent::try_from(properties).unwrap_or_default(),
            inputs: inputs.and_then(|inputs| Sent::try_from(inputs).ok()),
            at: UNIX_EPOCH + Duration::from_millis(at),
        })
    }
}

impl Deletion {
    /// The changes that replace others by this tombstone.
    pub(super) fn changes(
        &self,
        cipher: &CipherKey,
        key: &StoreKey,
        replaced: &[RecordNumber],
    ) -> Vec<Change> {
        let plain = Entry {
            properties: self.properties.to_vec(),
            inputs: self.inputs.map(|inputs| inputs.to_vec()),
            at: milliseconds(self.at),
        };
        let added = cipher.add(Kind::Tombstone, key, &plain.encode_to_vec());
        std::iter::once(added).chain(replaced.iter().copied().map(removed)).collect()
    }

    /// `false` if it is from the future.
    fn is_expired(&self, now: SystemTime) -> bool {
        now.duration_since(self.at).is_ok_and(|age| age > RETENTION)
    }
}

impl LastSweep {
    /// Whether a sweep is due; then it counts as done.
    fn is_due(&self, now: SystemTime) -> bool {
        let now = milliseconds(now);
        let last = self.0.load(Ordering::Relaxed);
        let is_due =
            last == 0 || now.abs_diff(last) >= u64::try_from(SWEEP_INTERVAL.as_millis()).unwrap_or(0);
        if is_due {
            self.0.store(now, Ordering::Relaxed);
        }
        is_due
    }
}

pub(super) fn removed(number: RecordNumber) -> Change {
    Change::remove(Kind::Tombstone, number)
}

pub(super) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EncryptedStore;

    #[tokio::test]
    async fn no_file_holds_a_digest_in_the_clear() {
        let home = tempfile::tempdir().expect("a directory");
        let encrypted_store = EncryptedStore::open(home.path(), None).await.expect("a state store");
        let key = StoreKey { package: "p".to_owned(), type_name: "t".to_owned(), id: "web".to_owned() };
        let deletion = Deletion {
            properties: *b"a digest of all that was sent!!!",
            inputs: Some(*b"another one, of all the inputs!!"),
            at: SystemTime::now(),
        };
        encrypted_store.tombstones().add(&key, &deletion).await.expect("written");
        for entry in std::fs::read_dir(home.path()).expect("a directory") {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("a file");
            for text in [&b"a digest of all"[..], b"another one, of"] {
                assert!(!bytes.windows(text.len()).any(|window| window == text), "{}", path.display());
            }
        }
    }
}
