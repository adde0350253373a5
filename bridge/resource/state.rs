//! Between the properties that an engine stores and the object that a provider knows.

use isthmus_cty::AttributePath;
use isthmus_cty::json::Json;
use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, ForeignObject, Object, Resource, StoredObject};
use isthmus_state::Status;

use super::{OperationError, OperationWarnings, Target};
use crate::translate::exact_numbers::with_exact_numbers;
use crate::translate::ignore_changes::{apply_ignore_changes, take_out_read_only};
use crate::translate::ignored_attributes::ignored_attributes;
use crate::translate::meta::{META_KEY, Meta, MetaError, Source, StoredIdentity};
use crate::translate::outputs::{OutputOptions, outputs_from_state};
use crate::translate::property_path::{PropertyPath, PropertyStep};
use crate::translate::raw_state::{
    DELTA_KEY, RawStateError, RawStateSource, add_stored_properties, foreign_raw_state, raw_state_as_delta,
    stored_raw_state,
};
use crate::translate::sets::in_order_of;

/// What the engine stored cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateError {
    /// Its `__meta` is damaged.
    #[error(transparent)]
    Meta(#[from] MetaError),
    /// The object cannot be rebuilt from its properties.
    #[error(transparent)]
    RawState(#[from] RawStateError),
    /// The object of another type cannot be rebuilt from its properties: only the delta says how.
    #[error(
        "the stored state is that of a {source_type}, and it cannot be rebuilt to make a {target_type} of it ({fault}). \
         Nothing was changed. If the state was edited by hand, restore it; otherwise give the resource its former type back"
    )]
    Foreign {
        /// Terraform's name of the type that wrote the state.
        source_type: String,
        /// Terraform's name of the type that the resource has now.
        target_type: String,
        /// What is wrong.
        fault: String,
    },
}

/// What a resource was before the call.
#[derive(Debug)]
pub(crate) struct Prior {
    pub(crate) object: Object,
    pub(crate) status: Status,
    /// The properties of the object, where they are not those that the engine has.
    own: Option<Struct>,
    /// Whether it has been an object of another type until now.
    is_moved: bool,
}

impl Prior {
    /// An object by the provider's current schema.
    pub(crate) fn current(object: Object, status: Status) -> Self {
        Self { object, status, own: None, is_moved: false }
    }

    /// The resource's properties before the call, of which `stored` are those that the engine has.
    pub(super) fn properties<'a>(&'a self, stored: &'a Struct) -> &'a Struct {
        self.own.as_ref().unwrap_or(stored)
    }
}

impl Target<'_> {
    /// The resource, of whose changes none is planned at `paths`: what is not to be changed is taken back in `news`, and in
    /// what a provider of the legacy type system plans all the same.
    pub(super) fn ignoring(
        &self,
        news: &mut Struct,
        olds: &Struct,
        prior: &Prior,
        paths: &[PropertyPath],
    ) -> Result<Resource<'_>, OperationError> {
        let shape = &self.shape.object;
        let resource = self.resource()?;
        if paths.is_empty() {
            return Ok(resource);
        }
        let olds = prior.properties(olds).clone();
        let value = in_order_of(&prior.object.value, shape, &olds);
        let olds = with_exact_numbers(olds, &value, shape);
        apply_ignore_changes(news, &olds, paths);
        if paths.iter().any(|path| path.0 == [PropertyStep::All]) {
            take_out_read_only(news, shape);
        }
        Ok(resource.ignoring(ignored_attributes(paths, shape, &prior.object.value)))
    }

    /// What the resource was before the call. As when something is imported, an object that has just become one of this type
    /// is read: what takes it over leaves to that what it cannot know (core refreshes before it plans).
    pub(crate) async fn prior(
        &self,
        properties: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Prior, OperationError> {
        let prior = self.stored(properties, notes).await?;
        if !prior.is_moved {
            return Ok(prior);
        }
        let resource = self.resource()?;
        let read =
            resource.read(&prior.object, &mut notes.warnings).await.map_err(|error| self.failed(error))?;
        // Whether it is gone is for the operation itself to find out, as with any other resource.
        let Some(object) = read else { return Ok(prior) };
        self.with_own_properties(object, prior.status)
    }

    /// What the resource was before the call, as far as that is stored: by a deletion that has failed, or else by the engine.
    pub(super) async fn stored(
        &self,
        properties: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Prior, OperationError> {
        let Some(left) = self.left_by_failed_delete(properties, notes).await else {
            return self.rebuilt(properties, notes).await;
        };
        let prior = self.rebuilt(&left, notes).await?;
        Ok(Prior { own: prior.own.or(Some(left)), ..prior })
    }

    /// Rebuilds the stored object and lets the provider bring it to its current schema, or make one of this type of it.
    async fn rebuilt(
        &self,
        properties: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Prior, OperationError> {
        let meta = Meta::from_properties(properties).map_err(StateError::from)?;
        let status = if meta.tainted { Status::Damaged } else { Status::Ready };
        match &meta.source {
            Some(source) if *source.resource_type != *self.shape.terraform_type => {
                let object = self.moved(properties, &meta, source, notes).await?;
                self.with_own_properties(object, status)
            }
            _ => {
                let object = self.upgraded(properties, &meta, notes).await?;
                Ok(Prior::current(object, status))
            }
        }
    }

    fn with_own_properties(&self, object: Object, status: Status) -> Result<Prior, OperationError> {
        let options = OutputOptions { keep_secrets: true, secrets: &[], unknowns: false };
        let own = Some(outputs_from_state(&object.value, &self.shape, options)?);
        Ok(Prior { object, status, own, is_moved: true })
    }

    async fn upgraded(
        &self,
        properties: &Struct,
        meta: &Meta,
        notes: &mut OperationWarnings,
    ) -> Result<Object, OperationError> {
        let resource = self.resource()?;
        let writer = meta.source.as_ref().and_then(|source| source.provider_version.as_deref());
        resource.refuse_newer(meta.schema_version, writer).map_err(|error| self.failed(error))?;
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
        resource.upgrade(&stored, &mut notes.warnings).await.map_err(|error| self.failed(error))
    }

    /// Lets the provider make an object of this type of what `source` has stored. As long as nothing else changes, engines
    /// go on storing that, so it is done again in every call.
    async fn moved(
        &self,
        properties: &Struct,
        meta: &Meta,
        source: &Source,
        notes: &mut OperationWarnings,
    ) -> Result<Object, OperationError> {
        let value = foreign_raw_state(properties).map_err(|fault| StateError::Foreign {
            source_type: source.resource_type.clone(),
            target_type: self.shape.terraform_type.to_string(),
            fault: fault.map_or_else(|| "what it takes is missing".to_owned(), |fault| fault.to_string()),
        })?;
        // As with an identity of this type, what somebody has made unreadable is left out.
        let identity = meta.identity.as_ref().and_then(|identity| {
            let json = Json::parse(identity.json.as_bytes()).ok()?;
            Some(isthmus_cty::StoredIdentity { schema_version: identity.schema_version, json })
        });
        let foreign = ForeignObject {
            provider: source.provider.clone(),
            type_name: source.resource_type.clone(),
            value,
            schema_version: meta.schema_version,
            private: meta.private.clone(),
            identity,
        };
        let resource = self.resource()?;
        resource.move_state(&foreign, &mut notes.warnings).await.map_err(|error| self.failed(error))
    }
}

/// What decides how an object's properties look.
#[derive(Clone, Copy, Debug)]
pub(super) struct RenderOptions<'a> {
    /// What is secret besides what the schema says.
    pub(super) secrets: &'a [AttributePath],
    /// Properties whose lists have the order that sets are to have: the program's, or those that were stored.
    pub(super) like: &'a Struct,
}

/// The properties to store for an object: what the user sees, and what it takes to rebuild the object.
pub(super) fn properties_of(
    target: &Target<'_>,
    object: &Object,
    identity: Option<StoredIdentity>,
    look: RenderOptions<'_>,
    status: Status,
) -> Result<Struct, OperationError> {
    let options = OutputOptions { keep_secrets: target.keep_secrets, secrets: look.secrets, unknowns: false };
    let value = in_order_of(&object.value, &target.shape.object, look.like);
    let mut properties = outputs_from_state(&value, &target.shape, options)?;
    let meta = meta_of(target, object, identity, status);
    add_stored_properties(&mut properties, &meta, &value, &target.shape, target.keep_secrets)
        .map_err(StateError::from)?;
    Ok(properties)
}

/// The properties to store for an object that was just made or changed, and must not be lost. Where it cannot be shown,
/// nothing but what it takes to rebuild it is stored, and there is a reason to tell.
pub(super) fn properties_in_any_case(
    target: &Target<'_>,
    object: &Object,
    identity: Option<StoredIdentity>,
    look: RenderOptions<'_>,
    status: Status,
) -> Result<(Struct, Option<String>), OperationError> {
    match properties_of(target, object, identity.clone(), look, status) {
        Ok(properties) => Ok((properties, None)),
        Err(error) => {
            let Ok(delta) = raw_state_as_delta(&object.value, &target.shape, target.keep_secrets) else {
                return Err(error);
            };
            let mut properties = Struct::new();
            if let Some(meta) = meta_of(target, object, identity, status).to_property() {
                properties.insert(META_KEY, meta);
            }
            properties.insert(DELTA_KEY, delta);
            Ok((properties, Some(isthmus_common::error_chain(&error))))
        }
    }
}

fn meta_of(target: &Target<'_>, object: &Object, identity: Option<StoredIdentity>, status: Status) -> Meta {
    Meta {
        private: object.private.clone(),
        schema_version: target.shape.schema.version,
        tainted: status == Status::Damaged,
        identity,
        source: Some(Source {
            resource_type: target.shape.terraform_type.to_string(),
            provider: target.package.provider_address(),
            provider_version: target.package.provider_version().map(str::to_owned),
        }),
        ..Meta::default()
    }
}
