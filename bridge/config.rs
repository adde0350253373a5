//! The provider's own configuration: checked, compared, applied.

use std::collections::BTreeMap;

use isthmus_proto::property::Struct;
use isthmus_shim::cty::Value;
use isthmus_shim::provider::ProviderError;

use crate::daemon::Instance;
use crate::resource::{Change, ChangeKind, Checked, Difference, Failure, Notes, OperationError, Target};
use crate::translate::config_values::{fold, unfold};
use crate::translate::inputs::Unknowns;
use crate::translate::property::bag_without_secrets;
use crate::translate::property_path::PropertyPath;

/// Keys that engines put among the configuration, and that no provider knows.
const ENGINE_KEYS: [&str; 4] = ["version", "pluginDownloadURL", "name", "parameterization"];

/// Judges a configuration, by the schema and by the provider. The answer holds each value as the engine stores it: a
/// string, JSON where the value is none.
pub async fn check(
    instance: &Instance,
    _urn: &str,
    news: Struct,
    notes: &mut Notes,
) -> Result<Checked, OperationError> {
    let target = target(instance)?;
    let mut failures = Vec::new();
    match read(&target, &news, Unknowns::Keep) {
        Ok(config) => match instance.provider.validate_config(&config, &mut notes.warnings).await {
            Ok(()) => {}
            Err(ProviderError::Diagnostics { diagnostics, .. }) => failures = target.failures(&diagnostics),
            Err(error) => return Err(target.failed(error)),
        },
        Err(OperationError::Inputs(found)) => failures = found,
        Err(error) => return Err(error),
    }
    let unfolded = unfold(&news, &target.shape.object).unwrap_or_else(|_| news.clone());
    Ok(Checked { inputs: fold(&unfolded, &target.shape.object), failures })
}

/// Compares two configurations. No change of it makes any resource be replaced: only the provider could know that, and
/// it is never asked.
pub fn diff(olds: &Struct, news: &Struct) -> Difference {
    let mut changes = BTreeMap::new();
    for (name, value) in news.iter() {
        let kind = match olds.get(name) {
            None => ChangeKind::Add,
            Some(old) if old != value => ChangeKind::Update,
            Some(_) => continue,
        };
        changes.insert(PropertyPath::top(name), Change { kind, replaces: false });
    }
    for name in olds.keys().filter(|name| !news.contains_key(name)) {
        changes.insert(PropertyPath::top(name), Change { kind: ChangeKind::Delete, replaces: false });
    }
    Difference { changes, delete_before_replace: false }
}

/// Configures the provider.
pub async fn configure(
    instance: &Instance,
    arguments: &Struct,
    notes: &mut Notes,
) -> Result<(), OperationError> {
    let target = target(instance)?;
    let config = read(&target, arguments, Unknowns::Keep)?;
    instance.configure(config, &mut notes.warnings).await.map_err(|error| target.failed(error))
}

fn target(instance: &Instance) -> Result<Target<'_>, OperationError> {
    let shape = instance.package.config_shape()?;
    Ok(Target { provider: &instance.provider, shape, keep_secrets: true })
}

fn read(target: &Target<'_>, stored: &Struct, unknowns: Unknowns) -> Result<Value, OperationError> {
    let mut bag = bag_without_secrets(stored).unwrap_or_else(|_| stored.clone());
    for key in ENGINE_KEYS {
        if target.shape.object.pulumi(key).is_none() {
            bag.remove(key);
        }
    }
    let unfolded = unfold(&bag, &target.shape.object)
        .map_err(|failures| OperationError::Inputs(failures.into_iter().map(Failure::from).collect()))?;
    Ok(target.config(&unfolded, unknowns)?.value)
}
