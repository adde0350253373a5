//! Between the properties that an engine stores and the object that a provider knows.

use isthmus_proto::property::Struct;
use isthmus_shim::cty::AttributePath;
use isthmus_shim::provider::{Diagnostic, Object, StoredObject};

use super::{Notes, OperationError, Target};
use crate::translate::exact_numbers::with_exact_numbers;
use crate::translate::ignore_changes::apply_ignore_changes;
use crate::translate::meta::{META_KEY, Meta, MetaError, StoredIdentity};
use crate::translate::outputs::{OutputOptions, outputs_from_state};
use crate::translate::property_path::PropertyPath;
use crate::translate::raw_state::{
    DELTA_KEY, RawStateError, RawStateSource, add_stored_properties, raw_state_as_delta, stored_raw_state,
};

/// What the engine stored cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Its `__meta` is damaged.
    #[error(transparent)]
    Meta(#[from] MetaError),
    /// The object cannot be rebuilt from its properties.
    #[error(transparent)]
    RawState(#[from] RawStateError),
}

/// Whether an object is what its configuration asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// As far as anybody knows.
    Whole,
    /// Its creation failed half-way; it is to be replaced.
    Tainted,
}

/// The object that stored properties stand for.
#[derive(Debug)]
pub(super) struct Prior {
    pub(super) object: Object,
    pub(super) condition: Condition,
}

impl Target<'_> {
    /// Takes back what is not to be changed in `news`.
    pub(super) fn ignore_changes(
        &self,
        news: &mut Struct,
        olds: &Struct,
        prior: &Prior,
        paths: &[PropertyPath],
    ) {
        if !paths.is_empty() {
            let olds = with_exact_numbers(olds.clone(), &prior.object.value, &self.shape.object);
            apply_ignore_changes(news, &olds, paths);
        }
    }

    /// Rebuilds the stored object and lets the provider bring it to its current schema.
    pub(super) async fn prior(
        &self,
        properties: &Struct,
        notes: &mut Notes,
    ) -> Result<Prior, OperationError> {
        let meta = Meta::from_properties(properties).map_err(StateError::from)?;
        let (value, source) = stored_raw_state(properties, &self.shape).map_err(StateError::from)?;
        if let RawStateSource::SchemaForBadDelta(fault) = source {
            notes.warnings.push(Diagnostic::warning(
                "The stored state seems to have been edited",
                format!(
                    "What it takes to rebuild Terraform's state does not fit the properties any more ({fault}), so the \
                     properties alone were used."
                ),
            ));
        }
        let identity = match &meta.identity {
            Some(identity) => self.stored_identity(identity, notes).await?,
            None => None,
        };
        let stored = StoredObject {
            value,
            schema_version: meta.schema_version,
            private: meta.private.clone(),
            identity,
        };
        let resource =
            self.provider.resource(&self.shape.terraform_type).map_err(|error| self.failed(error))?;
        let object =
            resource.upgrade(&stored, &mut notes.warnings).await.map_err(|error| self.failed(error))?;
        let condition = if meta.tainted { Condition::Tainted } else { Condition::Whole };
        Ok(Prior { object, condition })
    }
}

/// The properties to store for an object: what the user sees, and what it takes to rebuild the object.
pub(super) fn properties_of(
    target: &Target<'_>,
    object: &Object,
    identity: Option<StoredIdentity>,
    secrets: &[AttributePath],
    condition: Condition,
) -> Result<Struct, OperationError> {
    let options = OutputOptions { keep_secrets: target.keep_secrets, secrets, unknowns: false };
    let mut properties = outputs_from_state(&object.value, &target.shape, options)?;
    let meta = meta_of(target, object, identity, condition);
    add_stored_properties(&mut properties, &meta, &object.value, &target.shape, target.keep_secrets)
        .map_err(StateError::from)?;
    Ok(properties)
}

/// The properties to store for an object that was just made or changed, and must not be lost. Where it cannot be shown,
/// nothing but what it takes to rebuild it is stored, and there is a reason to tell.
pub(super) fn properties_in_any_case(
    target: &Target<'_>,
    object: &Object,
    identity: Option<StoredIdentity>,
    secrets: &[AttributePath],
    condition: Condition,
) -> Result<(Struct, Option<String>), OperationError> {
    match properties_of(target, object, identity.clone(), secrets, condition) {
        Ok(properties) => Ok((properties, None)),
        Err(error) => {
            let Ok(delta) = raw_state_as_delta(&object.value, &target.shape, target.keep_secrets) else {
                return Err(error);
            };
            let mut properties = Struct::new();
            if let Some(meta) = meta_of(target, object, identity, condition).to_property() {
                properties.insert(META_KEY, meta);
            }
            properties.insert(DELTA_KEY, delta);
            Ok((properties, Some(isthmus_shim::error_chain(&error))))
        }
    }
}

fn meta_of(
    target: &Target<'_>,
    object: &Object,
    identity: Option<StoredIdentity>,
    condition: Condition,
) -> Meta {
    Meta {
        private: object.private.clone(),
        schema_version: target.shape.schema.version,
        tainted: condition == Condition::Tainted,
        identity,
        ..Meta::default()
    }
}
