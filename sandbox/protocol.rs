//! The plugin protocols that the sandbox serves, and the ages of each that it can imitate.
//!
//! Minor versions are never negotiated between Terraform and providers: an older provider simply leaves calls
//! unimplemented, capabilities unset and fields unwritten. So a minor is a set of [`Feature`]s, nothing more.

use std::fmt;

/// A major version of the plugin protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// `tfplugin5`
    V5,
    /// `tfplugin6`: the one with nested attributes.
    V6,
}

/// How old, or how new, an implementation of either protocol is. Minors of the two run in parallel from 3 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Minor {
    /// Protocol 5.N or 6.N.
    Numbered(u8),
    /// Everything that the sandbox knows.
    #[default]
    Newest,
    /// Newer than the client can be: answers carry fields and values of enumerations that no protocol has yet.
    Future,
}

/// What providers gained with a minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Feature {
    /// Capability `plan_destroy`.
    PlanDestroy = 3,
    /// Capability `get_provider_schema_optional`.
    SchemaOptional = 4,
    /// GetMetadata, GetFunctions, CallFunction, MoveResourceState.
    Functions = 5,
    /// Deferred answers.
    Deferral = 6,
    /// Ephemeral resources.
    Ephemeral = 7,
    /// Attributes that are never stored.
    WriteOnly = 8,
    /// Identity of resources.
    Identity = 9,
    /// List resources, actions, and words with a deprecation.
    Lists = 10,
}

/// What a client can do, of which the sandbox wants to know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Client {
    /// It takes a deferral for an answer.
    pub deferral: bool,
    /// It never stores values of write-only attributes.
    pub write_only: bool,
    /// It knows blocks that only the provider fills.
    pub computed_blocks: bool,
}

/// An operation that a provider may put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deferrable {
    /// Planning what exists afterwards.
    Plan,
    /// Planning the end of an object.
    Destroy,
    /// Reading an object.
    Read,
    /// Importing one.
    Import,
    /// Reading a data source.
    Data,
}

impl Protocol {
    /// `5` or `6`, as in the handshake.
    pub const fn major(self) -> u8 {
        match self {
            Self::V5 => 5,
            Self::V6 => 6,
        }
    }

    /// The protocol of a major version in decimal digits.
    pub(crate) fn from_major(text: &str) -> Option<Self> {
        match text {
            "5" => Some(Self::V5),
            "6" => Some(Self::V6),
            _ => None,
        }
    }

    /// The protocol for a client that offers a comma-separated list: the highest common one. Without a common one a
    /// server announces its lowest, and the client has to refuse (so does go-plugin's server).
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
    /// Reads `5.3`, `newest` or `future`; a version fixes the protocol as well.
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

    /// Whether an implementation of this age has the feature.
    pub fn has(self, feature: Feature) -> bool {
        match self {
            Self::Numbered(minor) => minor >= feature as u8,
            Self::Newest | Self::Future => true,
        }
    }

    /// Whether an implementation of this age has the call. Names are those of either protocol.
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
            | "InvokeAction" => Feature::Lists,
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
    fn nonsense_is_no_minor() {
        for text in ["5", "4.1", "6.", "6.99", "old", ""] {
            assert_eq!(Minor::parse(text), None, "{text}");
        }
    }
}
