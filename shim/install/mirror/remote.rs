//! What the mirrors behind a network have in common.

use http::HeaderValue;
use url::Url;

use crate::cli_config::TemplateFault;
use crate::failure::FailureClass;
use crate::shown::{shown, shown_text};
use crate::web::WebError;
use crate::{PackageHash, Platform, ProviderAddress};

/// A package that is still to be downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemotePackage {
    pub url: Url,
    pub file_name: String,
    /// It must have one of these sums; where there are none, nobody says what it must be.
    pub hashes: Vec<PackageHash>,
    /// Sums of the same version's packages for other machines, which may go into a lock file.
    pub other_hashes: Vec<PackageHash>,
    /// The host whose token goes along, as addresses have it.
    pub token_of: Option<String>,
    /// What else tells who asks.
    pub authorization: Option<HeaderValue>,
}

/// A mirror behind a network cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RemoteMirrorError {
    #[error("{:?} cannot be the address of a network mirror ({reason})", shown_text(.url))]
    Address { url: String, reason: String },
    #[error(transparent)]
    Web(#[from] WebError),
    #[error("{}: {reason}", shown(.url))]
    Answer { url: Box<Url>, reason: String },
    #[error("the provider {address} can be in no repository")]
    Repository {
        address: Box<ProviderAddress>,
        #[source]
        source: Box<TemplateFault>,
    },
    #[error(
        "the registry {registry} does not let {} read {repository}: {reason}. Say who asks in the CLI configuration: \
         `oci_credentials \"{registry}\" {{ username = … password = … }}`",
        if *.with_credentials { "the one whose credentials are configured" } else { "everybody" }
    )]
    Denied { registry: String, repository: String, with_credentials: bool, reason: String },
    #[error("the credentials for the registry {registry} could not be looked up: {reason}")]
    Credentials { registry: String, reason: String },
    #[error(transparent)]
    NoPlatform(Box<MissingPlatform>),
}

/// A mirror has a version, but not for a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the mirror has version {version} of {address} for {}, but not for {platform}",
    if .others.is_empty() { "no machine".to_owned() } else { .others.join(", ") }
)]
pub struct MissingPlatform {
    pub address: ProviderAddress,
    pub version: semver::Version,
    pub platform: Platform,
    pub others: Vec<String>,
}

impl RemoteMirrorError {
    pub(crate) fn class(&self) -> FailureClass {
        match self {
            Self::NoPlatform(_) => FailureClass::Absent,
            Self::Web(error) => error.class(),
            Self::Address { .. }
            | Self::Answer { .. }
            | Self::Repository { .. }
            | Self::Denied { .. }
            | Self::Credentials { .. } => FailureClass::Refused,
        }
    }

    pub(super) fn answer(url: &Url, reason: impl Into<String>) -> Self {
        Self::Answer { url: Box::new(url.clone()), reason: reason.into() }
    }
}
