//! Whether a configuration is what the provider takes.

use isthmus_proto::property::Struct;
use isthmus_provider::{Provider, ProviderError, Retention};

use super::check_failures::Complaints;
use super::{sorted, target};
use crate::daemon::Instance;
use crate::resource::{Checked, Failure, Inputs, OperationError, OperationWarnings};
use crate::translate::config_values::{fold, unfold, unfold_if_possible};
use crate::translate::inputs::{Unknowns, config_from_inputs};
use crate::translate::marked_secrets::note_secrets;

/// Judges a configuration, by the schema and by the provider. The answer holds each value as the engine stores it: a
/// string, JSON where the value is none. `urn` is that of the provider resource, or empty.
///
/// Everything that is wrong is told at once: a key that there is not keeps nobody from judging the others.
pub(crate) async fn check(
    instance: &Instance,
    provider: &Provider,
    urn: &str,
    news: Struct,
    notes: &mut OperationWarnings,
) -> Result<Checked, OperationError> {
    let target = target(instance, provider)?;
    let object = &target.shape.object;
    // As values where they are, so that what is within them can be told apart.
    let given = unfold_if_possible(&news, object);
    note_secrets(&given, provider.secrets(), Retention::Session);
    let check_failures =
        Complaints::new(urn, &instance.package.identity().name, Inputs::new(&given, object), object);
    let (own, strangers) = sorted(&news, object);
    let read = unfold(&own, object)
        .and_then(|own| config_from_inputs(&own, object, &target.shape.schema.block, Unknowns::Keep));
    let mut failures: Vec<Failure> = match read {
        Ok(config) => {
            instance.last_checked(config.value.clone());
            match provider.validate_config(&config.value, &mut notes.warnings).await {
                Ok(()) => Vec::new(),
                Err(ProviderError::Diagnostics { diagnostics, .. }) => {
                    diagnostics.iter().map(|diagnostic| check_failures.of_provider(diagnostic)).collect()
                }
                Err(error) => return Err(target.failed(error)),
            }
        }
        Err(found) => found.into_iter().map(|failure| check_failures.of_schema(failure)).collect(),
    };
    // Two halves of one provider, on the SDK and on the framework, each say what is missing.
    failures.dedup();
    failures.extend(strangers.into_iter().map(|key| check_failures.of_stranger(key)));
    let unfolded = unfold(&news, object).unwrap_or(news);
    Ok(Checked { inputs: fold(&unfolded, object), failures })
}
