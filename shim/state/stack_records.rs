//! The records of a stack, except objects: components, inputs, outputs, and preserved unknown ones.
//!
//! They are stored as they came, so that an export returns the same bytes. A store has the records
//! of one stack, which are replaced together: a mixture of two states would be neither.

use std::collections::BTreeMap;

use prost::Message as _;
use prost_types::Any;

use super::encryption::CipherKey;
use super::error::{EncryptedStoreError, Fault};
use super::holder::{Holder, LEASE};
use super::sealed_store::SealedStore;
use super::store::{
    Batch, Change, Claim, Committed, Kind, Lease, PAGE, Page, RecordNumber, RecordRef, StoreKey,
};

/// The package in their keys, which no provider's objects have.
const PACKAGE: &str = "tfstackdata1";

/// Length of the start of a key, which is its kind.
const KIND: usize = 4;

/// Name of the lease of a replacement.
const NAME: &str = "stack records";

/// A record of a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct StackRecord {
    /// Number and version.
    pub place: RecordRef,
    /// Terraform's key, such as `CMPTcomponent.main`.
    pub key: String,
    /// Its content, as it came.
    pub content: Any,
}

/// The records of a stack in a store.
#[derive(Debug, Default)]
pub struct StoredStack {
    /// The readable ones, sorted by key.
    pub records: Vec<StackRecord>,
    /// The unreadable ones.
    pub faults: Vec<Fault>,
}

impl StoredStack {
    /// Their contents, by key.
    pub fn contents(&self) -> BTreeMap<String, Any> {
        self.records.iter().map(|record| (record.key.clone(), record.content.clone())).collect()
    }
}

/// Access to the records of a stack.
#[derive(Debug)]
pub struct StackRecords<'a> {
    sealed: &'a SealedStore,
}

impl<'a> StackRecords<'a> {
    pub(super) fn of(sealed: &'a SealedStore) -> Self {
        Self { sealed }
    }

    /// All of them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn all(&self) -> Result<StoredStack, EncryptedStoreError> {
        let mut all = StoredStack::default();
        let mut after = Some(RecordNumber(0));
        while let Some(from) = after {
            let page = self.sealed.store.page(Kind::StackRecord, None, from, PAGE).await?;
            let Page { records, damaged, next, fault } = page;
            all.faults.extend(damaged.into_iter().map(|(number, key)| Fault::of_damaged(number, key)));
            all.faults.extend(fault.map(Fault::of_database));
            for record in records {
                match self.sealed.decoded(Kind::StackRecord, &record).await {
                    Ok(content) => {
                        let key = record.key.type_name + &record.key.id;
                        all.records.push(StackRecord { place: record.place, key, content });
                    }
                    Err(error) => all.faults.push(Fault::of(record, error)?),
                }
            }
            after = next;
        }
        all.records.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(all)
    }

    /// Replaces the stored records, readable or not, by those that `decide` returns for them, if
    /// any, atomically. Other processes cannot replace them meanwhile.
    ///
    /// # Errors
    /// [`EncryptedStoreError::Busy`] when another process is replacing them,
    /// [`EncryptedStoreError::Changed`] when it has removed one meanwhile, and
    /// [`EncryptedStoreError::Incomplete`] when the store may have more than can be read.
    pub async fn replace(
        &self,
        decide: impl FnOnce(&StoredStack) -> Option<BTreeMap<String, Any>>,
    ) -> Result<(), EncryptedStoreError> {
        let claim = Claim { name: NAME.to_owned(), holder: Holder::this().text(), time: LEASE, over: None };
        let (_, lease) = self.sealed.claim(claim, &whole(), |_| Vec::new()).await?;
        let replaced = self.replace_held(decide, &lease).await;
        // A lease that cannot be released ends with this process, or after a minute.
        self.sealed.store.commit(Batch { releases: vec![lease], ..Batch::default() }.soon()).await.ok();
        replaced
    }

    async fn replace_held(
        &self,
        decide: impl FnOnce(&StoredStack) -> Option<BTreeMap<String, Any>>,
        lease: &Lease,
    ) -> Result<(), EncryptedStoreError> {
        let stored = self.all().await?;
        if let Some(fault) = stored.faults.iter().find(|fault| fault.number.is_none()) {
            let (store, reason) = (self.sealed.store.location(), fault.reason.clone());
            return Err(EncryptedStoreError::Incomplete { store, reason });
        }
        let Some(new) = decide(&stored) else { return Ok(()) };
        let changes = |cipher: &CipherKey| {
            let damaged = stored.faults.iter().filter_map(|fault| fault.number);
            let mut changes: Vec<Change> =
                damaged.map(|number| Change::remove(Kind::StackRecord, number)).collect();
            let mut added = new.clone();
            for StackRecord { place, key, content } in &stored.records {
                changes.extend(match added.remove(key) {
                    None => Some(Change::Remove {
                        kind: Kind::StackRecord,
                        number: place.number,
                        version: Some(place.version),
                    }),
                    Some(same) if same == *content => None,
                    Some(other) => {
                        let plain = other.encode_to_vec();
                        Some(cipher.replace(Kind::StackRecord, *place, &store_key(key), &plain))
                    }
                });
            }
            let added = added.iter();
            changes.extend(added.map(|(key, content)| {
                cipher.add(Kind::StackRecord, &store_key(key), &content.encode_to_vec())
            }));
            Batch { fences: vec![lease.clone()], ..Batch::all(changes) }
        };
        match self.sealed.write(changes).await? {
            Committed::Done { .. } => Ok(()),
            Committed::Refused(_) => Err(self.sealed.changed(&whole())),
        }
    }

    /// Removes a record, whatever its version; it may be missing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn remove(&self, number: RecordNumber) -> Result<(), EncryptedStoreError> {
        self.sealed.store.commit(Batch::of(Change::remove(Kind::StackRecord, number))).await?;
        Ok(())
    }
}

/// Kind and rest of a key as type and id.
fn store_key(key: &str) -> StoreKey {
    let (kind, rest) = key.split_at_checked(KIND).unwrap_or((key, ""));
    StoreKey { package: PACKAGE.to_owned(), type_name: kind.to_owned(), id: rest.to_owned() }
}

/// All of them, in messages.
fn whole() -> StoreKey {
    StoreKey { package: PACKAGE.to_owned(), type_name: "stack".to_owned(), id: "records".to_owned() }
}
