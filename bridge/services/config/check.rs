//! Validation of a provider configuration.

use isthmus_known_secrets::Retention;
use isthmus_proto::property::Struct;
use isthmus_provider::{Provider, ProviderError};

use super::check_failures::CheckFailures;
use super::{by_pulumi_names, sorted, target};
use isthmus_operations::resource::{Checked, Failure, Inputs, OperationError, OperationWarnings};
use isthmus_session::daemon::Instance;
use isthmus_translate::config_values::{fold, unfold, unfold_if_possible};
use isthmus_translate::inputs::{Unknowns, canonical_config, config_from_inputs};
use isthmus_translate::marked_secrets::note_secrets;

/// Validates a configuration, by the schema and by the provider. The result has each value as the
/// engine stores it: a string, with JSON for other types. `urn` is that of the provider resource,
/// or empty.
///
/// All failures are reported at once: an unknown key does not prevent the validation of the others.
pub async fn check(
    instance: &Instance,
    provider: &Provider,
    urn: &str,
    news: Struct,
    warnings: &mut OperationWarnings,
) -> Result<Checked, OperationError> {
    let target = target(instance, provider)?;
    let object = &target.shape.object;
    let (news, mut renamed) = by_pulumi_names(news, object);
    // Parsed where possible, to distinguish nested values.
    let given = unfold_if_possible(&news, object);
    note_secrets(&given, provider.secrets(), Retention::Session);
    let check_failures =
        CheckFailures::new(urn, &instance.package.identity().name, Inputs::new(&given, object), object);
    let (own, unknown_keys) = sorted(&news, object);
    let read = unfold(&own, object).and_then(|mut own| {
        let (dropped, nested) = canonical_config(&mut own, object);
        renamed.extend(nested);
        let given = Inputs::new(&own, object);
        warnings.texts.extend(given.warnings_of_dropped(&dropped));
        warnings.texts.extend(renamed.iter().map(|renamed| {
            let (path, terraform) = (given.at(&renamed.path), &renamed.terraform);
            format!(
                "`{}` of the provider's configuration is called `{terraform}`, as in Terraform",
                path.path()
            )
        }));
        config_from_inputs(&own, object, &target.shape.schema.block, Unknowns::Keep)
    });
    let mut failures: Vec<Failure> = match read {
        Ok(config) => {
            instance.last_checked(config.value.clone());
            match provider.validate_config(&config.value, &mut warnings.diagnostics).await {
                Ok(()) => Vec::new(),
                Err(ProviderError::Diagnostics { diagnostics, .. }) => {
                    diagnostics.iter().map(|diagnostic| check_failures.of_provider(diagnostic)).collect()
                }
                Err(error) => return Err(target.failed(error)),
            }
        }
        Err(found) => found.into_iter().map(|failure| check_failures.of_schema(failure)).collect(),
    };
    // The SDK half and the framework half of a muxed provider both report a missing key.
    failures.dedup();
    failures.extend(unknown_keys.into_iter().map(|key| check_failures.of_unknown_key(key)));
    let mut unfolded = unfold(&news, object).unwrap_or(news);
    canonical_config(&mut unfolded, object);
    Ok(Checked { inputs: fold(&unfolded, object), failures })
}
