//! The provider's own configuration: checked, compared, applied, and told again.
//!
//! An engine checks and compares a configuration in every run of a program, and applies what is stored in every other run
//! (refresh, destroy), which no check precedes. So checking is strict, and applying takes what an older version of the
//! provider, or the Go bridge, has let pass.

mod check;
mod check_failures;
mod configure;
mod diff;
mod terraform_config;

use isthmus_proto::property::Struct;
use isthmus_provider::Provider;

use crate::daemon::Instance;
use crate::package::shape::ObjectShape;
use crate::resource::{OperationError, Target, Timeouts};

pub(crate) use check::check;
pub(crate) use configure::{Arguments, configure};
pub(crate) use diff::diff;
pub(crate) use terraform_config::{MethodError, call};

/// Keys that engines put among the configuration, and that no provider knows: its version, and (until engines got a place
/// of their own for them) where the plugin is from, which plugin it is really, and the parameter.
const ENGINE_KEYS: [&str; 4] = ["version", "pluginDownloadURL", "name", "parameterization"];

/// Whether there is nothing in a configuration but what engines put there.
pub(crate) fn is_empty(config: &Struct) -> bool {
    sorted(config, &ObjectShape::default()).1.is_empty()
}

fn target<'a>(instance: &'a Instance, provider: &'a Provider) -> Result<Target<'a>, OperationError> {
    let shape = instance.package.config_shape()?;
    Ok(Target {
        provider,
        shape,
        package: instance.package.identity(),
        keep_secrets: true,
        timeouts: Timeouts::default(),
        memory: None,
    })
}

/// What the provider knows of `stored`, and the keys that neither it nor the engine knows.
fn sorted<'a>(stored: &'a Struct, shape: &ObjectShape) -> (Struct, Vec<&'a str>) {
    let mut own = Struct::new();
    let mut strangers = Vec::new();
    for (name, value) in stored.iter() {
        if shape.pulumi(name).is_some() {
            own.insert(name, value.clone());
        } else if !ENGINE_KEYS.contains(&name) && !name.starts_with("__") {
            strangers.push(name);
        }
    }
    (own, strangers)
}
