//! The provider's own configuration: check, diff, configure, and its export for Terraform modules.
//!
//! An engine checks and compares a configuration whenever a program runs, and configures stored
//! ones in other operations (refresh, destroy), without a check. So Check is strict, and Configure
//! accepts what an older version of the provider, or the Go bridge, has accepted.

mod check;
mod check_failures;
mod configure;
mod diff;
mod terraform_config;

use isthmus_proto::property::Struct;
use isthmus_provider::Provider;

use isthmus_operations::resource::{OperationError, Target};
use isthmus_package::shape::ObjectShape;
use isthmus_session::daemon::Instance;
use isthmus_translate::inputs::{Renamed, rename};
use isthmus_translate::property_path::PropertyPath;

pub use check::check;
pub use configure::{Arguments, configure};
pub(crate) use diff::{diff, hide_other_version};
pub(crate) use terraform_config::{MethodError, call};

/// Keys that engines add to the configuration and no provider has: its version, and (until engines
/// got separate fields for them) the plugin's download URL, its real name, and the parameter.
const ENGINE_KEYS: [&str; 4] = ["version", "pluginDownloadURL", "name", "parameterization"];

/// Whether a configuration contains only keys of the engine.
pub fn is_empty(config: &Struct) -> bool {
    sorted(config, &ObjectShape::default()).1.is_empty()
}

fn target<'a>(instance: &'a Instance, provider: &'a Provider) -> Result<Target<'a>, OperationError> {
    let shape = instance.package.config_shape()?;
    Ok(Target {
        numbers: instance.settings().exact_numbers,
        ..Target::new(provider, shape, instance.package.identity())
    })
}

/// A configuration whose keys have their Pulumi names, and those that had Terraform's.
fn by_pulumi_names(mut config: Struct, shape: &ObjectShape) -> (Struct, Vec<Renamed>) {
    let renamed = rename(&mut config, shape, &ENGINE_KEYS);
    let renamed =
        renamed.into_iter().map(|(terraform, pulumi)| Renamed { path: PropertyPath::top(pulumi), terraform });
    (config, renamed.collect())
}

/// Returns the provider's part of `stored`, and the keys that belong neither to it nor to the
/// engine.
fn sorted<'a>(stored: &'a Struct, shape: &ObjectShape) -> (Struct, Vec<&'a str>) {
    let mut own = Struct::new();
    let mut unknown_keys = Vec::new();
    for (name, value) in stored.iter() {
        if shape.pulumi(name).is_some() {
            own.insert(name, value.clone());
        } else if !ENGINE_KEYS.contains(&name) && !name.starts_with("__") {
            unknown_keys.push(name);
        }
    }
    (own, unknown_keys)
}
