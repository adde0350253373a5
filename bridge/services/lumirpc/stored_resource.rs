//! Resources whose state is in the state store, because their engine cannot hold it.
//!
//! The legacy engine stores a resource's id, inputs and outputs, and sends only the inputs to Diff
//! and Update. So a result is stored before it is returned, and later calls look their prior state
//! up by id. Objects without a record (the store was lost, or something else created them) are
//! imported by id. The operations themselves are those of [`isthmus_operations::resource`].

mod delete;
mod error;
mod import_object;
mod last_reported;
mod lookup;
mod object;
mod prior;
mod report;
mod stored_state;

use std::collections::BTreeSet;

use isthmus_proto::property::Struct;
use isthmus_provider::Limit;

pub use error::StoredResourceError;
pub use import_object::{Conflicts, Foreign, ImportOutcome};
use isthmus_operations::resource::timeouts::Remedy;
use isthmus_operations::resource::{self, Changes, Comparison, Operation, OperationError};
use lookup::LookupPurpose;
use object::ID;
pub use object::StoredResource;
pub(crate) use stored_state::Created;
use stored_state::StoredState;

impl StoredResource<'_> {
    /// Sets the operation. The engine passes no timeout; `olds` are its stored inputs, where it
    /// sends them.
    #[must_use]
    pub(crate) fn for_operation(self, operation: Operation, olds: Option<&Struct>) -> Self {
        Self { target: self.target.timed(operation, 0.0, olds), ..self }
    }

    /// Returns the properties that require a replacement.
    pub async fn diff(
        &self,
        id: &str,
        olds: &Struct,
        news: Struct,
    ) -> Result<Vec<String>, StoredResourceError> {
        let Some((prior, _)) = self.prior(id, LookupPurpose::Comparison(olds)).await? else {
            // Deleted outside the engine: only a replacement can create it, without a handover.
            self.target.forget_changes();
            return Ok(vec![ID.to_owned()]);
        };
        let comparison =
            Comparison { inputs: olds, olds, news, ignore_changes: &[], is_name_generated: false };
        let difference = match resource::diff(&self.target, &prior, comparison).await {
            Err(OperationError::Gone { .. }) => {
                self.target.forget_changes();
                return Ok(vec![ID.to_owned()]);
            }
            compared => compared?,
        };
        let replacing = difference.replacing().into_iter();
        let replaces: BTreeSet<&str> =
            replacing.map(|name| if name == resource::META { ID } else { name }).collect();
        Ok(replaces.into_iter().map(str::to_owned).collect())
    }

    pub(crate) async fn create(&self, inputs: &Struct) -> Result<Created, StoredResourceError> {
        resource::create(&self.target, &StoredState::new(self, inputs), inputs).await
    }

    /// Updates the resource in place and returns its outputs.
    pub async fn update(&self, id: &str, olds: &Struct, news: Struct) -> Result<Struct, StoredResourceError> {
        let found = self.prior(id, LookupPurpose::Change(olds)).await?;
        let (prior, record) = found.ok_or_else(|| StoredResourceError::Gone { key: self.key(id) })?;
        let sent = news.clone();
        let state = StoredState { id, record, olds, ..StoredState::new(self, &sent) };
        let changes = Changes { inputs: olds, olds, news, ignore_changes: &[] };
        let updated = resource::update(&self.target, &state, prior, changes).await;
        updated.map_err(|error| match error {
            StoredResourceError::Operation(OperationError::Gone { .. }) => {
                StoredResourceError::Gone { key: self.key(id) }
            }
            error => error,
        })
    }

    /// Reads the resource; `None` if it does not exist. Stores nothing: for the engine this is a
    /// lookup, not an import.
    pub async fn get(&self, id: &str) -> Result<Option<Struct>, StoredResourceError> {
        let Some((prior, record)) = self.prior(id, LookupPurpose::Lookup).await? else {
            return Ok(None);
        };
        let object = match record.place {
            // The import has just read it.
            None => Some(prior.object),
            Some(_) => resource::read(&self.target, &prior).await?,
        };
        object.map(|object| self.outputs(&object, id)).transpose()
    }

    /// As [`resource::Target::explained`], with the remedy for an engine that has no partial state.
    pub(crate) fn explained(&self, error: StoredResourceError, limit: &Limit) -> StoredResourceError {
        match error {
            StoredResourceError::Operation(error) => {
                StoredResourceError::Operation(self.target.explained_with(Remedy::Repeat, error, limit))
            }
            StoredResourceError::Partial(error) => {
                StoredResourceError::Partial(self.target.explained_with(Remedy::Repeat, error, limit))
            }
            other => other,
        }
    }
}
