//! Server capabilities of a provider.

use isthmus_proto::tfplugin6;

/// Server capabilities of a provider, beyond its protocol's major version. Older providers lack
/// later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Plans destroys as well (5.3, 6.3).
    pub plan_destroy: bool,
    /// Does not require GetProviderSchema (5.4, 6.4).
    pub get_provider_schema_optional: bool,
    /// Has MoveResourceState (5.5, 6.5).
    pub move_resource_state: bool,
    /// Has GenerateResourceConfig (5.10, 6.10).
    pub generate_resource_config: bool,
}

impl From<tfplugin6::ServerCapabilities> for Capabilities {
    fn from(announced: tfplugin6::ServerCapabilities) -> Self {
        Self {
            plan_destroy: announced.plan_destroy,
            get_provider_schema_optional: announced.get_provider_schema_optional,
            move_resource_state: announced.move_resource_state,
            generate_resource_config: announced.generate_resource_config,
        }
    }
}
