//! Translation between the properties that an engine stores and the provider's object.

use std::borrow::Cow;
use std::collections::BTreeSet;

use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, PathStep, Value};
use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, ForeignObject, Object, Resource, StoredObject};
use isthmus_state::Status;

use super::prior::Prior;
use super::{OperationError, StateError, Target};
use isthmus_package::shape::Shape;
use isthmus_translate::attribute_paths::property_path;
use isthmus_translate::exact_numbers::with_exact_numbers;
use isthmus_translate::ignore_changes::{apply_ignore_changes, take_out_read_only};
use isthmus_translate::ignored_attributes::ignored_attributes;
use isthmus_translate::ignored_digits::restore_digits;
use isthmus_translate::inputs::Unknowns;
use isthmus_translate::marked_secrets::mark_like;
use isthmus_translate::meta::{META_KEY, Meta, Source, StoredIdentity};
use isthmus_translate::outputs::{OutputError, OutputOptions, outputs_from_state};
use isthmus_translate::property_path::{PropertyPath, PropertyStep};
use isthmus_translate::raw_state::{
    DELTA_KEY, RawStateSource, add_stored_properties, foreign_raw_state, raw_state_as_delta, stored_raw_state,
};
use isthmus_translate::sets::in_order_of;
use isthmus_translate::unread::{UnreadAttribute, add_unread_inputs, fill_unread, unread_in};

impl Target<'_> {
    /// The resource type with changes at `paths` ignored: `news` are reverted there to the stored
    /// properties (to the stored inputs, what no read has returned), as are changes that a provider
    /// of the legacy type system plans regardless.
    pub(super) fn ignoring(
        &self,
        news: &mut Struct,
        (inputs, olds): (&Struct, &Struct),
        prior: &Prior,
        paths: &[PropertyPath],
    ) -> Result<Resource<'_>, OperationError> {
        let shape = &self.shape.object;
        let resource = self.resource()?;
        if paths.is_empty() {
            return Ok(resource);
        }
        let mut olds = match &prior.own {
            None => olds.clone(),
            // Neither the provider's schema nor its object knows what is secret for the program.
            Some(own) => {
                let marked = self.rendered(&prior.object, olds, &self.secrets_of(inputs))?;
                let mut own = own.clone();
                mark_like(&mut own, &marked);
                mark_like(&mut own, olds);
                own
            }
        };
        add_unread_inputs(&mut olds, shape, &prior.unread, inputs);
        let value = in_order_of(&prior.object.value, shape, &olds);
        let olds = with_exact_numbers(olds, &value, shape);
        apply_ignore_changes(news, &olds, paths);
        if paths.iter().any(|path| path.0 == [PropertyStep::All]) {
            take_out_read_only(news, shape);
        }
        Ok(resource.ignoring(ignored_attributes(paths, shape, &prior.object.value)))
    }

    /// Gives ignored numbers in `config` the digits that properties have no place for.
    pub(super) fn restore_ignored_digits(&self, config: &mut Value, prior: &Prior, paths: &[PropertyPath]) {
        if !paths.is_empty() {
            let prior = &prior.object.value;
            restore_digits(config, prior, &ignored_attributes(paths, &self.shape.object, prior));
        }
    }

    /// Returns the prior state. An object that was moved from another type is read, as after an
    /// import: the move leaves unset what only a read can provide (core refreshes before it plans).
    /// The next operation on the same properties, such as the Update after a Diff, does neither again.
    pub async fn prior(&self, properties: &Struct) -> Result<Prior, OperationError> {
        if let Some(prior) = self.plans.as_ref().and_then(|plans| plans.take_moved(properties)) {
            return Ok(prior);
        }
        let prior = self.stored(properties).await?;
        if !prior.is_moved {
            return Ok(prior);
        }
        let resource = self.resource()?;
        let read = resource
            .read(&prior.object, &mut self.warnings.of_call())
            .await
            .map_err(|error| self.failed(error))?;
        // The operation itself determines whether it still exists, as for other resources.
        let Some(object) = read else { return Ok(prior) };
        let unread = prior.unread.clone();
        let prior =
            Prior { is_moved: true, unread, ..self.with_own_properties(object, prior.status, properties)? };
        if let Some(plans) = &self.plans {
            plans.note_moved(properties, &prior);
        }
        Ok(prior)
    }

    /// The prior state as the server has it, where a change may not begin with the stored one: after
    /// an update that failed and left something that could not be read, and for documents of the
    /// server's own schema, to which it adds what the next plan has to know. `None`: the stored one is used. Sets are in the
    /// order of the engine's `stored` properties.
    pub(super) async fn refreshed(
        &self,
        prior: &Prior,
        stored: &Struct,
    ) -> Result<Option<Prior>, OperationError> {
        // A moved object was read already.
        if !(prior.is_unrefreshed || (self.holds_documents() && !prior.is_moved)) {
            return Ok(None);
        }
        let object = match self.resource()?.read_now(&prior.object, &mut self.warnings.of_call()).await {
            Ok(Some(object)) => object,
            // The operation itself determines what comes of it.
            Ok(None) | Err(_) if !prior.is_unrefreshed => return Ok(None),
            Ok(None) => {
                return Err(OperationError::Gone { type_name: self.shape.terraform_type.to_string() });
            }
            Err(error) => return Err(self.failed(error)),
        };
        let refreshed = self.with_own_properties(object, prior.status, stored)?;
        let unread = prior.unread.clone();
        Ok(Some(Prior { is_moved: prior.is_moved, is_renamed: prior.is_renamed, unread, ..refreshed }))
    }

    /// Whether the provider keeps a copy of what the server has in an attribute without a type, as
    /// that of `kubernetes_manifest`. Its plans are wrong where that copy is old.
    pub(super) fn holds_documents(&self) -> bool {
        let fields = &self.shape.object.fields;
        fields.iter().any(|field| field.computed && matches!(field.shape, Shape::Dynamic))
    }

    /// Reads what a failed update has left. If that fails as well, the result is marked, so that the
    /// next comparison reads it first.
    pub(super) async fn read_after_failure(&self, left: Object) -> (Object, bool) {
        let read = match self.resource() {
            Ok(resource) => {
                resource.read_now(&left, &mut Vec::new()).await.map_err(|error| self.failed(error))
            }
            Err(error) => Err(error),
        };
        let reason = match read {
            Ok(Some(object)) => return (object, false),
            Ok(None) => "It does not exist any more.".to_owned(),
            Err(error) => error.to_string(),
        };
        let summary = "The resource could not be read after its update had failed";
        self.warn(Diagnostic::warning(
            summary,
            format!(
                "{reason}\nThe state on the server is unknown; the next preview or update reads it first."
            ),
        ));
        (left, true)
    }

    /// The stored prior state: that of a failed deletion, or else the engine's.
    pub(super) async fn stored(&self, properties: &Struct) -> Result<Prior, OperationError> {
        let Some(left) = self.left_by_failed_delete(properties).await else {
            return self.rebuilt(properties).await;
        };
        let prior = self.rebuilt(&left).await?;
        Ok(Prior { own: prior.own.or(Some(left)), ..prior })
    }

    /// The prior state for a plan: with what no read has returned, as the stored inputs have it, or
    /// else the configuration, out of which it is taken if it is not known yet.
    pub fn with_unread<'prior>(
        &self,
        prior: &'prior Prior,
        stored_inputs: &Struct,
        config: &mut Value,
    ) -> Result<Cow<'prior, Object>, OperationError> {
        if prior.unread.is_empty() {
            return Ok(Cow::Borrowed(&prior.object));
        }
        let stored = self.config_as_far_as_it_fits(stored_inputs, Unknowns::Keep)?;
        let mut object = prior.object.clone();
        let shape = &self.shape.object;
        let assumed = fill_unread(&mut object.value, shape, &prior.unread, &stored.value, config);
        self.warnings.warn_in_texts(assumed.into_iter().map(|names| {
            let path = names.iter().map(|name| PathStep::attribute(name.as_str())).collect();
            format!(
                "The value of `{}` could not be read when this was imported, so isthmus takes the program's value for it. If \
                 the object has another value, set a third one first",
                property_path(&path, shape)
            )
        }));
        Ok(Cow::Owned(object))
    }

    /// Rebuilds the stored object; the provider upgrades it to its current schema, or moves it to
    /// this type.
    async fn rebuilt(&self, properties: &Struct) -> Result<Prior, OperationError> {
        let meta = Meta::from_properties(properties).map_err(StateError::from)?;
        let status = if meta.tainted { Status::Damaged } else { Status::Ready };
        match &meta.source {
            Some(source) if *source.resource_type != *self.shape.terraform_type => {
                let object = self.moved(properties, &meta, source).await?;
                // Attributes of one name are the same for both types, and others are of one of them only.
                let unread = unread_in(&object.value, &self.shape.object)
                    .intersection(&meta.unread)
                    .cloned()
                    .collect();
                let prior = self.with_own_properties(object, status, properties)?;
                Ok(Prior { is_moved: true, is_unrefreshed: meta.unrefreshed, unread, ..prior })
            }
            _ => {
                let object = self.upgraded(properties, &meta).await?;
                let is_renamed = meta.names != self.package.parameter.names.digest_of_properties();
                let prior = if is_renamed {
                    self.with_own_properties(object, status, properties)?
                } else {
                    Prior::current(object, status)
                };
                Ok(Prior { is_renamed, is_unrefreshed: meta.unrefreshed, unread: meta.unread, ..prior })
            }
        }
    }

    fn with_own_properties(
        &self,
        object: Object,
        status: Status,
        like: &Struct,
    ) -> Result<Prior, OperationError> {
        let own = Some(self.rendered(&object, like, &[])?);
        Ok(Prior { own, ..Prior::current(object, status) })
    }

    /// The properties of an object, with sets in the order of those `like` it.
    fn rendered(
        &self,
        object: &Object,
        like: &Struct,
        secrets: &[AttributePath],
    ) -> Result<Struct, OutputError> {
        let value = in_order_of(&object.value, &self.shape.object, like);
        outputs_from_state(
            &value,
            &self.shape,
            OutputOptions { keep_secrets: true, secrets, unknowns: false },
        )
    }

    async fn upgraded(&self, properties: &Struct, meta: &Meta) -> Result<Object, OperationError> {
        let resource = self.resource()?;
        let writer = meta.source.as_ref().and_then(|source| source.provider_version.as_deref());
        resource.refuse_newer(meta.schema_version, writer).map_err(|error| self.failed(error))?;
        let (value, source) = stored_raw_state(properties, &self.shape).map_err(StateError::from)?;
        if let RawStateSource::SchemaForBadDelta(fault) = source {
            self.warn(Diagnostic::warning(
                "The stored state seems to have been edited",
                format!(
                    "The record to rebuild Terraform's state does not fit the properties any more ({fault}), so isthmus \
                     used the properties alone."
                ),
            ));
        }
        let identity = match &meta.identity {
            Some(identity) => self.stored_identity(identity).await?,
            None => None,
        };
        let stored = StoredObject {
            value,
            schema_version: meta.schema_version,
            private: meta.private.clone(),
            identity,
        };
        resource.upgrade(&stored, &mut self.warnings.of_call()).await.map_err(|error| self.failed(error))
    }

    /// Calls the provider to move an object from another type. While nothing else changes, engines
    /// keep the old state, so every call repeats this.
    async fn moved(
        &self,
        properties: &Struct,
        meta: &Meta,
        source: &Source,
    ) -> Result<Object, OperationError> {
        let value = foreign_raw_state(properties).map_err(|fault| StateError::Foreign {
            source_type: source.resource_type.clone(),
            target_type: self.shape.terraform_type.to_string(),
            fault: fault.map_or_else(|| "the record for it is missing".to_owned(), |fault| fault.to_string()),
        })?;
        // As for an identity of this type, one that cannot be parsed is left out.
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
        resource.move_state(&foreign, &mut self.warnings.of_call()).await.map_err(|error| self.failed(error))
    }
}

/// Options for translating an object to properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct RenderOptions<'a> {
    /// Paths that are secret beyond the schema.
    pub(super) secrets: &'a [AttributePath],
    /// Properties whose lists define the order of sets: the program's, or the stored ones.
    pub(super) like: &'a Struct,
    /// Sensitive attributes that no read had returned before.
    pub(super) unread: &'a BTreeSet<UnreadAttribute>,
    /// Whether the object is not known to be what exists.
    pub(super) is_unrefreshed: bool,
}

/// The properties to store for an object: the visible ones, and those needed to rebuild it.
pub(super) fn properties_of(
    target: &Target<'_>,
    object: &Object,
    identity: Option<StoredIdentity>,
    options: RenderOptions<'_>,
    status: Status,
) -> Result<Struct, OperationError> {
    let value = in_order_of(&object.value, &target.shape.object, options.like);
    let mut properties = target.outputs(&value, options.secrets, false)?;
    let meta = meta_of(target, object, identity, options, status);
    add_stored_properties(&mut properties, &meta, &object.value, &target.shape, target.keep_secrets)
        .map_err(StateError::from)?;
    Ok(properties)
}

/// The properties to store for an object that was just created or changed and must not be lost. If
/// it cannot be translated, only what is needed to rebuild it is stored, and the reason is
/// returned.
pub(super) fn properties_in_any_case(
    target: &Target<'_>,
    object: &Object,
    identity: Option<StoredIdentity>,
    options: RenderOptions<'_>,
    status: Status,
) -> Result<(Struct, Option<String>), OperationError> {
    match properties_of(target, object, identity.clone(), options, status) {
        Ok(properties) => Ok((properties, None)),
        Err(error) => {
            let Ok(delta) = raw_state_as_delta(&object.value, &target.shape, target.keep_secrets) else {
                return Err(error);
            };
            let mut properties = Struct::new();
            if let Some(meta) = meta_of(target, object, identity, options, status).to_property() {
                properties.insert(META_KEY, meta);
            }
            properties.insert(DELTA_KEY, delta);
            Ok((properties, Some(isthmus_common::error_chain(&error))))
        }
    }
}

fn meta_of(
    target: &Target<'_>,
    object: &Object,
    identity: Option<StoredIdentity>,
    options: RenderOptions<'_>,
    status: Status,
) -> Meta {
    let unread = match options.unread {
        unread if unread.is_empty() => BTreeSet::new(),
        unread => unread_in(&object.value, &target.shape.object).intersection(unread).cloned().collect(),
    };
    Meta {
        private: object.private.clone(),
        schema_version: target.shape.schema.version,
        tainted: status == Status::Damaged,
        unrefreshed: options.is_unrefreshed,
        identity,
        source: Some(Source {
            resource_type: target.shape.terraform_type.to_string(),
            provider: target.package.provider_address(),
            provider_version: target.package.provider_version().map(str::to_owned),
        }),
        unread,
        names: target.package.parameter.names.digest_of_properties(),
        ..Meta::default()
    }
}
