//! The roles of the executable, which its name selects.

use std::path::Path;

use isthmus_services::lumirpc;

/// The plugin's name for today's engines.
pub(super) const PULUMI_PLUGIN: &str = "pulumi-resource-terraform-provider";

/// The sandbox provider's name.
pub(super) const SANDBOX_PROVIDER: &str = "terraform-provider-sandbox";

/// The role that the executable's name selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A resource plugin for today's engines.
    Plugin,
    /// A resource plugin for the legacy engine, for this package.
    Lumi(String),
    /// The sandbox provider, for demonstrations and tests.
    Sandbox,
    /// The command line.
    Command,
}

pub(super) fn role(program: &Path) -> Role {
    let stem = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = stem.strip_suffix(".exe").unwrap_or(stem);
    match stem {
        PULUMI_PLUGIN => Role::Plugin,
        _ if is_sandbox(stem) => Role::Sandbox,
        _ => match stem.strip_prefix(lumirpc::PLUGIN_PREFIX) {
            Some(package) if !package.is_empty() => Role::Lumi(package.to_owned()),
            _ => Role::Command,
        },
    }
}

/// Released provider binaries carry a version in their names.
fn is_sandbox(stem: &str) -> bool {
    stem.strip_prefix(SANDBOX_PROVIDER).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides_the_role() {
        assert_eq!(role(Path::new("/plugins/pulumi-resource-terraform-provider")), Role::Plugin);
        assert_eq!(role(Path::new("./terraform-provider-sandbox")), Role::Sandbox);
        assert_eq!(role(Path::new("./terraform-provider-sandbox_v1.2.3")), Role::Sandbox);
        assert_eq!(role(Path::new("./terraform-provider-sandboxes")), Role::Command);
        assert_eq!(role(Path::new("/packs/random/lumi-resource-random")), Role::Lumi("random".to_owned()));
        assert_eq!(role(Path::new("lumi-resource-")), Role::Command);
        assert_eq!(role(Path::new("isthmus")), Role::Command);
        assert_eq!(role(Path::new("")), Role::Command);
    }
}
