//! Installs Terraform providers as `terraform init` and `tofu init` do.
//!
//! An [`Installer`] turns a [`ProviderAddress`] and a [`VersionConstraint`] into a verified
//! provider binary in a [`ProviderCache`]. A [`CliConfig`] configures its origins: registries,
//! mirrors in directories, servers or OCI repositories, and development overrides. Packages are
//! verified by checksums and signatures, and may be pinned in a [`LockFile`]. See
//! `examples/resolve.rs`.

#![warn(missing_docs)]

mod address;
mod auth;
mod cache;
mod checksums;
mod cli_config;
mod constraint;
mod diagnosis;
mod download;
mod executable;
mod failure;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hashes;
mod hcl;
mod installer;
mod lock_file;
mod mirror;
mod registry;
mod shown;
mod signature;
mod unpack;
mod web;

pub use address::{AddressError, DEFAULT_HOST, DEFAULT_NAMESPACE, ProviderAddress};
pub use cache::{
    AlteredError, CachedPackage, Inventory, ProviderCache, Removal, RunningPrograms, UnverifiedReason,
    Verification, address_of, check_program,
};
pub use checksums::FileSum;
pub use cli_config::{CliConfig, CliConfigError, implied_mirrors};
pub use constraint::{ConstraintError, VersionConstraint};
pub use diagnosis::{Probe, Trouble, configured_proxy, invalid_proxy, unread_authorities, unread_mirrors};
pub use download::Progress;
pub use executable::find_executable;
pub use hashes::{PackageForm, PackageHash, SumError};
pub use installer::{
    Delivery, InstallError, InstallEvent, Installed, Installer, Origins, Overridden, SignaturePolicy,
};
pub use isthmus_common::Platform;
pub use lock_file::{LOCK_FILE_NAME, LockFile, LockFileError, NotLocked, OtherPackage, ProviderLock};
pub use mirror::{FilesystemMirror, MirrorError, MirrorWriter, Sources};
pub use registry::{NoVersion, choose};
