//! Data sources.

use std::sync::Arc;

use isthmus_proto::property::Struct;
use isthmus_shim::provider::ProviderError;

use crate::daemon::Instance;
use crate::package::shape::ResourceShape;
use crate::resource::{Notes, OperationError, Target, describe};
use crate::translate::inputs::Unknowns;
use crate::translate::outputs::{OutputOptions, outputs_from_state};

pub(super) async fn read(
    instance: &Instance,
    shape: Arc<ResourceShape>,
    arguments: &Struct,
    keep_secrets: bool,
    notes: &mut Notes,
) -> Result<Struct, OperationError> {
    let target =
        Target { provider: &instance.provider, shape, package: instance.package.identity(), keep_secrets };
    let config = target.config(arguments, Unknowns::Reject)?;
    instance.ensure_configured(&mut notes.warnings).await.map_err(|error| target.failed(error))?;
    let mut warnings = Vec::new();
    let read =
        instance.provider.read_data_source(&target.shape.terraform_type, &config.value, &mut warnings).await;
    // They are about arguments, while those of the other list are about the provider's configuration.
    notes.texts.extend(warnings.iter().map(|warning| describe(warning, &target.shape.object)));
    let state = read.map_err(|error| match error {
        ProviderError::Diagnostics { diagnostics, operation } => {
            if diagnostics.iter().any(|diagnostic| !diagnostic.path.is_root()) {
                OperationError::Inputs(target.failures(&diagnostics))
            } else {
                target.failed(ProviderError::Diagnostics { diagnostics, operation })
            }
        }
        error => target.failed(error),
    })?;
    let options = OutputOptions { keep_secrets, secrets: &config.secrets, unknowns: false };
    Ok(outputs_from_state(&state, &target.shape, options)?)
}
