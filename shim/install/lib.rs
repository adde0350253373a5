//! Installs Terraform providers as `terraform init` and `tofu init` do.
//!
//! An [`Installer`] turns a [`ProviderAddress`] and a [`VersionConstraint`] into a verified provider binary in a
//! [`ProviderCache`]. Where it looks is said by a [`CliConfig`]: registries, mirrors that are directories, servers or OCI
//! repositories, and development overrides. What it installs is checked against checksums and signatures, and a [`LockFile`]
//! may pin it. `examples/resolve.rs` is a whole program.

#![warn(missing_docs)]

mod address;
mod cache;
mod checksums;
mod cli_config;
mod constraint;
mod download;
mod environment;
mod executable;
mod failure;
mod hashes;
mod hcl1;
mod installer;
mod lock_file;
mod mirror;
mod registry;
mod signature;
mod unpack;
pub mod web;

pub use address::{AddressError, DEFAULT_HOST, DEFAULT_NAMESPACE, PartFault, ProviderAddress};
pub use cache::{
    AlteredError, CachedPackage, CachedProvider, Inventory, NotCached, PassedOver, ProviderCache, Removal,
    RunningPrograms, Skipped, Unfinished, UnverifiedReason, Verification, check_program,
};
pub use checksums::{Checksums, ChecksumsError, FileSum, FileSumError};
pub use cli_config::{
    CliConfig, CliConfigError, ConfigFault, ConfigWarning, ConfiguredCredentials, CredentialsHelper,
    InstallationMethod, MethodLocation, OciCredentials, OciDefaultCredentials, OciPrefix, OciPrefixFault,
    OciRepository, OciSecret, PatternError, PatternFault, ProviderInstallation, ProviderPattern,
    RegistryProtocols, RepositoryTemplate, TemplateFault,
};
pub use constraint::{ConstraintError, ConstraintFault, VersionConstraint};
pub use download::{DownloadError, Progress, download};
pub use environment::Environment;
pub use executable::find_executable;
pub use failure::FailureClass;
pub use hashes::{HashError, HashScheme, LocalPackage, PackageHash, SumError};
pub use hcl1::{Position, SyntaxFault};
pub use installer::{
    Delivery, InstallError, InstallEvent, Installed, Installer, Listener, Origins, Overridden,
    SignaturePolicy,
};
pub use isthmus_common::Platform;
pub use lock_file::{
    LOCK_FILE_NAME, LockFault, LockFile, LockFileError, NotLocked, OtherPackage, ProviderLock,
};
pub use mirror::{
    DevOverride, FilesystemMirror, MirrorError, MirrorWriter, MirroredPackage, MissingPlatform,
    NetworkMirror, OciAuthenticator, OciMirror, PackageForm, RemoteMirrorError, RemotePackage, Source,
    SourceKind, Sources,
};
pub use registry::{
    Chosen, Enforced, ListedVersion, Listing, NoVersion, PackageFault, RegistryClient, RegistryError,
    RegistryPackage, ServiceOverrides, choose,
};
pub use signature::{SignatureError, SignatureFault, Signed, verify as verify_signature};
pub use unpack::{UnpackError, UnpackFault, UnpackLimits, unpack};
