//! What keeps a provider from being started.

use std::io;
use std::path::PathBuf;

use semver::Version;

use super::{NoVersion, RegistryError};
use crate::install::cache::AlteredError;
use crate::install::web::WebError;
use crate::install::{NotCached, ProviderAddress, UnpackError};

/// A provider cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The registry does not give it, or gives something else.
    #[error(transparent)]
    Registry(RegistryError),
    /// No version will do.
    #[error(transparent)]
    NoVersion(Box<NoVersion>),
    /// No registry is to be asked.
    #[error("no registry is asked, because {why}")]
    NoRegistry {
        /// Why not.
        why: String,
    },
    /// No registry can be asked, and the cache has none.
    #[error("{error}. And {cached}")]
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
    /// There is no place for it.
    #[error("{} cannot be written; set PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR to a folder that can", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl InstallError {
    /// Whether something was found to be other than it should be, rather than not found.
    pub(super) fn is_verdict(&self) -> bool {
        matches!(self, Self::Altered(_))
    }

    /// The same, and what the cache has, where that might have helped.
    pub(super) fn beside(self: Box<Self>, cached: Box<NotCached>) -> Box<Self> {
        let unreachable = match &*self {
            Self::Registry(source) => source.is_unreachable(),
            Self::Download { error, .. } => error.is_unreachable(),
            Self::NoRegistry { .. } => true,
            _ => false,
        };
        if unreachable { Box::new(Self::Unreachable { error: self, cached }) } else { self }
    }
}
