//! Errors of registries.

use semver::Version;

use crate::checksums::{ChecksumsError, FileSumError};
use crate::failure::FailureClass;
use crate::hashes::HashError;
use crate::signature::SignatureError;
use crate::web::WebError;
use crate::{FileSum, PackageHash, Platform, ProviderAddress};

/// A registry failed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error(
        "{host} offers no registry of Terraform providers; check the host in the provider's address, or say where its \
         registry is by a `host` block in the CLI configuration"
    )]
    NoService { host: String },
    #[error("{host} names {service:?} as its registry of providers, which is not an http or https address")]
    InvalidService { host: String, service: String },
    #[error("could not query the registry for {}: {error}", .address.for_display())]
    Web {
        address: ProviderAddress,
        /// The cause. Part of the text.
        error: Box<WebError>,
    },
    #[error(
        "the registry {} has no provider {}/{}; check its name, or whether your token may see it", .address.host(),
        .address.namespace(), .address.provider_type()
    )]
    UnknownProvider { address: ProviderAddress },
    #[error("the registry has no archive of {address} {version} for {platform}")]
    UnknownPackage { address: ProviderAddress, version: Version, platform: Platform },
    /// A package or its description is invalid.
    #[error("{address} {version} is not installed: {fault}")]
    Package {
        address: ProviderAddress,
        version: Version,
        /// The reason. Part of the text.
        fault: PackageFault,
    },
}

/// Why a package or its description is invalid.
#[derive(Debug, thiserror::Error)]
pub enum PackageFault {
    #[error("the registry was called for {wanted} and returned {found}")]
    Platform { wanted: Platform, found: String },
    #[error("the registry calls the archive {0:?}, which is not a file name")]
    FileName(String),
    #[error("the registry names {0:?}, which is not an http or https address")]
    Url(String),
    #[error("the registry names no checksum: {0}")]
    Sum(FileSumError),
    #[error("could not download its checksums: {0}")]
    NoSums(Box<WebError>),
    /// The list of checksums is contradictory.
    #[error("{0}")]
    Sums(ChecksumsError),
    #[error("its checksums have none for {0}")]
    NotListed(String),
    #[error("the registry says that the archive has the SHA-256 {registry}, its checksums say {listed}")]
    OtherSum { registry: FileSum, listed: FileSum },
    /// The registry's response is contradictory.
    #[error("the registry says that the archive has the SHA-256 {sum}, and then {found}")]
    OtherHash {
        sum: FileSum,
        /// The other hash in the same response.
        found: PackageHash,
    },
    #[error("the registry reports an invalid package hash: {0}")]
    Hash(HashError),
    #[error("the archive has the SHA-256 {found}, and should have {expected}")]
    WrongSum { expected: FileSum, found: FileSum },
    #[error("could not download the signature of its checksums: {0}")]
    NoSignature(Box<WebError>),
    #[error("its checksums are not signed as they should be: {0}")]
    Signature(SignatureError),
    #[error("the registry names no key that its checksums are signed with{}", .0.why())]
    Unsigned(Enforced),
    #[error(
        "its checksums are signed with the key {key}, which expired on {when}, and OPENTOFU_ENFORCE_GPG_EXPIRATION is set"
    )]
    Expired { key: String, when: String },
}

/// Why a signature is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforced {
    Setting,
    /// Not the default host.
    Host,
}

impl Enforced {
    fn why(self) -> &'static str {
        match self {
            Self::Setting => ", and OPENTOFU_ENFORCE_GPG_VALIDATION is set",
            Self::Host => {
                ", which only the default registry may do; its operator has to add the publisher's key"
            }
        }
    }
}

impl RegistryError {
    pub(crate) fn class(&self) -> FailureClass {
        match self {
            Self::NoService { .. } | Self::UnknownProvider { .. } | Self::UnknownPackage { .. } => {
                FailureClass::Absent
            }
            Self::Web { error, .. } => error.class(),
            Self::Package { fault, .. } => fault.class(),
            Self::InvalidService { .. } => FailureClass::Refused,
        }
    }

    /// Advice, for a help line.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Web { error, .. }
            | Self::Package {
                fault: PackageFault::NoSums(error) | PackageFault::NoSignature(error), ..
            } => error.help(),
            Self::NoService { .. }
            | Self::InvalidService { .. }
            | Self::UnknownProvider { .. }
            | Self::UnknownPackage { .. }
            | Self::Package { .. } => None,
        }
    }

    pub(crate) fn web(address: &ProviderAddress, error: WebError) -> Self {
        Self::Web { address: address.clone(), error: Box::new(error) }
    }
}

impl PackageFault {
    pub(crate) fn class(&self) -> FailureClass {
        match self {
            Self::NoSums(error) | Self::NoSignature(error) => error.class(),
            Self::Platform { .. }
            | Self::FileName(_)
            | Self::Url(_)
            | Self::Sum(_)
            | Self::Sums(_)
            | Self::NotListed(_)
            | Self::OtherSum { .. }
            | Self::OtherHash { .. }
            | Self::Hash(_)
            | Self::WrongSum { .. }
            | Self::Signature(_)
            | Self::Unsigned(_)
            | Self::Expired { .. } => FailureClass::Refused,
        }
    }
}
