//! Taking over an object that something else made and stored: Terraform, OpenTofu, or another store of ours.
//!
//! The object is kept as it was stored, by the schema that it was stored with: what upgrades it is the provider, at every
//! use. It is upgraded once here all the same, to see that it can be used at all, what its id is, and what of it is secret.
//! Only flat attributes, which have no form in the store, are kept as the provider makes them.

use std::collections::BTreeMap;

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, PathStep};
use isthmus_provider::Object;
use isthmus_provider::rules::sensitive_paths;
use isthmus_state::{RecordNumber, RecordRef, Saved, SavedObject};

use super::{StoredResource, StoredResourceError};
use crate::resource::{OperationWarnings, StateError};
use crate::translate::meta::StoredIdentity;
use crate::translate::raw_state::raw_state;

/// An object as something else has stored it.
#[derive(Clone, Debug)]
pub(crate) struct Foreign {
    /// The object.
    pub object: SavedObject,
    /// Its attributes where they are flat; then the object's value says nothing.
    pub flat: Option<BTreeMap<String, String>>,
}

/// What came of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TakenOver {
    /// It is in the store now.
    Added {
        /// Its id.
        id: String,
    },
    /// The store had the very same already.
    Same {
        /// Its id.
        id: String,
    },
    /// The store had something else for this object, which was replaced.
    Replaced {
        /// Its id.
        id: String,
    },
    /// The store has something else that is, or may be, this object, and was left as it is.
    Conflict {
        /// Its id.
        id: String,
        /// Its record.
        number: RecordNumber,
        /// Whether it has the same address, and so is certainly the same object.
        is_certain: bool,
    },
}

/// What is to be done where the store has something else that is, or may be, the same object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflicts {
    /// Leave it, and say so.
    Refuse,
    /// Put the new one in its place.
    Replace,
    /// Where it is not certain, keep both: the new one gets a number behind its id.
    KeepBoth,
}

impl StoredResource<'_> {
    /// Keeps an object, unless it is kept already.
    pub(crate) async fn import_object(
        &self,
        foreign: Foreign,
        conflicts: Conflicts,
        notes: &mut OperationWarnings,
    ) -> Result<TakenOver, StoredResourceError> {
        let Foreign { object: mut saved, flat } = foreign;
        let object = match flat {
            None => self.current(saved.clone(), notes).await?,
            Some(flat) => {
                let object = self
                    .target
                    .resource()?
                    .upgrade_flat(&flat, saved.schema_version, saved.private.clone(), &mut notes.warnings)
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
        let id = self.target.new_id(&object, identity.as_ref(), None, &[], notes);
        self.place(id, saved, conflicts).await
    }

    /// Finds the object's place in the store. No engine has been told of it yet, so that its id alone has to tell it from
    /// others: where another object has the same one, it gets a number, as a new resource would.
    async fn place(
        &self,
        id: String,
        saved: SavedObject,
        conflicts: Conflicts,
    ) -> Result<TakenOver, StoredResourceError> {
        let mut own = id.clone();
        for attempt in 2_u32.. {
            let mut is_taken = false;
            for (place, known) in self.state_store.find(&self.key(&own)).await? {
                match likeness(&known.object, &saved) {
                    Likeness::Same => return Ok(TakenOver::Same { id: own }),
                    Likeness::Certain => return self.settle(own, place, saved, conflicts, true).await,
                    Likeness::Possible if conflicts != Conflicts::KeepBoth => {
                        return self.settle(own, place, saved, conflicts, false).await;
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
        Ok(TakenOver::Added { id: own })
    }

    async fn settle(
        &self,
        id: String,
        place: RecordRef,
        saved: SavedObject,
        conflicts: Conflicts,
        is_certain: bool,
    ) -> Result<TakenOver, StoredResourceError> {
        if conflicts != Conflicts::Replace {
            return Ok(TakenOver::Conflict { id, number: place.number, is_certain });
        }
        let saved = Saved { object: saved, companion: Bytes::new() };
        self.state_store.replace(place, &self.key(&id), &saved).await?;
        Ok(TakenOver::Replaced { id })
    }

    /// States of before Terraform 1.9 say nothing of what the schema calls sensitive. Of a value by an older schema nobody
    /// knows any more what was; what the current one does not have counts as secret.
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

/// How an object in the store and a new one of the same id are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// They are one, and nothing of it differs.
    Same,
    /// They are one by their address, and something differs.
    Certain,
    /// The one in the store has no address, because an engine made it; nobody knows.
    Possible,
    /// They are two.
    Other,
}

fn likeness(known: &SavedObject, new: &SavedObject) -> Likeness {
    let is_equal = known.value == new.value
        && known.schema_version == new.schema_version
        && known.private == new.private
        && known.status == new.status
        && known.identity == new.identity;
    match &known.address {
        None if is_equal => Likeness::Same,
        None => Likeness::Possible,
        known if *known != new.address => Likeness::Other,
        Some(_) if is_equal => Likeness::Same,
        Some(_) => Likeness::Certain,
    }
}

/// Whether Terraform has replaced the object, and could not delete it yet.
pub(super) fn is_deposed(object: &SavedObject) -> bool {
    object.address.as_ref().is_some_and(|address| address.deposed.is_some())
}
