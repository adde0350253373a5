//! A filesystem mirror, packed or unpacked, in Terraform's layout.
//!
//! Unpacked, a package is the directory `HOST/NAMESPACE/TYPE/VERSION/OS_ARCH`; packed, the file
//! `HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip`. One directory may contain
//! both. A project's own `.terraform/providers` and a plugin cache have the unpacked layout, so
//! each can be a source. Other entries are ignored, as by OpenTofu; but a missing or unreadable
//! mirror is an error, because it was configured.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use semver::Version;

use crate::{CliConfig, PackageForm, Platform, ProviderAddress};

/// Limit of entries in a directory of a mirror.
const MOST_ENTRIES: usize = 100_000;

/// A filesystem mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesystemMirror {
    root: PathBuf,
    /// The position in the configuration; empty if it is implied.
    place: String,
}

/// A package in a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredPackage {
    pub version: Version,
    pub platform: Platform,
    pub form: PackageForm,
}

/// A mirror failed.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// It is missing, or cannot be read.
    #[error("the filesystem mirror {}{} cannot be read", path.display(), configured(place))]
    Read {
        /// The directory.
        path: PathBuf,
        /// The position in the configuration; empty if it is implied.
        place: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It cannot be written.
    #[error("the filesystem mirror cannot be written to {}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A package cannot be hashed.
    #[error(transparent)]
    Sum(#[from] crate::SumError),
}

impl MirrorError {
    /// Advice about a mirror that the configuration names.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Read { place, source, .. } if !place.is_empty() => Some(match source.kind() {
                io::ErrorKind::NotFound => "create the directory, or correct `path`",
                _ => "make it a directory that this user may read, or correct `path`",
            }),
            Self::Read { .. } | Self::Write { .. } | Self::Sum(_) => None,
        }
    }
}

impl FilesystemMirror {
    /// The mirror in this directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), place: String::new() }
    }

    /// The same with its position in the configuration, which errors have.
    #[must_use]
    pub(crate) fn configured_at(self, place: &str) -> Self {
        Self { place: place.to_owned(), ..self }
    }

    /// The installed providers of a Terraform project.
    pub fn of_project(directory: &Path) -> Self {
        Self::new(directory.join(".terraform").join("providers"))
    }

    /// The plugin cache of Terraform or OpenTofu, if one is configured and exists. A missing one is
    /// among the configuration's warnings.
    ///
    /// Its contents were verified when they were installed, but without a record. Terraform and
    /// OpenTofu use a provider from it only if the lock file has its hash, or if
    /// `plugin_cache_may_break_dependency_lock_file` is set.
    pub fn of_plugin_cache(config: &CliConfig) -> Option<Self> {
        config.plugin_cache_dir.as_ref().map(Self::new)?.if_there()
    }

    /// `None` if the directory does not exist. For implied mirrors, which most users do not have.
    pub fn if_there(self) -> Option<Self> {
        self.root.is_dir().then_some(self)
    }

    /// Its directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// All packages of a provider: newest versions first, and unpacked ones before packed ones.
    ///
    /// # Errors
    /// When the mirror is missing, or cannot be read.
    pub(crate) fn packages(&self, address: &ProviderAddress) -> Result<Vec<MirroredPackage>, MirrorError> {
        // The mirror must exist; a provider in it need not.
        self.entries()?;
        let directory = self.provider_directory(address);
        let mut packages = Vec::new();
        for path in list_if_there(&directory)? {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if path.is_dir() {
                let Ok(version) = Version::parse(name) else { continue };
                let platforms = list_if_there(&path)?.into_iter().filter_map(|path| {
                    let platform = Platform::parse(path.file_name()?.to_str()?)?;
                    let package = MirroredPackage {
                        version: version.clone(),
                        platform,
                        form: PackageForm::Directory(path.clone()),
                    };
                    path.is_dir().then_some(package)
                });
                packages.extend(platforms);
            } else if let Some((version, platform)) = packed(address, name) {
                packages.push(MirroredPackage { version, platform, form: PackageForm::Archive(path) });
            }
        }
        packages.sort_by(|one, other| {
            let versions = other.version.cmp(&one.version);
            versions.then_with(|| (one.platform, &one.form).cmp(&(other.platform, &other.form)))
        });
        Ok(packages)
    }

    /// One package of a provider.
    ///
    /// # Errors
    /// When the mirror is missing, or cannot be read.
    pub fn package(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
    ) -> Result<Option<MirroredPackage>, MirrorError> {
        let packages = self.packages(address)?.into_iter();
        Ok(packages.into_iter().find(|package| package.version == *version && package.platform == platform))
    }

    /// The providers with packages.
    ///
    /// # Errors
    /// When the mirror is missing, or cannot be read.
    pub(crate) fn providers(&self) -> Result<BTreeSet<ProviderAddress>, MirrorError> {
        let mut providers = BTreeSet::new();
        for host in self.entries()? {
            for namespace in list_if_there(&host)? {
                for provider in list_if_there(&namespace)? {
                    let Ok(path) = provider.strip_prefix(&self.root) else { continue };
                    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
                    let Some(text) = parts.map(|parts| parts.join("/")) else { continue };
                    // Directories whose names are not normalised are not searched either.
                    let Some(address) = ProviderAddress::parse_normalised(&text) else { continue };
                    if !self.packages(&address)?.is_empty() {
                        providers.insert(address);
                    }
                }
            }
        }
        Ok(providers)
    }

    pub(crate) fn entries(&self) -> Result<Vec<PathBuf>, MirrorError> {
        list(&self.root).map_err(|error| match error {
            MirrorError::Read { path, source, .. } => {
                MirrorError::Read { path, place: self.place.clone(), source }
            }
            error => error,
        })
    }

    pub(super) fn provider_directory(&self, address: &ProviderAddress) -> PathBuf {
        self.root.join(address.host()).join(address.namespace()).join(address.provider_type())
    }

    /// The path of a packed package.
    pub fn archive(&self, address: &ProviderAddress, version: &Version, platform: Platform) -> PathBuf {
        let name = format!("terraform-provider-{}_{version}_{platform}.zip", address.provider_type());
        self.provider_directory(address).join(name)
    }
}

fn configured(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(", configured at {place},") }
}

/// Parses an archive's name, without regard to case.
pub(crate) fn packed(address: &ProviderAddress, file: &str) -> Option<(Version, Platform)> {
    let file = file.to_lowercase();
    let rest = file.strip_prefix("terraform-provider-")?.strip_prefix(address.provider_type())?;
    let rest = rest.strip_prefix('_')?.strip_suffix(".zip")?;
    let (version, platform) = rest.split_once('_')?;
    // The platform may be followed by something, as in names of binaries.
    let mut parts = platform.split('_');
    let platform = format!("{}_{}", parts.next()?, parts.next()?);
    Some((Version::parse(version).ok()?, Platform::parse(&platform)?))
}

fn list_if_there(directory: &Path) -> Result<Vec<PathBuf>, MirrorError> {
    match list(directory) {
        Err(MirrorError::Read { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        other => other,
    }
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, MirrorError> {
    let read = |source| MirrorError::Read { path: directory.to_owned(), place: String::new(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(read)? {
        paths.push(entry.map_err(read)?.path());
        if paths.len() > MOST_ENTRIES {
            return Err(read(io::Error::other(format!("there is more than {MOST_ENTRIES} in it"))));
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn mirror(files: &[&str]) -> (tempfile::TempDir, FilesystemMirror) {
        let directory = tempfile::tempdir().expect("a directory");
        for file in files {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, "").expect("a file");
        }
        let mirror = FilesystemMirror::new(directory.path());
        (directory, mirror)
    }

    fn random() -> ProviderAddress {
        ProviderAddress::parse("random").expect("an address")
    }

    #[test]
    fn both_layouts_are_read_and_all_else_is_passed_over() {
        let (directory, mirror) = mirror(&[
            "registry.opentofu.org/hashicorp/random/3.1.0/linux_amd64/terraform-provider-random",
            "registry.opentofu.org/hashicorp/random/3.1.0/darwin_arm64/terraform-provider-random",
            "registry.opentofu.org/hashicorp/random/terraform-provider-random_3.1.0_linux_amd64.zip",
            "registry.opentofu.org/hashicorp/random/Terraform-Provider-Random_3.10.0_Linux_AMD64.zip",
            "registry.opentofu.org/hashicorp/random/terraform-provider-random_3.9.0-rc1_windows_386.zip",
            "registry.opentofu.org/hashicorp/random/3.1.0.json",
            "registry.opentofu.org/hashicorp/random/index.json",
            "registry.opentofu.org/hashicorp/random/terraform-provider-random_x_linux_amd64.zip",
            "registry.opentofu.org/hashicorp/random/terraform-provider-random_3.0.0_linux.zip",
            "registry.opentofu.org/hashicorp/random/terraform-provider-random_3.0.0_my_machine.zip",
            "registry.opentofu.org/hashicorp/random/terraform-provider-other_3.0.0_linux_amd64.zip",
            "registry.opentofu.org/hashicorp/random/v3.2.0/linux_amd64/x",
            "registry.opentofu.org/hashicorp/random/3.3.0/linux_amd64",
            "registry.opentofu.org/hashicorp/random/3.4.0/linux/x",
            "example.com/a/b/1.0.0/linux_amd64/x",
            "example.com/a/empty/index.json",
            "Example.org/a/b/1.0.0/linux_amd64/x",
            "README.md",
        ]);
        let packages = mirror.packages(&random()).unwrap_or_else(|error| panic!("{error}"));
        let shown = packages.iter().map(|package| {
            let form = if matches!(package.form, PackageForm::Archive(_)) { "packed" } else { "unpacked" };
            format!("{} {} {form}", package.version, package.platform)
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                "3.10.0 linux_amd64 packed",
                "3.9.0-rc1 windows_386 packed",
                "3.1.0 darwin_arm64 unpacked",
                "3.1.0 linux_amd64 unpacked",
                "3.1.0 linux_amd64 packed",
            ]
        );
        let linux = Platform::parse("linux_amd64").expect("a platform");
        let package = mirror.package(&random(), &Version::new(3, 1, 0), linux).expect("it can be read");
        let expected = directory.path().join("registry.opentofu.org/hashicorp/random/3.1.0/linux_amd64");
        assert_eq!(package.map(|package| package.form), Some(PackageForm::Directory(expected)));
        assert_eq!(mirror.package(&random(), &Version::new(9, 0, 0), linux).expect("it can be read"), None);
        let providers = mirror.providers().unwrap_or_else(|error| panic!("{error}"));
        let providers: Vec<String> = providers.iter().map(ProviderAddress::to_string).collect();
        assert_eq!(providers, ["example.com/a/b", "registry.opentofu.org/hashicorp/random"]);
    }

    #[test]
    fn the_providers_of_a_project_and_its_plugin_cache_are_mirrors_too() {
        let random_path = "registry.opentofu.org/hashicorp/random/3.1.0";
        let (directory, _) = mirror(&[
            &format!("cache/{random_path}/linux_amd64/terraform-provider-random"),
            &format!("cache/{random_path}/linux_amd64.lock"),
            "project/.terraform/modules/modules.json",
        ]);
        let project = directory.path().join("project");
        assert_eq!(FilesystemMirror::of_project(&project).if_there(), None);
        // A project has a link into the cache, if there is one.
        let (in_cache, in_project) = (directory.path().join("cache"), project.join(".terraform/providers"));
        fs::create_dir_all(in_project.join(random_path)).expect("a directory");
        let version = |root: &Path| root.join(random_path).join("linux_amd64");
        isthmus_platform::files::symlink(version(&in_cache), version(&in_project)).expect("a link");
        let mut config = CliConfig { plugin_cache_dir: Some(in_cache.clone()), ..CliConfig::default() };
        let cache = FilesystemMirror::of_plugin_cache(&config).expect("it is there");
        let project = FilesystemMirror::of_project(&project).if_there().expect("it is there");
        for (mirror, root) in [(cache, in_cache), (project, in_project)] {
            let packages = mirror.packages(&random()).expect("it can be read");
            let forms: Vec<PackageForm> = packages.into_iter().map(|package| package.form).collect();
            assert_eq!(forms, [PackageForm::Directory(version(&root))]);
        }
        config.plugin_cache_dir = Some(directory.path().join("missing"));
        assert_eq!(FilesystemMirror::of_plugin_cache(&config), None);
        assert_eq!(FilesystemMirror::of_plugin_cache(&CliConfig::default()), None);
    }

    #[test]
    fn a_mirror_that_is_not_there_is_an_error_and_a_provider_is_none() {
        let (directory, mirror) = mirror(&["README.md"]);
        assert_eq!(mirror.packages(&random()).expect("it can be read"), []);
        let missing = FilesystemMirror::new(directory.path().join("missing"));
        let error = missing.packages(&random()).expect_err("it is not there").to_string();
        assert!(
            error.starts_with("the filesystem mirror ") && error.ends_with("missing cannot be read"),
            "{error}"
        );
        assert!(missing.providers().is_err());
    }
}
