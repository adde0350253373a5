//! Configuring the provider.

use std::collections::HashMap;

use isthmus_known_secrets::Retention;
use isthmus_proto::property::Struct;
use isthmus_provider::{Provider, ProviderError};

use super::check_failures::in_pulumis_names;
use super::{by_pulumi_names, sorted, target};
use isthmus_context::error_code::ErrorCode;
use isthmus_operations::resource::{Failure, Inputs, MissingKey, OperationError, OperationWarnings, Target};
use isthmus_package::shape::ObjectShape;
use isthmus_session::daemon::{ConfigureError, Instance};
use isthmus_session::error_code::of_start;
use isthmus_translate::config_values::{from_variables, unfold};
use isthmus_translate::inputs::{Unknowns, canonical_config, config_from_stored, missing_required};
use isthmus_translate::marked_secrets::note_secrets;

/// A configuration as an engine passes it.
#[derive(Clone, Copy, Debug)]
pub enum Arguments<'a> {
    Properties(&'a Struct),
    /// As a flat map of strings, the original form.
    Variables(&'a HashMap<String, String>),
}

/// Configures the provider, once: repeating it with the same configuration has no effect, with
/// another one it is an error.
///
/// The stored configuration may be unchecked and of another version of the provider. So unknown
/// keys are left out with a warning, as core does for old states; missing keys are reported in the
/// engine's own form.
pub async fn configure(
    instance: &Instance,
    provider: &Provider,
    arguments: Arguments<'_>,
    warnings: &mut OperationWarnings,
) -> Result<(), OperationError> {
    let target = target(instance, provider)?;
    let object = &target.shape.object;
    let package = &instance.package.identity().name;
    let from_texts;
    let stored = match arguments {
        Arguments::Properties(properties) => properties,
        Arguments::Variables(variables) => {
            from_texts = from_variables(variables, object)
                .map_err(|error| OperationError::Inputs(vec![Failure::of_all(error.to_string())]))?;
            &from_texts
        }
    };
    // Check has warned of Terraform's names.
    let (stored, _) = &by_pulumi_names(stored.clone(), object);
    let (own, unknown_keys) = sorted(stored, object);
    warnings.texts.extend(unknown_keys.into_iter().map(|key| {
        format!(
            "the configuration key `{package}:{key}` has no effect: the provider {package} does not have it"
        )
    }));
    let as_given = |found| OperationError::Inputs(Inputs::new(stored, object).failures(found));
    let mut own = unfold(&own, object).map_err(as_given)?;
    canonical_config(&mut own, object);
    note_secrets(&own, provider.secrets(), Retention::Session);
    let missing = missing_keys(&own, object, package);
    if !missing.is_empty() {
        return Err(OperationError::MissingKeys(missing));
    }
    let config =
        config_from_stored(&own, object, &target.shape.schema.block, Unknowns::Keep).map_err(as_given)?.value;
    match instance.configured().await {
        Some(present) if present == config => return Ok(()),
        Some(_) => return Err(OperationError::ConfiguredAlready { package: package.clone() }),
        None => {}
    }
    instance.configure(provider, config, &mut warnings.diagnostics).await.map_err(|error| match error {
        ConfigureError::Provider(error) => in_words_of_pulumi(error, &target),
        ConfigureError::Start(error) => OperationError::Start(ErrorCode::named_in(
            isthmus_common::error_chain(error.as_ref()),
            of_start(&error),
        )),
    })
}

fn missing_keys(own: &Struct, object: &ObjectShape, package: &str) -> Vec<MissingKey> {
    let missing = missing_required(own, object);
    let fields = missing.iter().filter(|missing| missing.path.0.len() == 1).map(|missing| missing.field);
    fields
        .map(|field| MissingKey {
            name: format!("{package}:{}", field.pulumi),
            description: field.description.clone(),
        })
        .collect()
}

/// Providers also name other attributes than the invalid one, mostly in quotes.
fn in_words_of_pulumi(error: ProviderError, target: &Target<'_>) -> OperationError {
    match target.failed(error) {
        OperationError::Provider { text, error, outcome_unknown } => OperationError::Provider {
            text: in_pulumis_names(&text, &target.shape.object),
            error,
            outcome_unknown,
        },
        other => other,
    }
}
