//! The plugin protocols of the sandbox, and their minors that it can imitate.
//!
//! Minor versions are not negotiated: an older provider does not implement some calls, and does not
//! set some capabilities and fields. So a minor is a set of [`Feature`]s.

use std::fmt;

/// A major version of the plugin protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    V5,
    /// `tfplugin6`: has nested attributes.
    V6,
}

/// A protocol minor. Minors of both protocols have the same features from 3 on.
#[cfg_attr(
    not(feature = "misbehaviour"),
    expect(dead_code, reason = "only misbehaviour imitates another minor")
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Minor {
    /// Protocol 5.N or 6.N.
    Numbered(u8),
    /// All that the sandbox supports.
    #[default]
    Newest,
    /// Later than the client's: responses have unknown fields and enum values.
    Future,
}

/// Features by the minor that introduced them.
#[cfg_attr(
    not(feature = "misbehaviour"),
    expect(dead_code, reason = "only misbehaviour imitates another minor")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Feature {
    /// Capability `plan_destroy`.
    PlanDestroy = 3,
    /// Capability `get_provider_schema_optional`.
    SchemaOptional = 4,
    /// GetMetadata, GetFunctions, CallFunction, MoveResourceState.
    Functions = 5,
    /// Deferrals.
    Deferral = 6,
    /// Ephemeral resources.
    Ephemeral = 7,
    /// Write-only attributes.
    WriteOnly = 8,
    /// Resource identity.
    Identity = 9,
    /// List resources, actions, GenerateResourceConfig, and deprecation messages.
    Lists = 10,
}

/// Capabilities of the client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Client {
    pub deferral: bool,
    pub write_only: bool,
    pub computed_blocks: bool,
}

/// An operation that a provider may defer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deferrable {
    /// Planning a creation or an update.
    Plan,
    /// Planning a destroy.
    Destroy,
    /// Refreshing an object.
    Read,
    /// Importing an object.
    Import,
    /// Reading a data source.
    Data,
}

impl Protocol {
    /// `5` or `6`.
    pub const fn major(self) -> u8 {
        match self {
            Self::V5 => 5,
            Self::V6 => 6,
        }
    }

    /// Parses a major version.
    pub(crate) fn from_major(text: &str) -> Option<Self> {
        match text {
            "5" => Some(Self::V5),
            "6" => Some(Self::V6),
            _ => None,
        }
    }

    /// The highest version that the client offers in a comma-separated list. If there is no common
    /// one, go-plugin's servers return their lowest, and the client must refuse it.
    pub(crate) fn negotiate(offered: Option<&str>) -> Self {
        let offered = offered.unwrap_or_default();
        offered.split(',').filter_map(|text| Self::from_major(text.trim())).max().unwrap_or(Self::V5)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.major())
    }
}

impl Minor {
    /// Parses `5.3`, `newest` or `future`; a version determines the protocol as well.
    #[cfg(feature = "misbehaviour")]
    pub(crate) fn parse(text: &str) -> Option<(Option<Protocol>, Self)> {
        match text {
            "newest" => Some((None, Self::Newest)),
            "future" => Some((None, Self::Future)),
            _ => {
                let (major, minor) = text.split_once('.')?;
                let minor = minor.parse().ok().filter(|minor| *minor <= 11)?;
                Some((Some(Protocol::from_major(major)?), Self::Numbered(minor)))
            }
        }
    }

    /// Whether this minor has the feature.
    pub(crate) fn has(self, feature: Feature) -> bool {
        match self {
            Self::Numbered(minor) => minor >= feature as u8,
            Self::Newest | Self::Future => true,
        }
    }

    /// Whether this minor has the call, by its name in either protocol.
    #[cfg(feature = "misbehaviour")]
    pub(crate) fn has_call(self, name: &str) -> bool {
        let since = match name {
            "GetMetadata" | "GetFunctions" | "CallFunction" | "MoveResourceState" => Feature::Functions,
            "ValidateEphemeralResourceConfig"
            | "OpenEphemeralResource"
            | "RenewEphemeralResource"
            | "CloseEphemeralResource" => Feature::Ephemeral,
            "ListResource"
            | "ValidateListResourceConfig"
            | "ValidateActionConfig"
            | "PlanAction"
            | "InvokeAction"
            | "GenerateResourceConfig" => Feature::Lists,
            "GetResourceIdentitySchemas" | "UpgradeResourceIdentity" => Feature::Identity,
            _ => return true,
        };
        self.has(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_common_protocol_wins() {
        assert_eq!(Protocol::negotiate(Some("5,6")), Protocol::V6);
        assert_eq!(Protocol::negotiate(Some("6,5")), Protocol::V6);
        assert_eq!(Protocol::negotiate(Some("5")), Protocol::V5);
    }

    #[test]
    fn without_a_common_protocol_the_lowest_is_announced() {
        assert_eq!(Protocol::negotiate(Some("7,8")), Protocol::V5);
        assert_eq!(Protocol::negotiate(None), Protocol::V5);
    }

    #[test]
    fn an_old_minor_lacks_the_calls_that_came_later() {
        let (_, minor) = Minor::parse("5.3").expect("a version");
        assert!(minor.has_call("PlanResourceChange"));
        assert!(minor.has(Feature::PlanDestroy));
        assert!(!minor.has_call("GetFunctions"));
        assert!(!minor.has_call("GetResourceIdentitySchemas"));
        assert!(Minor::Newest.has_call("GetResourceIdentitySchemas"));
    }

    #[test]
    fn an_invalid_minor_is_refused() {
        for text in ["5", "4.1", "6.", "6.99", "old", ""] {
            assert_eq!(Minor::parse(text), None, "{text}");
        }
    }
}
