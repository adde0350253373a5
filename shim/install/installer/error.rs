//! What keeps a provider from being started.

use std::io;
use std::path::{Path, PathBuf};

use semver::Version;

use crate::cache::{AlteredError, NotCached};
use crate::failure::FailureClass;
use crate::mirror::RemoteMirrorError;
use crate::registry::{NoVersion, RegistryError};
use crate::unpack::UnpackError;
use crate::web::WebError;
use crate::{MirrorError, NotLocked, PackageHash, ProviderAddress, SumError, VersionConstraint};

/// A provider cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The registry does not give it, or gives something else.
    #[error(transparent)]
    Registry(RegistryError),
    /// No version will do.
    #[error(transparent)]
    NoVersion(Box<NoVersion>),
    /// There is no network.
    #[error("the network is not used: {why}")]
    NoNetwork {
        /// Why not.
        why: String,
    },
    /// The configuration has no place for it.
    #[error(
        "no installation method for {} is configured at {place}; add one to the block provider_installation, or include the \
         provider in one that is there", address.for_display()
    )]
    NoSource {
        /// Which provider.
        address: ProviderAddress,
        /// Where the methods are.
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
    /// No place has it, each for its own reason.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Nowhere(Vec<Self>),
    /// A directory that is a mirror cannot be used.
    #[error("{}", isthmus_common::error_chain(.0))]
    Mirror(MirrorError),
    /// A mirror behind a network cannot be used.
    #[error("{}", isthmus_common::error_chain(.0))]
    RemoteMirror(RemoteMirrorError),
    /// What a mirror has is not what it says.
    #[error(
        "{address} {version} is not installed: the archive that {mirror} gives has the sum {found}, and none of those that it \
         names ({})", .known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    OtherThanMirrored {
        /// Which provider.
        address: ProviderAddress,
        /// Which version.
        version: Version,
        /// The mirror.
        mirror: String,
        /// What it should have been.
        known: Vec<PackageHash>,
        /// What it is.
        found: PackageHash,
    },
    /// The lock file does not allow it.
    #[error("{}", not_in_lock(path, address, constraint, locked.as_ref()))]
    NotInLock {
        /// The lock file.
        path: PathBuf,
        /// Which provider.
        address: ProviderAddress,
        /// Which versions were wanted.
        constraint: VersionConstraint,
        /// Which one is locked, if any is.
        locked: Option<Version>,
    },
    /// It is not the package that the lock file knows.
    #[error("{}", isthmus_common::error_chain(.0))]
    Locked(NotLocked),
    /// A package cannot be summed up.
    #[error("{}", isthmus_common::error_chain(.0))]
    Sum(SumError),
    /// A directory that developers name has no provider.
    #[error("dev_overrides at {place} names the directory {}, which holds no program that is called {program}; build it there", directory.display())]
    NoOverride {
        /// The directory.
        directory: PathBuf,
        /// What the program would be called.
        program: String,
        /// Where the directory is named.
        place: String,
    },
    /// A directory that developers name cannot be read.
    #[error("dev_overrides at {place} names the directory {}, which cannot be read", directory.display())]
    Override {
        /// The directory.
        directory: PathBuf,
        /// Where it is named.
        place: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A binary in the cache is not verified, and signatures are enforced.
    #[error(
        "{address} {version} in the cache is {verification}, and OPENTOFU_ENFORCE_GPG_VALIDATION is set: {error}"
    )]
    Enforced {
        /// Which provider.
        address: ProviderAddress,
        /// Which version.
        version: Version,
        /// What it is instead.
        verification: &'static str,
        /// Why it could not be verified. It is told by this error itself.
        error: Box<Self>,
    },
    /// A mirror has the provider of the same name from the other public registry.
    #[error("{error}; {mirror} has {address}, which is another provider")]
    OtherRegistry {
        /// What failed. It is told by this error itself.
        error: Box<Self>,
        /// The mirror.
        mirror: String,
        /// What it has.
        address: ProviderAddress,
    },
    /// No origin can be reached, and the cache has none.
    #[error("{error}; {cached}")]
    Unreachable {
        /// Why not. It is told by this error itself.
        error: Box<Self>,
        /// What the cache has.
        cached: Box<NotCached>,
    },
    /// The archive speaks no protocol that is spoken here, whatever the list of versions says.
    #[error(
        "{address} {version} speaks no version of the plugin protocol that is spoken here, which are 5 and 6"
    )]
    Protocols {
        /// Which provider.
        address: ProviderAddress,
        /// Which version.
        version: Version,
    },
    /// The archive does not arrive.
    #[error("the archive of {address} cannot be downloaded: {error}")]
    Download {
        /// Which provider.
        address: ProviderAddress,
        /// Why not. It is told by this error itself.
        error: Box<WebError>,
    },
    /// The archive is refused.
    #[error(transparent)]
    Unpack(UnpackError),
    /// There is no provider in the archive.
    #[error("the archive for {} holds no program that is called {program}", archive_of.display())]
    NoProgram {
        /// Where it would go.
        archive_of: PathBuf,
        /// What it would be called.
        program: String,
    },
    /// What is there is not what was put there.
    #[error(transparent)]
    Altered(AlteredError),
    /// A mirror's unpacked package cannot be copied.
    #[error("the package {} cannot be copied into the cache", directory.display())]
    Copy {
        /// The package.
        directory: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// There is no place for it.
    #[error("{} cannot be written; set PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR to a directory that can", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl InstallError {
    /// What this means for a binary that is in the cache.
    pub(crate) fn class(&self) -> FailureClass {
        match self {
            Self::Registry(error) => error.class(),
            Self::NoVersion(none) => none.class(),
            Self::RemoteMirror(error) => error.class(),
            Self::Download { error, .. } => error.class(),
            Self::Unreachable { error, .. }
            | Self::Enforced { error, .. }
            | Self::OtherRegistry { error, .. } => error.class(),
            // Without any there was no origin to have it, which `NoSource` says.
            Self::Nowhere(errors) => errors.iter().map(Self::class).max().unwrap_or(FailureClass::Refused),
            Self::NotMirrored { .. } => FailureClass::Absent,
            Self::NoNetwork { .. } => FailureClass::Unreachable,
            Self::NoSource { .. }
            | Self::Mirror(_)
            | Self::OtherThanMirrored { .. }
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

    /// Whether the next origin may have the provider: this one does not, or is behind a network that is not used. An origin that
    /// cannot be reached is not passed over: that would query a public registry because a private mirror is down.
    pub(crate) fn allows_next_origin(&self) -> bool {
        match self {
            Self::NoNetwork { .. } => true,
            Self::Nowhere(errors) => errors.iter().all(Self::allows_next_origin),
            error => error.class() == FailureClass::Absent,
        }
    }

    /// Why none of several places has it.
    pub(super) fn nowhere(mut absences: Vec<Self>) -> Box<Self> {
        match absences.len() {
            1 => Box::new(absences.remove(0)),
            _ => Box::new(Self::Nowhere(absences)),
        }
    }

    /// The same, and what the cache has, where that might have helped.
    pub(super) fn beside(self: Box<Self>, cached: Box<NotCached>) -> Box<Self> {
        match self.class() {
            FailureClass::Unreachable => Box::new(Self::Unreachable { error: self, cached }),
            FailureClass::Absent | FailureClass::Refused => self,
        }
    }

    /// What to do about it, in lines of their own.
    pub fn help(&self) -> Vec<String> {
        match self {
            Self::Registry(error) => error.help().into_iter().collect(),
            Self::RemoteMirror(RemoteMirrorError::Web(error)) => error.help().into_iter().collect(),
            Self::Download { error, .. } => error.help().into_iter().collect(),
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
            Self::Enforced { error, .. } => error.help(),
            Self::OtherRegistry { error, address, .. } => {
                let mut lines = error.help();
                lines.push(format!("use the mirrored provider by its whole address, {address}"));
                lines
            }
            Self::Unreachable { error, cached } => {
                let mut lines = error.help();
                lines.push(cached.help());
                lines
            }
            // The others name what to do in their texts, or there is nothing.
            _ => Vec::new(),
        }
    }
}

/// Errors that are told as they are, whatever was being done.
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
