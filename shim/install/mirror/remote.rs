//! Common parts of network and OCI mirrors.

use http::HeaderValue;
use isthmus_common::listed;
use url::Url;

use crate::auth::CredentialsError;
use crate::cli_config::TemplateFault;
use crate::failure::FailureClass;
use crate::shown::{shown, shown_text};
use crate::web::WebError;
use crate::{PackageHash, Platform, ProviderAddress};

/// A package to be downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemotePackage {
    pub url: Url,
    pub file_name: String,
    /// Its hashes, one of which must match; empty: unknown.
    pub hashes: Vec<PackageHash>,
    /// Hashes of the version's packages for other platforms, which may go into a lock file.
    pub other_hashes: Vec<PackageHash>,
    /// The host whose token is sent, in the form of addresses.
    pub token_of: Option<String>,
    /// Another `Authorization` header.
    pub authorization: Option<HeaderValue>,
}

/// A network or OCI mirror failed.
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
        "the registry {registry} denies access to {repository} {} credentials: {reason}. Set them in the CLI \
         configuration: `oci_credentials \"{registry}\" {{ username = … password = … }}`",
        if *.with_credentials { "with the configured" } else { "without" }
    )]
    Denied { registry: String, repository: String, with_credentials: bool, reason: String },
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    NoPlatform(Box<MissingPlatform>),
}

/// The mirror has the version, but not for this platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the mirror has version {version} of {address} for {}, but not for {platform}",
    if .others.is_empty() { "no machine".to_owned() } else { listed(.others) }
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
            | Self::Credentials(_) => FailureClass::Refused,
        }
    }

    pub(super) fn answer(url: &Url, reason: impl Into<String>) -> Self {
        Self::Answer { url: Box::new(url.clone()), reason: reason.into() }
    }
}
