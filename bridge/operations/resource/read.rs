//! Read: refreshes a resource in the engine's state, or imports one.

mod imported_inputs;

use std::borrow::Cow;

use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::{Object, ProviderError};
use isthmus_state::Status;

use super::prior::Prior;
use super::state::{RenderOptions, properties_of};
use super::{OperationError, Target};
use isthmus_package::shape::{IdRule, ResourceShape, Shape};
use isthmus_translate::exact_numbers::with_exact_numbers;
use isthmus_translate::import::inputs_after_refresh;
use isthmus_translate::meta::META_KEY;
use isthmus_translate::raw_state::DELTA_KEY;
use isthmus_translate::sets::in_order_of;
use isthmus_translate::unread::{add_unread_inputs, unread_in};

#[derive(Debug)]
pub struct Found {
    pub id: String,
    pub properties: Struct,
    /// The inputs that would create it.
    pub inputs: Struct,
}

/// Reads the object; `None` if it does not exist.
pub async fn read(target: &Target<'_>, prior: &Prior) -> Result<Option<Object>, OperationError> {
    Ok(read_or_keep(target, prior).await?.0)
}

/// The same, and whether the provider has deferred it: then the prior object is returned, and nothing is known of the real one.
pub(super) async fn read_or_keep(
    target: &Target<'_>,
    prior: &Prior,
) -> Result<(Option<Object>, bool), OperationError> {
    let sent = target.allow_in_state(&prior.object);
    let sent = sent.as_ref().unwrap_or(&prior.object);
    let (resource, diagnostics) = (target.resource()?, &mut target.warnings.of_call());
    let read = match prior.is_unrefreshed {
        true => resource.read_now(sent, diagnostics).await.map(|object| (object, false)),
        false => resource.read_or_keep(sent, diagnostics).await,
    };
    let (read, is_deferred) = read.map_err(|error| target.failed(error))?;
    Ok((read.map(|object| target.without_timeout(object, sent, &prior.object)), is_deferred))
}

/// Refreshes the resource; `None` if it does not exist.
///
/// `properties` may be a program's own description of the resource, as for `.get` with a state.
pub async fn refresh(
    target: &Target<'_>,
    id: &str,
    inputs: &Struct,
    properties: &Struct,
) -> Result<Option<Found>, OperationError> {
    let prior = target.stored(&with_id(properties, id, &target.shape)).await?;
    let (object, is_deferred) = read_or_keep(target, &prior).await?;
    // Whether it is there or not, the engine takes what was found for its state.
    let supersede = async || {
        if let Some(journaled) = target.journaled.filter(|_| !is_deferred) {
            journaled.operations.superseded(journaled.urn, journaled.id).await;
        }
    };
    let Some(object) = object else {
        supersede().await;
        // There may be no further call about it: the engine forgets what is gone.
        if let Some(journaled) = target.journaled {
            journaled.operations.write().await;
        }
        return Ok(None);
    };
    let secrets = target.secrets_of(inputs);
    let identity = target.identity_of(&object).await;
    let id = target.id_after_refresh(&object, id, identity.as_ref(), &secrets);
    let options =
        RenderOptions { secrets: &secrets, like: properties, unread: prior.unread(), is_unrefreshed: false };
    let value = in_order_of(&object.value, &target.shape.object, properties);
    let properties = properties_of(target, &object, identity, options, prior.status)?;
    let mut exact = with_exact_numbers(properties.clone(), &value, &target.shape.object);
    // Inputs that no read returns stay, as write-only ones do.
    add_unread_inputs(&mut exact, &target.shape.object, prior.unread(), inputs);
    let inputs = inputs_after_refresh(inputs, &exact, &target.shape);
    target.overtake_failed_delete(&id, &properties).await;
    supersede().await;
    Ok(Some(Found { id, properties, inputs }))
}

/// Adds the id to a program's description, which lacks it; stored properties have one if the type
/// does.
fn with_id<'a>(properties: &'a Struct, id: &str, shape: &ResourceShape) -> Cow<'a, Struct> {
    let is_stored = properties.contains_key(META_KEY) || properties.contains_key(DELTA_KEY);
    match shape.object.terraform("id") {
        Some(field)
            if !is_stored
                && !id.is_empty()
                && matches!(field.shape, Shape::String)
                && matches!(shape.id, IdRule::Computed | IdRule::Property(_))
                && !properties.contains_key(&field.pulumi) =>
        {
            let mut properties = properties.clone();
            properties.insert(field.pulumi.clone(), Property::from(id));
            Cow::Owned(properties)
        }
        _ => Cow::Borrowed(properties),
    }
}

/// Imports the resource with this `id`, which may be an identity in JSON; `None` if there is none.
pub async fn import(target: &Target<'_>, id: &str) -> Result<Option<Found>, OperationError> {
    let read = match target.import_object(id).await {
        Ok(read) => read,
        Err(error) => return Err(target.failed_import(error).await),
    };
    let Some(object) = read else {
        if let Some(form) = target.import_form().await {
            let text = format!("No {} has this id; {form}", target.shape.terraform_type);
            target.warnings.warn_in_texts([text]);
        }
        return Ok(None);
    };
    let identity = target.identity_of(&object).await;
    let id = target.new_id(&object, identity.as_ref(), Some(id), &[]);
    let unread = unread_in(&object.value, &target.shape.object);
    let options =
        RenderOptions { secrets: &[], like: &Struct::default(), unread: &unread, is_unrefreshed: false };
    let properties = properties_of(target, &object, identity, options, Status::Ready)?;
    let exact = with_exact_numbers(properties.clone(), &object.value, &target.shape.object);
    let inputs = target.inputs_of_imported(&object, &exact).await;
    target.overtake_failed_delete(&id, &properties).await;
    Ok(Some(Found { id, properties, inputs }))
}

impl Target<'_> {
    /// The error of a failed import, with what an import takes if the provider refused the id.
    pub async fn failed_import(&self, error: ProviderError) -> OperationError {
        let is_refused = matches!(error, ProviderError::Diagnostics { .. } | ProviderError::Import { .. });
        let mut failed = self.failed(error);
        if let (true, OperationError::Provider { text, .. }) = (is_refused, &mut failed)
            && let Some(form) = self.import_form().await
        {
            text.push_str("\nhelp: ");
            text.push_str(&form);
        }
        failed
    }

    /// What an import of this type takes; `None` if the provider does not tell. It documents the form of an id in pages that
    /// are not part of its schema, which has the description of attribute `id` and the attributes of an identity.
    async fn import_form(&self) -> Option<String> {
        let description = self.shape.object.terraform("id").map(|id| id.description.trim());
        let of_id = description.filter(|text| !text.is_empty()).map(|text| {
            format!(
                "the provider describes attribute `id`, by which most resources are imported, as {text:?}"
            )
        });
        let identity = match self.provider.resource(&self.shape.terraform_type) {
            // The error that this belongs to counts, not another one about identities.
            Ok(resource) => resource.identity_schema(&mut Vec::new()).await.ok().flatten(),
            Err(_) => None,
        };
        let of_identity = identity.map(|schema| {
            format!("in place of an id, its identity is taken, a JSON object of {}", schema.described())
        });
        let forms: Vec<String> = of_id.into_iter().chain(of_identity).collect();
        (!forms.is_empty()).then(|| forms.join("; "))
    }
}
