//! The places that providers come from, and how each of them is asked.
//!
//! What a user has configured decides which places have a provider, and in which order ([`Sources`]). A place that does not know the
//! provider is passed over. One that fails is not: to go on to the next one would ask a public registry behind the back of
//! somebody whose mirror is down.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use semver::Version;

use super::super::executable::find_in_folder;
use super::super::registry::{ListedVersion, Listing, RegistryClient, RegistryPackage};
use super::super::web::{WebClient, shown_text};
use super::super::{
    FilesystemMirror, NetworkMirror, OciAuthenticator, OciMirror, PackageForm, Platform, ProviderAddress,
    ProviderCache, RemoteMirrorError, RemotePackage, SourceKind, Sources,
};
use super::{InstallError, blocking, from_registry, memory};

/// Where providers come from.
#[derive(Clone, Debug)]
pub struct Origins {
    sources: Arc<Sources>,
    /// Or why there is none.
    network: Result<Network, String>,
}

#[derive(Clone, Debug)]
struct Network {
    registry: RegistryClient,
    authority: Arc<OciAuthenticator>,
}

/// A provider that is used as it lies in a directory, because its developers want that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overridden {
    /// Its program.
    pub executable: PathBuf,
    /// What the user is to be told.
    pub warning: String,
}

/// One place that may have a provider.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    Registry(RegistryClient),
    Filesystem(FilesystemMirror),
    Network {
        mirror: NetworkMirror,
        url: String,
        web: WebClient,
    },
    Oci {
        mirror: OciMirror,
        template: String,
        web: WebClient,
    },
    /// One behind a network that is not there, for this reason.
    Closed(String),
}

/// The package of a version, as a place offers it.
#[derive(Clone, Debug)]
pub(super) enum Offer {
    /// By a registry, with sums and signatures.
    Published { registry: RegistryClient, package: RegistryPackage },
    /// By a mirror behind a network, with sums or without.
    Mirrored { web: WebClient, package: RemotePackage },
    /// By a directory.
    Local(PackageForm),
}

impl Origins {
    /// These sources, and who asks those behind a network.
    pub fn new(sources: Sources, registry: RegistryClient, authority: OciAuthenticator) -> Self {
        let network = Network { registry, authority: Arc::new(authority) };
        Self { sources: Arc::new(sources), network: Ok(network) }
    }

    /// Those of these sources that need no network, for a reason that is told to whoever misses a provider.
    pub fn offline(sources: Sources, why: impl Into<String>) -> Self {
        Self { sources: Arc::new(sources), network: Err(why.into()) }
    }

    /// What time it is, by the clock of those who ask.
    pub(super) fn now(&self) -> SystemTime {
        match &self.network {
            Ok(network) => network.registry.web().clock().now(),
            Err(_) => SystemTime::now(),
        }
    }

    /// Whether there is no network.
    pub(super) fn is_offline(&self) -> bool {
        self.network.is_err()
    }

    /// Where a provider's developers want it to be taken from.
    pub(super) fn overridden(
        &self,
        address: &ProviderAddress,
    ) -> Option<Result<Overridden, Box<InstallError>>> {
        let over = self.sources.dev_override(address)?;
        let program = format!("terraform-provider-{}", address.provider_type());
        let (folder, warning) = (over.folder.to_owned(), over.warning);
        Some(match find_in_folder(&folder, &program) {
            Ok(Some(executable)) => Ok(Overridden { executable, warning }),
            Ok(None) => Err(Box::new(InstallError::NoOverride { folder, program, place: self.place() })),
            Err(source) => Err(Box::new(InstallError::Override { folder, place: self.place(), source })),
        })
    }

    /// The places that may have a provider, best first.
    pub(super) fn of(&self, address: &ProviderAddress) -> Result<Vec<Origin>, Box<InstallError>> {
        let origins = self.sources.of(address).map(|kind| self.origin(kind));
        let origins = origins.collect::<Result<Vec<_>, _>>()?;
        if origins.is_empty() {
            return Err(Box::new(InstallError::NoSource { address: address.clone(), place: self.place() }));
        }
        Ok(origins)
    }

    /// Where the configuration says where providers come from.
    fn place(&self) -> String {
        self.sources.place().to_owned()
    }

    fn origin(&self, kind: &SourceKind) -> Result<Origin, Box<InstallError>> {
        let Network { registry, authority } = match (&self.network, kind) {
            (Ok(network), _) => network,
            (Err(_), SourceKind::Filesystem(mirror)) => return Ok(Origin::Filesystem(mirror.clone())),
            (Err(why), _) => return Ok(Origin::Closed(why.clone())),
        };
        let web = |retries: &Option<u32>| registry.web().clone().with_download_retries(*retries);
        Ok(match kind {
            SourceKind::Filesystem(mirror) => Origin::Filesystem(mirror.clone()),
            SourceKind::Registry { download_retry_count } => {
                Origin::Registry(registry.clone().with_web(web(download_retry_count)))
            }
            SourceKind::Network { url, download_retry_count, trust_all_hashes } => Origin::Network {
                mirror: NetworkMirror::new(url, *trust_all_hashes).map_err(from_mirror)?,
                url: url.clone(),
                web: web(download_retry_count),
            },
            SourceKind::Oci(template) => Origin::Oci {
                mirror: OciMirror::new(template.clone(), Arc::clone(authority)),
                template: template.text().to_owned(),
                web: registry.web().clone(),
            },
        })
    }
}

impl Origin {
    /// The versions of a provider that it has. What a registry answers is remembered for a while.
    pub(super) async fn versions(
        &self,
        cache: &ProviderCache,
        address: &ProviderAddress,
    ) -> Result<Listing, Box<InstallError>> {
        let absent = || self.absent(address, None);
        let listed = |versions: Vec<Version>| Listing {
            versions: versions.into_iter().map(ListedVersion::of_unknown_kind).collect(),
            warnings: Vec::new(),
        };
        match self {
            Self::Registry(registry) => match memory::recall(cache, address, registry.web().clock().now()) {
                Some(listing) => Ok(listing),
                None => self.versions_now(cache, address).await,
            },
            Self::Filesystem(mirror) => {
                let (mirror, wanted) = (mirror.clone(), address.clone());
                let packages = blocking(move || mirror.packages(&wanted)).await;
                let mut versions: BTreeMap<Version, Vec<String>> = BTreeMap::new();
                for package in packages.map_err(|error| Box::new(InstallError::Mirror(error)))? {
                    versions.entry(package.version).or_default().push(package.platform.to_string());
                }
                if versions.is_empty() {
                    return Err(absent());
                }
                let listed = versions.into_iter().map(|(version, platforms)| ListedVersion {
                    platforms,
                    ..ListedVersion::of_unknown_kind(version)
                });
                Ok(Listing { versions: listed.collect(), warnings: Vec::new() })
            }
            Self::Network { mirror, web, .. } => {
                let versions = mirror.versions(web, address).await.map_err(from_mirror)?;
                versions.map(listed).ok_or_else(absent)
            }
            Self::Oci { mirror, web, .. } => {
                let versions = mirror.versions(web, address).await.map_err(from_mirror)?;
                versions.map(listed).ok_or_else(absent)
            }
            Self::Closed(why) => Err(Box::new(InstallError::NoNetwork { why: why.clone() })),
        }
    }

    /// The same, whatever is remembered.
    pub(super) async fn versions_now(
        &self,
        cache: &ProviderCache,
        address: &ProviderAddress,
    ) -> Result<Listing, Box<InstallError>> {
        let Self::Registry(registry) = self else { return Box::pin(self.versions(cache, address)).await };
        let listing = registry.versions(address).await.map_err(from_registry)?;
        memory::remember(cache, address, &listing, registry.web().clock().now());
        Ok(listing)
    }

    /// The package of a version.
    pub(super) async fn offer(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
    ) -> Result<Offer, Box<InstallError>> {
        let absent = |error: RemoteMirrorError| match error {
            RemoteMirrorError::Web(error) if error.is_not_found() => {
                self.absent(address, Some((version, platform)))
            }
            error => from_mirror(error),
        };
        match self {
            Self::Registry(registry) => {
                let package = registry.package(address, version, platform).await.map_err(from_registry)?;
                Ok(Offer::Published { registry: registry.clone(), package })
            }
            Self::Filesystem(mirror) => {
                let (mirror, wanted, number) = (mirror.clone(), address.clone(), version.clone());
                let package = blocking(move || mirror.package(&wanted, &number, platform)).await;
                let package = package.map_err(|error| Box::new(InstallError::Mirror(error)))?;
                let package = package.ok_or_else(|| self.absent(address, Some((version, platform))))?;
                Ok(Offer::Local(package.form))
            }
            Self::Network { mirror, web, .. } => {
                let package = mirror.package(web, address, version, platform).await.map_err(absent)?;
                Ok(Offer::Mirrored { web: web.clone(), package })
            }
            Self::Oci { mirror, web, .. } => {
                let package = mirror.package(web, address, version, platform).await.map_err(absent)?;
                Ok(Offer::Mirrored { web: web.clone(), package })
            }
            Self::Closed(why) => Err(Box::new(InstallError::NoNetwork { why: why.clone() })),
        }
    }

    /// Whether it is a mirror; one behind a network, if that can be reached.
    pub(super) fn is_mirror(&self, is_reachable: bool) -> bool {
        match self {
            Self::Filesystem(_) => true,
            Self::Network { .. } | Self::Oci { .. } => is_reachable,
            Self::Registry(_) | Self::Closed(_) => false,
        }
    }

    /// Where it is, for the record of what comes from it.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Registry(_) | Self::Closed(_) => String::new(),
            Self::Filesystem(mirror) => mirror.root().display().to_string(),
            Self::Network { url, .. } => shown_text(url),
            Self::Oci { template, .. } => template.clone(),
        }
    }

    fn absent(&self, address: &ProviderAddress, package: Option<(&Version, Platform)>) -> Box<InstallError> {
        let what = match package {
            None => address.to_string(),
            Some((version, platform)) => format!("{address} {version} for {platform}"),
        };
        Box::new(InstallError::NotMirrored { mirror: self.to_string(), what })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(_) | Self::Closed(_) => formatter.write_str("the registry"),
            Self::Filesystem(_) | Self::Network { .. } => write!(formatter, "the mirror {}", self.place()),
            Self::Oci { .. } => write!(formatter, "the repository {}", self.place()),
        }
    }
}

fn from_mirror(error: RemoteMirrorError) -> Box<InstallError> {
    Box::new(InstallError::RemoteMirror(error))
}
