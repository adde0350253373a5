//! Delete: the record goes after the object. What is gone already counts as deleted.

use isthmus_proto::property::Struct;
use isthmus_shim::cty::json::Json;
use isthmus_shim::provider::{Object, StoredObject};
use isthmus_shim::state::{Intention, Status};

use super::{Annotations, ID, Keeper, KeptError, Prior, Sought, Told};
use crate::package::shape::IdRule;
use crate::resource::intents::settle;
use crate::resource::{Notes, OperationError, StateError};
use crate::translate::raw_state::raw_state_without_delta;

/// A deletion that failed.
#[derive(Debug)]
pub(super) struct DestroyFailure {
    pub(super) error: OperationError,
    /// What it has become half-way.
    pub(super) object: Option<Object>,
}

impl Keeper<'_> {
    /// Deletes the resource. `properties` are all that the engine knows of it: defaults, inputs and outputs.
    pub async fn delete(&self, id: &str, properties: &Struct, notes: &mut Notes) -> Result<(), KeptError> {
        let Some(prior) = self.condemned(id, properties, notes).await? else { return Ok(()) };
        let mut begun = self.begin(Intention::Delete, id, Some(&prior), properties, notes).await?;
        match self.destroy(&prior.object, notes).await {
            Ok(()) => {
                begun.remove(prior.place).await?;
                self.resolve(id, notes).await;
                Ok(())
            }
            Err(failure) => {
                if let (Some(object), Some(place)) = (&failure.object, prior.place) {
                    let saved =
                        self.saved(object, prior.status, &[], &prior.told, prior.annotations, notes).await?;
                    begun.store(Some(place), &self.key(id), &saved).await?;
                } else {
                    settle(&mut begun, &failure.error, notes).await;
                }
                Err(failure.error.into())
            }
        }
    }

    /// What is to be deleted. `None`: it is gone.
    ///
    /// This is the one call in which the engine sends the outputs too. They serve where the store has no record and the
    /// provider cannot import: a deletion that is asked for again after its record has gone must not fail.
    async fn condemned(
        &self,
        id: &str,
        properties: &Struct,
        notes: &mut Notes,
    ) -> Result<Option<Prior>, KeptError> {
        let not_stored = match self.prior(id, Sought::Deletion(properties), notes).await {
            Err(error @ KeptError::Unknown { .. }) => error,
            found => return found,
        };
        let object = match self.object_from_properties(id, properties) {
            Ok(stored) => self.resource()?.upgrade(&stored, &mut notes.warnings).await.ok(),
            Err(_) => None,
        };
        let object = object.ok_or(not_stored)?;
        let (status, told, annotations) = (Status::Ready, Told::default(), Annotations::default());
        Ok(Some(Prior { object, status, told, place: None, annotations }))
    }

    fn object_from_properties(&self, id: &str, properties: &Struct) -> Result<StoredObject, StateError> {
        let shape = &self.target.shape;
        let mut value = raw_state_without_delta(properties, shape)?;
        if let (Json::Object(members), IdRule::Computed) = (&mut value, &shape.id) {
            members.retain(|(name, _)| name != ID);
            members.push((ID.to_owned(), Json::String(id.to_owned())));
        }
        Ok(StoredObject {
            value,
            schema_version: shape.schema.version,
            private: bytes::Bytes::new(),
            identity: None,
        })
    }

    /// Ends an object. An object of which the provider then knows nothing has ended, whatever it said.
    pub(super) async fn destroy(&self, object: &Object, notes: &mut Notes) -> Result<(), DestroyFailure> {
        let unchanged = |error| DestroyFailure { error, object: None };
        let resource = self.resource().map_err(unchanged)?;
        let plan = resource
            .plan_destroy(object, &mut notes.warnings)
            .await
            .map_err(|error| unchanged(self.target.failed(error)))?;
        let Err(failure) = resource.apply(&plan, &mut notes.warnings).await else { return Ok(()) };
        let left = failure.object.as_ref().unwrap_or(object);
        if let Ok(None) = resource.read(left, &mut Vec::new()).await {
            return Ok(());
        }
        Err(DestroyFailure { error: self.target.failed(failure.error), object: failure.object })
    }
}
