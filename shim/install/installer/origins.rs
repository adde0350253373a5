//! Origins of providers, and queries of them.
//!
//! The configuration determines the origins of a provider and their order ([`Sources`]). An origin
//! that does not have the provider is skipped. One that fails is not: the next one may be a public
//! registry, which must not be queried because a mirror is down.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use isthmus_common::{Environment, blocking};
use semver::Version;

use super::{InstallError, memory};
use crate::auth::OciAuthenticator;
use crate::cli_config::MethodLocation;
use crate::diagnosis::Probe;
use crate::executable::find_in_directory;
use crate::mirror::{NetworkMirror, OciMirror, RemoteMirrorError, RemotePackage};
use crate::registry::{ListedVersion, Listing, RegistryClient, RegistryPackage};
use crate::shown::shown_text;
use crate::web::WebClient;
use crate::{CliConfig, FilesystemMirror, PackageForm, Platform, ProviderAddress, ProviderCache, Sources};

/// Origins of providers.
#[derive(Clone, Debug)]
pub struct Origins {
    sources: Arc<Sources>,
    /// The network, or why it is not used.
    network: Result<Network, String>,
}

#[derive(Clone, Debug)]
struct Network {
    registry: RegistryClient,
    authenticator: Arc<OciAuthenticator>,
}

/// A development override in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overridden {
    /// The provider binary.
    pub executable: PathBuf,
    /// The warning about it.
    pub warning: String,
}

/// An origin of a provider.
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
    /// An origin that needs the network, which is not used for this reason.
    Closed(String),
}

/// The package of a version, as offered by an origin.
#[derive(Clone, Debug)]
pub(super) enum Offer {
    /// By a registry, with checksums and signatures.
    Published {
        registry: RegistryClient,
        package: RegistryPackage,
    },
    /// By a network mirror, with or without hashes.
    Mirrored {
        web: WebClient,
        package: RemotePackage,
    },
    Local(PackageForm),
}

impl Origins {
    /// Origins from these sources, with the network settings of the configuration and the
    /// environment. Reads credentials files.
    pub fn new(sources: Sources, config: &CliConfig, environment: &Environment) -> Self {
        let registry = RegistryClient::new(config.web_client(environment), config.hosts.clone());
        Self::asked_by(sources, registry, config.oci_authenticator(environment))
    }

    /// Origins from these sources, with these clients.
    pub(super) fn asked_by(
        sources: Sources,
        registry: RegistryClient,
        authenticator: OciAuthenticator,
    ) -> Self {
        let network = Network { registry, authenticator: Arc::new(authenticator) };
        Self { sources: Arc::new(sources), network: Ok(network) }
    }

    /// Credentials files that could not be read, and have no effect.
    pub fn warnings(&self) -> &[String] {
        self.network.as_ref().map_or(&[], |network| &network.authenticator.warnings)
    }

    /// Origins from these sources without the network, for a reason that errors contain.
    pub fn offline(sources: Sources, why: impl Into<String>) -> Self {
        Self { sources: Arc::new(sources), network: Err(why.into()) }
    }

    /// The current time of the clients' clock.
    pub(super) fn now(&self) -> SystemTime {
        match &self.network {
            Ok(network) => network.registry.web().clock().now(),
            Err(_) => SystemTime::now(),
        }
    }

    /// Whether the network is not used.
    pub(super) fn is_offline(&self) -> bool {
        self.network.is_err()
    }

    /// The development override of a provider.
    pub(super) fn overridden(
        &self,
        address: &ProviderAddress,
    ) -> Option<Result<Overridden, Box<InstallError>>> {
        let directory = self.sources.dev_override(address)?.to_owned();
        let program = format!("terraform-provider-{}", address.provider_type());
        let warning = format!(
            "the provider {} is taken as it lies in {}, because dev_overrides says so at {}: neither its version nor its sum is \
             looked at",
            address.for_display(),
            directory.display(),
            self.place()
        );
        Some(match find_in_directory(&directory, &program) {
            Ok(Some(executable)) => Ok(Overridden { executable, warning }),
            Ok(None) => Err(Box::new(InstallError::NoOverride { directory, program, place: self.place() })),
            Err(source) => Err(Box::new(InstallError::Override { directory, place: self.place(), source })),
        })
    }

    /// The origins of a provider, best first.
    pub(super) fn of(&self, address: &ProviderAddress) -> Result<Vec<Origin>, Box<InstallError>> {
        let origins = self.sources.of(address).map(|kind| self.origin(kind));
        let origins = origins.collect::<Result<Vec<_>, _>>()?;
        if origins.is_empty() {
            return Err(Box::new(InstallError::NoSource { address: address.clone(), place: self.place() }));
        }
        Ok(origins)
    }

    /// Whether a mirror, as it is recorded with what came from it, is an origin of a provider.
    pub(super) fn have_mirror(&self, address: &ProviderAddress, mirror: &str) -> bool {
        self.sources.of(address).any(|location| match location {
            MethodLocation::Direct { .. } => false,
            MethodLocation::FilesystemMirror { path, .. } => {
                FilesystemMirror::new(path).root().display().to_string() == mirror
            }
            MethodLocation::NetworkMirror { url, .. } => shown_text(url) == mirror,
            MethodLocation::OciMirror { repository } => repository.text() == mirror,
        })
    }

    /// Position of the installation methods in the configuration.
    fn place(&self) -> String {
        self.sources.place().to_owned()
    }

    fn origin(&self, location: &MethodLocation) -> Result<Origin, Box<InstallError>> {
        let Network { registry, authenticator } = match (&self.network, location) {
            (_, MethodLocation::FilesystemMirror { path, place }) => {
                return Ok(Origin::Filesystem(FilesystemMirror::new(path).configured_at(place)));
            }
            (Err(why), _) => return Ok(Origin::Closed(why.clone())),
            (Ok(network), _) => network,
        };
        let web = |retries: &Option<u32>| registry.web().clone().with_download_retries(*retries);
        Ok(match location {
            MethodLocation::FilesystemMirror { path, place } => {
                Origin::Filesystem(FilesystemMirror::new(path).configured_at(place))
            }
            MethodLocation::Direct { download_retry_count } => {
                Origin::Registry(registry.clone().with_web(web(download_retry_count)))
            }
            MethodLocation::NetworkMirror { url, download_retry_count, trust_all_hashes } => {
                Origin::Network {
                    mirror: NetworkMirror::new(url, *trust_all_hashes)?,
                    url: url.clone(),
                    web: web(download_retry_count),
                }
            }
            MethodLocation::OciMirror { repository } => Origin::Oci {
                mirror: OciMirror::new(repository.clone(), Arc::clone(authenticator)),
                template: repository.text().to_owned(),
                web: registry.web().clone(),
            },
        })
    }

    /// Queries the origins of a provider once, without a cached answer and without a second attempt at a registry, until one has
    /// it.
    pub(super) async fn probe(
        &self,
        cache: &ProviderCache,
        address: &ProviderAddress,
    ) -> Result<Probe, Box<InstallError>> {
        let mut absences = Vec::new();
        for origin in self.of(address)? {
            let answer = match &origin {
                Origin::Registry(registry) => registry.probe(address).await.map_err(Into::into),
                other => other.versions(cache, address, true).await.map(|_| None),
            };
            match answer {
                Ok(date) => return Ok(Probe { origin: origin.to_string(), date }),
                Err(error) if error.allows_next_origin() => absences.push(*error),
                Err(error) => return Err(error),
            }
        }
        Err(InstallError::nowhere(absences))
    }

    /// The package of a version from the first origin that has it, and that origin's location. The
    /// next one is queried only if an origin does not have the package.
    pub(super) async fn offer(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
    ) -> Result<(Offer, String), Box<InstallError>> {
        let mut absences = Vec::new();
        for origin in self.of(address)? {
            match origin.offer(address, version, platform).await {
                Ok(offer) => return Ok((offer, origin.place())),
                Err(error) if error.allows_next_origin() => absences.push(*error),
                Err(error) => return Err(error),
            }
        }
        Err(InstallError::nowhere(absences))
    }

    /// The available versions of a provider, from the best origin if several have one; `now`
    /// ignores cached lists.
    pub(super) async fn listing(
        &self,
        cache: &ProviderCache,
        address: &ProviderAddress,
        now: bool,
    ) -> Result<Listing, Box<InstallError>> {
        let (mut all, mut known, mut absences) = (None::<Listing>, HashSet::new(), Vec::new());
        for origin in self.of(address)? {
            match origin.versions(cache, address, now).await {
                Ok(listing) => {
                    let all = all.get_or_insert_default();
                    let new = |listed: &ListedVersion| known.insert(listed.version.clone());
                    all.versions.extend(listing.versions.into_iter().filter(new));
                    all.warnings.extend(listing.warnings);
                }
                Err(error) if error.allows_next_origin() => absences.push(*error),
                Err(error) => return Err(error),
            }
        }
        all.ok_or_else(|| InstallError::nowhere(absences))
    }
}

impl Origin {
    /// The origin's versions of a provider. A registry's list is cached for a while; `now` queries
    /// it anyway.
    pub(super) async fn versions(
        &self,
        cache: &ProviderCache,
        address: &ProviderAddress,
        now: bool,
    ) -> Result<Listing, Box<InstallError>> {
        let absent = || self.absent(address, None);
        let listed = |versions: Vec<Version>| Listing {
            versions: versions.into_iter().map(ListedVersion::of_unknown_kind).collect(),
            warnings: Vec::new(),
        };
        match self {
            Self::Registry(registry) => {
                let time = registry.web().clock().now();
                let (known, wanted) = (cache.clone(), address.clone());
                if !now && let Some(listing) = blocking(move || memory::recall(&known, &wanted, time)).await {
                    return Ok(listing);
                }
                let listing = registry.versions(address).await?;
                let (known, wanted, answer) = (cache.clone(), address.clone(), listing.clone());
                blocking(move || memory::remember(&known, &wanted, &answer, time)).await;
                Ok(listing)
            }
            Self::Filesystem(mirror) => {
                let (mirror, wanted) = (mirror.clone(), address.clone());
                let packages = blocking(move || mirror.packages(&wanted)).await;
                let mut versions: BTreeMap<Version, Vec<String>> = BTreeMap::new();
                for package in packages? {
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
                let versions = mirror.versions(web, address).await?;
                versions.map(listed).ok_or_else(absent)
            }
            Self::Oci { mirror, web, .. } => {
                let versions = mirror.versions(web, address).await?;
                versions.map(listed).ok_or_else(absent)
            }
            Self::Closed(why) => Err(Box::new(InstallError::NoNetwork { why: why.clone() })),
        }
    }

    /// The package of a version.
    async fn offer(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
    ) -> Result<Offer, Box<InstallError>> {
        let absent = |error: RemoteMirrorError| match error {
            RemoteMirrorError::Web(error) if error.is_not_found() => {
                self.absent(address, Some((version, platform)))
            }
            error => error.into(),
        };
        match self {
            Self::Registry(registry) => {
                let package = registry.package(address, version, platform).await?;
                Ok(Offer::Published { registry: registry.clone(), package })
            }
            Self::Filesystem(mirror) => {
                let (mirror, wanted, number) = (mirror.clone(), address.clone(), version.clone());
                let package = blocking(move || mirror.package(&wanted, &number, platform)).await;
                let package = package?;
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

    /// Whether it is a mirror; a network mirror only if it can be reached.
    pub(super) fn is_mirror(&self, is_reachable: bool) -> bool {
        match self {
            Self::Filesystem(_) => true,
            Self::Network { .. } | Self::Oci { .. } => is_reachable,
            Self::Registry(_) | Self::Closed(_) => false,
        }
    }

    /// Its location, for records.
    fn place(&self) -> String {
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
