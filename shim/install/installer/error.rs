//! Errors of installations.

use std::io;
use std::path::{Path, PathBuf};

use isthmus_common::listed;
use semver::Version;

use crate::cache::{AlteredError, NotCached};
use crate::failure::FailureClass;
use crate::mirror::RemoteMirrorError;
use crate::registry::{NoVersion, RegistryError};
use crate::unpack::UnpackError;
use crate::web::WebError;
use crate::{MirrorError, NotLocked, PackageHash, ProviderAddress, SumError, VersionConstraint};

/// An installation failed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The registry failed.
    #[error(transparent)]
    Registry(RegistryError),
    /// No version matches.
    #[error(transparent)]
    NoVersion(Box<NoVersion>),
    /// The network is not used.
    #[error("the network is not used: {why}")]
    NoNetwork {
        /// The reason.
        why: String,
    },
    /// The configuration has no method for it.
    #[error(
        "no installation method for {} is configured at {place}; add one to the block provider_installation, or include the \
         provider in one that is there", address.for_display()
    )]
    NoSource {
        /// The provider.
        address: ProviderAddress,
        /// Position of the methods in the configuration.
        place: String,
    },
    /// A mirror does not have it.
    #[error("{mirror} does not have {what}")]
    NotMirrored {
        /// The mirror.
        mirror: String,
        /// What it does not have.
        what: String,
    },
    /// No origin has it, each with its own reason.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Nowhere(Vec<Self>),
    /// A filesystem mirror failed.
    #[error("{}", isthmus_common::error_chain(.0))]
    Mirror(MirrorError),
    /// A network or OCI mirror failed.
    #[error("{}", isthmus_common::error_chain(.0))]
    RemoteMirror(RemoteMirrorError),
    /// A mirror's package does not match its hashes.
    #[error(
        "{address} {version} is not installed: the archive that {mirror} gives has the sum {found}, and none of those that it \
         names ({})", listed(.known)
    )]
    OtherThanMirrored {
        /// The provider.
        address: ProviderAddress,
        /// The version.
        version: Version,
        /// The mirror.
        mirror: String,
        /// The expected hashes.
        known: Vec<PackageHash>,
        /// The actual hash.
        found: PackageHash,
    },
    /// There is no lock file where one is to be.
    #[error("the lock file {} does not exist", path.display())]
    NoLockFile {
        /// The lock file.
        path: PathBuf,
    },
    /// It is not in the lock file.
    #[error("{}", not_in_lock(path, address, constraint, locked.as_ref()))]
    NotInLock {
        /// The lock file.
        path: PathBuf,
        /// The provider.
        address: ProviderAddress,
        /// The requested versions.
        constraint: VersionConstraint,
        /// The locked version, if any.
        locked: Option<Version>,
    },
    /// The package does not match the lock file.
    #[error("{}", isthmus_common::error_chain(.0))]
    Locked(NotLocked),
    /// A package cannot be hashed.
    #[error("{}", isthmus_common::error_chain(.0))]
    Sum(SumError),
    /// A development override has no provider.
    #[error("dev_overrides at {place} names the directory {}, which contains no binary called {program}; build it there", directory.display())]
    NoOverride {
        /// The directory.
        directory: PathBuf,
        /// The name of the binary.
        program: String,
        /// Position of the override in the configuration.
        place: String,
    },
    /// A development override cannot be read.
    #[error("dev_overrides at {place} names the directory {}, which cannot be read", directory.display())]
    Override {
        /// The directory.
        directory: PathBuf,
        /// Position of the override in the configuration.
        place: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A binary in the cache is not verified, and signatures are enforced.
    #[error(
        "{address} {version} in the cache is {verification}, and OPENTOFU_ENFORCE_GPG_VALIDATION is set: {error}"
    )]
    Enforced {
        /// The provider.
        address: ProviderAddress,
        /// The version.
        version: Version,
        /// Its verification.
        verification: &'static str,
        /// Why it could not be verified. Part of the text.
        error: Box<Self>,
    },
    /// A mirror has the provider of the same name from the other public registry.
    #[error("{error}; {mirror} has {address}, which is another provider")]
    OtherRegistry {
        /// The failure. Part of the text.
        error: Box<Self>,
        /// The mirror.
        mirror: String,
        /// The address in the mirror.
        address: ProviderAddress,
    },
    /// No origin has it, and another one has a similar name.
    #[error("{error}")]
    Similar {
        /// The failure. Part of the text.
        error: Box<Self>,
        /// The other provider, as users write it.
        similar: String,
    },
    /// No origin can be reached, and the cache has none.
    #[error("{error}; {cached}")]
    Unreachable {
        /// The cause. Part of the text.
        error: Box<Self>,
        /// The matching search in the cache.
        cached: Box<NotCached>,
    },
    /// The package supports no known protocol, in contrast to the list of versions.
    #[error("{address} {version} supports no known version of the plugin protocol, which are 5 and 6")]
    Protocols {
        /// The provider.
        address: ProviderAddress,
        /// The version.
        version: Version,
    },
    /// The download failed.
    #[error("the archive of {address} cannot be downloaded: {error}")]
    Download {
        /// The provider.
        address: ProviderAddress,
        /// The cause. Part of the text.
        error: Box<WebError>,
    },
    /// The archive is refused.
    #[error(transparent)]
    Unpack(UnpackError),
    /// There is no provider binary in the archive.
    #[error("the archive for {} contains no binary called {program}", archive_of.display())]
    NoProgram {
        /// The version's directory.
        archive_of: PathBuf,
        /// The name of the binary.
        program: String,
    },
    /// The binary was altered.
    #[error(transparent)]
    Altered(AlteredError),
    /// A mirror's unpacked package cannot be copied.
    #[error("the package {} cannot be copied into the cache", directory.display())]
    Copy {
        /// The package.
        directory: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The cache cannot be written.
    #[error("{} cannot be written; set PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR to a directory that can", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl InstallError {
    /// The effect on a binary in the cache.
    pub(crate) fn class(&self) -> FailureClass {
        match self {
            Self::Registry(error) => error.class(),
            Self::NoVersion(none) => none.class(),
            Self::RemoteMirror(error) => error.class(),
            Self::Download { error, .. } => error.class(),
            Self::Unreachable { error, .. }
            | Self::Enforced { error, .. }
            | Self::OtherRegistry { error, .. }
            | Self::Similar { error, .. } => error.class(),
            // Without any origin there is `NoSource` instead.
            Self::Nowhere(errors) => errors.iter().map(Self::class).max().unwrap_or(FailureClass::Refused),
            Self::NotMirrored { .. } => FailureClass::Absent,
            Self::NoNetwork { .. } => FailureClass::Unreachable,
            Self::NoSource { .. }
            | Self::Mirror(_)
            | Self::OtherThanMirrored { .. }
            | Self::NoLockFile { .. }
            | Self::NotInLock { .. }
            | Self::Locked(_)
            | Self::Sum(_)
            | Self::NoOverride { .. }
            | Self::Override { .. }
            | Self::Protocols { .. }
            | Self::Unpack(_)
            | Self::NoProgram { .. }
            | Self::Altered(_)
            | Self::Copy { .. }
            | Self::Write { .. } => FailureClass::Refused,
        }
    }

    /// Whether the next origin may be tried: this one does not have the provider, or the network is
    /// not used. An unreachable origin is not skipped: that would query a public registry because a
    /// private mirror is down.
    pub(crate) fn allows_next_origin(&self) -> bool {
        match self {
            Self::NoNetwork { .. } => true,
            Self::Nowhere(errors) => errors.iter().all(Self::allows_next_origin),
            error => error.class() == FailureClass::Absent,
        }
    }

    /// Combines the errors of several origins.
    pub(super) fn nowhere(mut absences: Vec<Self>) -> Box<Self> {
        match absences.len() {
            1 => Box::new(absences.remove(0)),
            _ => Box::new(Self::Nowhere(absences)),
        }
    }

    /// Adds the contents of the cache, if they might help.
    pub(super) fn beside(self: Box<Self>, cached: Box<NotCached>) -> Box<Self> {
        match self.class() {
            FailureClass::Unreachable => Box::new(Self::Unreachable { error: self, cached }),
            FailureClass::Absent | FailureClass::Refused => self,
        }
    }

    /// Advice, in help lines.
    pub fn help(&self) -> Vec<String> {
        match self {
            Self::Registry(error) => error.help().into_iter().collect(),
            Self::RemoteMirror(RemoteMirrorError::Web(error)) => error.help().into_iter().collect(),
            Self::Download { error, .. } => error.help().into_iter().collect(),
            Self::Mirror(error) => error.help().into_iter().map(str::to_owned).collect(),
            Self::NoNetwork { .. } => vec![
                "install from a filesystem mirror (`isthmus providers mirror`, `provider_installation` in the CLI configuration)"
                    .to_owned(),
            ],
            Self::Nowhere(errors) => {
                let mut lines = Vec::new();
                for line in errors.iter().flat_map(Self::help) {
                    if !lines.contains(&line) {
                        lines.push(line);
                    }
                }
                lines
            }
            Self::NoLockFile { path } => vec![format!(
                "name another file, or create it by `isthmus install PROVIDER --lock --lock-file {}`",
                path.display()
            )],
            Self::Enforced { error, .. } => error.help(),
            Self::OtherRegistry { error, address, .. } => {
                let mut lines = error.help();
                lines.push(format!("use the mirrored provider by its whole address, {address}"));
                lines
            }
            Self::Similar { error, similar } => {
                let mut lines = vec![format!("did you mean {similar}?")];
                lines.extend(error.help());
                lines
            }
            Self::Unreachable { error, cached } => {
                let mut lines = error.help();
                lines.push(cached.help());
                lines
            }
            // The others have their advice in the text, or none.
            _ => Vec::new(),
        }
    }
}

/// Errors that are passed on unchanged.
macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for Box<InstallError> {
            fn from(error: $source) -> Self {
                Self::new(InstallError::$variant(error))
            }
        }
    )*};
}

from! {
    AlteredError => Altered,
    Box<NoVersion> => NoVersion,
    MirrorError => Mirror,
    NotLocked => Locked,
    RegistryError => Registry,
    RemoteMirrorError => RemoteMirror,
    SumError => Sum,
    UnpackError => Unpack,
}

fn not_in_lock(
    path: &Path,
    address: &ProviderAddress,
    constraint: &VersionConstraint,
    locked: Option<&Version>,
) -> String {
    let (path, provider) = (path.display(), address.for_display());
    match locked {
        None => format!(
            "the lock file {path} does not know {provider}; add it by `isthmus install {provider} --lock`"
        ),
        Some(locked) => format!(
            "the lock file {path} has {provider} {locked}, which \"{constraint}\" does not allow; ask for that version, or lock \
             another one by `isthmus install {provider} \"{constraint}\" --lock --upgrade`"
        ),
    }
}
