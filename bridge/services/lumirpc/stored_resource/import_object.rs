//! Import of an object from the state of Terraform or OpenTofu, or from another state store.
//!
//! The object is stored unchanged, with its schema version: the provider upgrades it at every use.
//! It is upgraded once here to check that it is usable and to determine its id and its sensitive
//! paths. Only flatmap attributes, which the store has no form for, are stored as the provider
//! upgrades them.

use std::collections::BTreeMap;

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, PathStep};
use isthmus_provider::Object;
use isthmus_provider::rules::sensitive_paths;
use isthmus_state::{RecordNumber, RecordRef, Saved, SavedObject};

use super::error::StoredResourceError;
use super::object::StoredResource;
use isthmus_operations::resource::StateError;
use isthmus_translate::meta::StoredIdentity;
use isthmus_translate::raw_state::raw_state;

/// An object in a state of another program.
#[derive(Clone, Debug)]
pub struct Foreign {
    pub object: SavedObject,
    /// Its attributes where they are a flatmap; the object's value is unused then.
    pub flat: Option<BTreeMap<String, String>>,
}

/// Outcome of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    Added {
        id: String,
    },
    /// The store had an identical one.
    Same {
        id: String,
    },
    /// The store had a different version of this object.
    Replaced {
        id: String,
    },
    /// The store has a different version of this object, or one that may be, and was not changed.
    Conflict {
        id: String,
        number: RecordNumber,
        /// Whether both have the same address, so that they are the same object.
        is_certain: bool,
    },
}

/// What to do if the store has a different version of an object, or one that may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflicts {
    /// Report the conflict and change nothing.
    Refuse,
    /// Replace the stored one.
    Replace,
    /// Add the new one with a number after its id, unless both are certainly the same object.
    KeepBoth,
}

impl StoredResource<'_> {
    /// Stores an object unless it is stored already.
    pub async fn import_object(
        &self,
        foreign: Foreign,
        conflicts: Conflicts,
    ) -> Result<ImportOutcome, StoredResourceError> {
        let Foreign { object: mut saved, flat } = foreign;
        let object = match flat {
            None => self.current(saved.clone()).await?,
            Some(flat) => {
                let object = self
                    .target
                    .resource()?
                    .upgrade_flat(
                        &flat,
                        saved.schema_version,
                        saved.private.clone(),
                        &mut self.target.warnings.of_call(),
                    )
                    .await
                    .map_err(|error| self.target.failed(error))?;
                saved.value = raw_state(&object.value, &self.target.shape)
                    .map_err(|error| StoredResourceError::Operation(StateError::from(error).into()))?;
                saved.schema_version = self.target.shape.schema.version;
                object
            }
        };
        self.add_secrets(&mut saved, &object);
        let identity = saved.identity.as_ref().map(|identity| StoredIdentity {
            schema_version: identity.schema_version,
            json: identity.json.to_string(),
        });
        let id = self.target.new_id(&object, identity.as_ref(), None, &[]);
        self.place(id, saved, conflicts).await
    }

    /// Stores the object under a free id. It was reported to no engine yet, so that only its id
    /// distinguishes it: it gets a number where another object has the same id, as a new resource
    /// does.
    async fn place(
        &self,
        id: String,
        saved: SavedObject,
        conflicts: Conflicts,
    ) -> Result<ImportOutcome, StoredResourceError> {
        let mut own = id.clone();
        for attempt in 2_u32.. {
            let mut is_taken = false;
            for (place, known) in self.state_store.find(&self.key(&own)).await? {
                match likeness(&known.object, &saved) {
                    Likeness::Same => return Ok(ImportOutcome::Same { id: own }),
                    Likeness::Certain => {
                        return self.resolve_conflict(own, place, saved, conflicts, true).await;
                    }
                    Likeness::Possible if conflicts != Conflicts::KeepBoth => {
                        return self.resolve_conflict(own, place, saved, conflicts, false).await;
                    }
                    Likeness::Possible | Likeness::Other => is_taken |= !is_deposed(&known.object),
                }
            }
            if !is_taken || is_deposed(&saved) {
                break;
            }
            own = format!("{id}#{attempt}");
        }
        let saved = Saved { object: saved, companion: Bytes::new() };
        self.state_store.add(&self.key(&own), &saved).await?;
        Ok(ImportOutcome::Added { id: own })
    }

    async fn resolve_conflict(
        &self,
        id: String,
        place: RecordRef,
        saved: SavedObject,
        conflicts: Conflicts,
        is_certain: bool,
    ) -> Result<ImportOutcome, StoredResourceError> {
        if conflicts != Conflicts::Replace {
            return Ok(ImportOutcome::Conflict { id, number: place.number, is_certain });
        }
        let saved = Saved { object: saved, companion: Bytes::new() };
        self.state_store.replace(place, &self.key(&id), &saved).await?;
        Ok(ImportOutcome::Replaced { id })
    }

    /// Adds sensitive paths by the schema, which states before Terraform 1.9 do not contain.
    /// Attributes of an older schema that the current one lacks count as sensitive.
    fn add_secrets(&self, saved: &mut SavedObject, object: &Object) {
        let schema = &self.target.shape.schema;
        let mut paths = sensitive_paths(&schema.block, &object.value);
        if let (Json::Object(members), true) = (&saved.value, saved.schema_version != schema.version) {
            let is_unknown = |name: &str| self.target.shape.object.terraform(name).is_none();
            let unknown = members.iter().filter(|(name, _)| is_unknown(name));
            paths.extend(unknown.map(|(name, _)| AttributePath(vec![PathStep::attribute(name.as_str())])));
        }
        for path in paths {
            if !saved.sensitive_paths.contains(&path) {
                saved.sensitive_paths.push(path);
            }
        }
    }
}

/// Relation between a stored object and a new one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// The same object, unchanged.
    Same,
    /// The same object by its address, changed.
    Certain,
    /// Undetermined: an engine created the stored one, so that it has no address.
    Possible,
    /// Different objects.
    Other,
}

fn likeness(known: &SavedObject, new: &SavedObject) -> Likeness {
    let is_equal = known.value == new.value
        && known.schema_version == new.schema_version
        && known.private == new.private
        && known.status == new.status
        && known.identity == new.identity
        && (new.component.is_none() || known.component == new.component);
    // A state without components does not contradict one.
    let is_elsewhere = matches!((&known.component, &new.component), (Some(known), Some(new)) if known != new);
    match &known.address {
        None if is_equal => Likeness::Same,
        None => Likeness::Possible,
        known if *known != new.address || is_elsewhere => Likeness::Other,
        Some(_) if is_equal => Likeness::Same,
        Some(_) => Likeness::Certain,
    }
}

/// Whether Terraform replaced the object and has not deleted it yet.
pub(super) fn is_deposed(object: &SavedObject) -> bool {
    object.address.as_ref().is_some_and(|address| address.deposed.is_some())
}
