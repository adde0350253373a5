//! The provider cache: `ROOT/HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/`.
//!
//! The layout is that of Terraform's filesystem mirrors and the Go bridge's cache, so that both can
//! be shared. A search reads only the directory of one provider: caches are large, and other
//! contents must not prevent finding it. Entries that are no usable version are skipped, and
//! reported if no version is found.

mod inventory;
pub(crate) mod lock;
pub(crate) mod record;
mod removal;
pub(crate) mod staging;

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use isthmus_common::listed;
use semver::Version;

pub use inventory::{CachedPackage, Inventory};
pub use record::{AlteredError, UnverifiedReason, Verification, check_program};
pub use removal::{Removal, RunningPrograms};

use crate::executable::find_in_directory;
use crate::mirror::packed;
use crate::{Platform, ProviderAddress, VersionConstraint};
use lock::DirectoryLock;

/// Prefix of provider binaries' names.
const PROGRAM_PREFIX: &str = "terraform-provider-";

/// Entries that an error lists at most.
const LISTED: usize = 10;

/// A directory of providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCache {
    root: PathBuf,
    platform: Platform,
}

/// A provider in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedProvider {
    pub version: Version,
    pub executable: PathBuf,
}

/// No version in the cache matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NotCached {
    pub address: ProviderAddress,
    pub constraint: VersionConstraint,
    pub directory: PathBuf,
    pub expected: PathBuf,
    pub versions: Vec<Version>,
    pub skipped: Vec<Skipped>,
}

/// An entry in a provider's directory that is no usable version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// Its name; `None` for the directory itself.
    pub name: String,
    /// Why it was skipped.
    pub reason: String,
}

impl ProviderCache {
    /// The cache in this directory, which may not exist, for this platform.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::for_platform(root, Platform::CURRENT)
    }

    /// The cache in this directory, for another platform.
    pub(crate) fn for_platform(root: impl Into<PathBuf>, platform: Platform) -> Self {
        Self { root: root.into(), platform }
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its platform.
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// The directory of a provider.
    pub fn provider_directory(&self, address: &ProviderAddress) -> PathBuf {
        self.root.join(address.host()).join(address.namespace()).join(address.provider_type())
    }

    /// The directory of a version.
    pub(crate) fn package_directory(&self, address: &ProviderAddress, version: &Version) -> PathBuf {
        self.provider_directory(address).join(version.to_string()).join(self.platform.to_string())
    }

    /// The newest matching version of a provider.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
    ) -> Result<CachedProvider, Box<NotCached>> {
        let directory = self.provider_directory(address);
        let mut packages = Vec::new();
        let mut skipped = Vec::new();
        match std::fs::read_dir(&directory) {
            Ok(entries) => {
                for entry in entries.filter_map(Result::ok) {
                    match self.look_at(address, &entry.path()) {
                        Ok(Some(package)) => packages.push(package),
                        Ok(None) => {}
                        Err(reason) => skipped.push(Skipped { name: shown(&entry.file_name()), reason }),
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => skipped.push(Skipped { name: String::new(), reason: error.to_string() }),
        }
        // Among versions with different build metadata, the choice must be deterministic.
        packages.sort_by(|one, other| other.version.cmp(&one.version));
        if let Some(found) = packages.iter().find(|package| constraint.allows(&package.version)) {
            return Ok(found.clone());
        }
        skipped.sort();
        let version = constraint.only_version().map_or_else(|| "VERSION".to_owned(), Version::to_string);
        Err(Box::new(NotCached {
            address: address.clone(),
            constraint: constraint.clone(),
            expected: directory.join(version).join(self.platform.to_string()),
            directory,
            versions: packages.into_iter().map(|package| package.version).collect(),
            skipped,
        }))
    }

    /// Classifies an entry of a provider's directory: a version, an irrelevant file, or the reason
    /// why it is no version.
    fn look_at(&self, address: &ProviderAddress, path: &Path) -> Result<Option<CachedProvider>, String> {
        let name = path.file_name().and_then(OsStr::to_str).ok_or("its name is not in UTF-8")?;
        if name.starts_with('.') {
            // What isthmus is writing.
            return Ok(None);
        }
        let metadata = path.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_dir() {
            let packed = packed(address, name).filter(|(_, platform)| *platform == self.platform);
            return match packed {
                Some((version, _)) => Err(format!(
                    "it is still packed; unpack it into {}",
                    self.package_directory(address, &version).display()
                )),
                None if Version::parse(name).is_ok() => Err("it is not a directory".to_owned()),
                // Lock files, checksums, archives for other platforms.
                None => Ok(None),
            };
        }
        let version =
            Version::parse(name).map_err(|error| format!("it is not named by a version: {error}"))?;
        let directory = path.join(self.platform.to_string());
        if !directory.is_dir() {
            return Err(match platforms(path) {
                _ if directory.symlink_metadata().is_ok() => {
                    format!("{} in it is not a directory", self.platform)
                }
                // A removal leaves the lock.
                Ok(others) if others.is_empty() && DirectoryLock::path_of(&directory).exists() => {
                    return Ok(None);
                }
                Ok(others) if others.is_empty() => "it is empty".to_owned(),
                Ok(others) => format!("it is for {}, not for {}", listed(others), self.platform),
                Err(error) => error.to_string(),
            });
        }
        let program = format!("{PROGRAM_PREFIX}{}", address.provider_type());
        match find_in_directory(&directory, &program) {
            Ok(Some(executable)) => Ok(Some(CachedProvider { version, executable })),
            Ok(None) => Err(format!("{program} is not in {}", directory.display())),
            Err(error) => Err(format!("{}: {error}", directory.display())),
        }
    }
}

/// The address of an unpacked provider by its path, which has the layout of caches and of Terraform's filesystem mirrors; for a link
/// also by where it leads. Nothing for a provider that is anywhere else. Blocks on the file system.
pub fn address_of(program: &Path) -> Option<ProviderAddress> {
    let paths = [Ok(program.to_owned()), program.canonicalize()];
    paths.into_iter().flatten().find_map(|path| by_layout(&path))
}

fn by_layout(program: &Path) -> Option<ProviderAddress> {
    let mut names = program.iter().rev().map(OsStr::to_str);
    let mut name = || names.next().flatten();
    let (file, platform, version) = (name()?, name()?, name()?);
    let (provider_type, namespace, host) = (name()?, name()?, name()?);
    Platform::parse(platform)?;
    Version::parse(version).ok()?;
    let written = format!("{host}/{namespace}/{provider_type}");
    // The directories are named by the normalised address.
    let address = ProviderAddress::parse_normalised(&written)?;
    let rest = file.strip_prefix(PROGRAM_PREFIX)?.strip_prefix(provider_type)?;
    let is_its_program = rest.is_empty() || rest.starts_with(['_', '.']);
    is_its_program.then_some(address)
}

impl NotCached {
    /// Advice, for a help line.
    pub fn help(&self) -> String {
        format!("or unpack the provider into {}", self.expected.display())
    }
}

impl fmt::Display for NotCached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, constraint, versions, skipped, .. } = self;
        write!(formatter, "the cache has no {}", address.for_display())?;
        if !constraint.is_any() {
            write!(formatter, " that satisfies \"{constraint}\"")?;
        }
        if !versions.is_empty() {
            write!(formatter, ", only {}", listed(versions))?;
        }
        for (index, Skipped { name, reason }) in skipped.iter().take(LISTED).enumerate() {
            let separator = if index == 0 { " (passed over: " } else { "; " };
            let space = if name.is_empty() { "" } else { ": " };
            write!(formatter, "{separator}{name}{space}{reason}")?;
        }
        match skipped.len() {
            0 => Ok(()),
            count if count > LISTED => write!(formatter, ", and {} more)", count - LISTED),
            _ => formatter.write_str(")"),
        }
    }
}

/// The file next to a package with the package's name and `ending`, which belongs to it.
fn beside(package: &Path, ending: &str) -> PathBuf {
    let mut name = package.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    package.with_file_name(name)
}

/// Platform directories of a version.
fn platforms(directory: &Path) -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(directory)?.filter_map(Result::ok).filter(|entry| entry.path().is_dir());
    let names = entries.map(|entry| shown(&entry.file_name()));
    // An installation in progress.
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    Ok(names)
}

/// A file's name for an error.
fn shown(name: &OsStr) -> String {
    const SHOWN: usize = 100;
    name.to_string_lossy().chars().take(SHOWN).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use isthmus_platform::files::symlink;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    const PLATFORM: Platform = Platform { os: "linux", arch: "amd64" };

    struct Fixture {
        directory: tempfile::TempDir,
    }

    #[test]
    fn an_unpacked_provider_is_known_by_its_path_and_a_link_by_where_it_leads() {
        let fixture = Fixture::new();
        let program = fixture.version("3.8.1");
        let expected = Some(ProviderAddress::parse("hashicorp/random").expect("an address"));
        assert_eq!(address_of(&program), expected);
        let link = fixture.directory.path().join("terraform-provider-other");
        symlink(&program, &link).expect("a link");
        assert_eq!(address_of(&link), expected);
        for path in [
            "terraform-provider-random",
            "/opt/terraform-provider-random",
            "/cache/example.com/acme/zoo/1.0.0/linux_amd64/terraform-provider-random",
            "/cache/example.com/acme/zoo/1.0.0/linux_amd64/terraform-provider-zoos",
            "/cache/example.com/acme/zoo/new/linux_amd64/terraform-provider-zoo",
            "/cache/example.com/acme/zoo/1.0.0/bin/terraform-provider-zoo",
            "/cache/Example.com/acme/zoo/1.0.0/linux_amd64/terraform-provider-zoo",
            "/acme/zoo/1.0.0/linux_amd64/terraform-provider-zoo",
        ] {
            assert_eq!(address_of(Path::new(path)), None, "{path}");
        }
        let elsewhere =
            Path::new("/gone/example.com:8443/acme/zoo/1.0.0/linux_arm64/terraform-provider-zoo_v1.0.0");
        let address = address_of(elsewhere).expect("whether it is there does not matter");
        assert_eq!(address.to_string(), "example.com:8443/acme/zoo");
    }

    impl Fixture {
        fn new() -> Self {
            Self { directory: tempfile::tempdir().expect("a directory") }
        }

        fn cache(&self) -> ProviderCache {
            ProviderCache::for_platform(self.directory.path(), PLATFORM)
        }

        fn path(&self, path: &str) -> PathBuf {
            self.directory.path().join("registry.opentofu.org/hashicorp/random").join(path)
        }

        fn directory(&self, path: &str) -> PathBuf {
            fs::create_dir_all(self.path(path)).expect("a directory in a new directory");
            self.path(path)
        }

        fn file(&self, path: &str) -> PathBuf {
            let path = self.path(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory in a new directory");
            fs::write(&path, "").expect("a file in a new directory");
            isthmus_platform::files::set_mode(&path, 0o755).expect("it is ours");
            path
        }

        fn version(&self, version: &str) -> PathBuf {
            self.file(&format!("{version}/linux_amd64/terraform-provider-random_v{version}_x5"))
        }

        fn find(&self, constraint: &str) -> Result<CachedProvider, Box<NotCached>> {
            let address = ProviderAddress::parse("random").expect("an address");
            self.cache().find(&address, &VersionConstraint::parse(constraint).expect(constraint))
        }

        fn found(&self, constraint: &str) -> String {
            self.find(constraint).unwrap_or_else(|error| panic!("{error}")).version.to_string()
        }

        fn missing(&self, constraint: &str) -> String {
            self.find(constraint).expect_err(constraint).to_string()
        }
    }

    #[test]
    fn the_newest_version_that_will_do_is_found() {
        let cache = Fixture::new();
        for version in ["3.1.0", "3.10.0", "3.9.0", "4.0.0-rc1"] {
            cache.version(version);
        }
        assert_eq!(cache.found(""), "3.10.0");
        assert_eq!(cache.found("~> 3.1, < 3.10"), "3.9.0");
        assert_eq!(cache.found("4.0.0-rc1"), "4.0.0-rc1");
        let found = cache.find("3.1.0").expect("it is there");
        assert_eq!(found.executable, cache.path("3.1.0/linux_amd64/terraform-provider-random_v3.1.0_x5"));
    }

    #[test]
    fn a_missing_version_is_reported_with_all_that_helps() {
        let cache = Fixture::new();
        let directory = cache.path("").display().to_string();
        let directory = directory.trim_end_matches('/');
        assert_eq!(cache.missing(""), "the cache has no hashicorp/random");
        let help = cache.find("").expect_err("it is not there").help();
        assert_eq!(help, format!("or unpack the provider into {directory}/VERSION/linux_amd64"));
        cache.version("3.9.0");
        cache.version("3.10.0");
        assert_eq!(
            cache.missing("= 4.0"),
            "the cache has no hashicorp/random that satisfies \"= 4.0\", only 3.10.0, 3.9.0"
        );
        let help = cache.find("= 4.0").expect_err("it is not there").help();
        assert_eq!(help, format!("or unpack the provider into {directory}/4.0.0/linux_amd64"));
        for minor in 11..40 {
            cache.version(&format!("3.{minor}.0"));
        }
        assert!(cache.missing("4.0.0").ends_with(", 3.30.0, and 21 more"), "{}", cache.missing("4.0.0"));
    }

    #[test]
    fn what_cannot_be_used_is_passed_over_and_told() {
        let cache = Fixture::new();
        cache.directory("1.0.0/linux_amd64");
        cache.directory("1.1.0");
        cache.directory("1.2.0/darwin_arm64");
        cache.file("1.3.0/linux_amd64");
        cache.file("1.4.0");
        cache.directory("1.5.0/linux_amd64/terraform-provider-random_v1.5.0");
        cache.file("1.6.0/linux_amd64/terraform-provider-randomizer");
        cache.directory("v1.7.0/linux_amd64");
        cache.directory("1.8/linux_amd64");
        cache.file("terraform-provider-random_1.9.0_linux_amd64.zip");
        cache.file("Terraform-Provider-Random_1.9.1_Linux_AMD64.zip");
        cache.file("terraform-provider-random_1.9.2_darwin_arm64.zip");
        cache.file("terraform-provider-random_SHA256SUMS");
        cache.file("linux_amd64.lock");
        symlink("nowhere", cache.path("2.0.0")).expect("a link");
        symlink("2.1.0", cache.path("2.1.0")).expect("a link");
        fs::create_dir(cache.path("").join(OsStr::from_bytes(b"2.2.0\xff"))).expect("a directory");

        let error = cache.find("").expect_err("nothing can be used");
        let reason = |name: &str| {
            let skipped = error.skipped.iter().find(|skipped| skipped.name.starts_with(name));
            skipped.unwrap_or_else(|| panic!("{name} is not in {error:?}")).reason.clone()
        };
        assert!(reason("1.0.0").starts_with("terraform-provider-random is not in "), "{error:?}");
        assert_eq!(reason("1.1.0"), "it is empty");
        assert_eq!(reason("1.2.0"), "it is for darwin_arm64, not for linux_amd64");
        assert_eq!(reason("1.3.0"), "linux_amd64 in it is not a directory");
        assert_eq!(reason("1.4.0"), "it is not a directory");
        assert!(reason("1.5.0").starts_with("terraform-provider-random is not in "));
        assert!(reason("1.6.0").starts_with("terraform-provider-random is not in "));
        assert!(reason("v1.7.0").starts_with("it is not named by a version"));
        assert!(reason("1.8").starts_with("it is not named by a version"));
        let packed =
            format!("it is still packed; unpack it into {}", cache.path("1.9.0/linux_amd64").display());
        assert_eq!(reason("terraform-provider-random_1.9.0"), packed);
        assert!(reason("Terraform-Provider-Random_1.9.1").contains("1.9.1/linux_amd64"));
        assert!(reason("2.0.0").contains("No such file"), "{error:?}");
        assert!(reason("2.1.0").contains("symbolic links"), "{error:?}");
        assert_eq!(reason("2.2.0"), "its name is not in UTF-8");
        assert_eq!(error.skipped.len(), 14, "{:#?}", error.skipped);
        assert!(
            error.to_string().starts_with("the cache has no hashicorp/random (passed over: 1.0.0: "),
            "{error}"
        );
        assert!(error.to_string().contains(", and 4 more)"), "{error}");

        cache.version("0.1.0");
        assert_eq!(cache.found(""), "0.1.0");
    }

    #[test]
    fn versions_and_whole_providers_may_be_links() {
        let cache = Fixture::new();
        let elsewhere = Fixture::new();
        elsewhere.version("3.0.0");
        cache.directory("3.0.0");
        symlink(elsewhere.path("3.0.0/linux_amd64"), cache.path("3.0.0/linux_amd64")).expect("a link");
        assert_eq!(cache.found(""), "3.0.0");
    }

    #[test]
    fn a_root_that_is_no_directory_is_told() {
        let cache = Fixture::new();
        fs::write(cache.directory.path().join("registry.opentofu.org"), "").expect("a file");
        assert!(cache.missing("").contains("Not a directory"), "{}", cache.missing(""));
    }

    #[test]
    fn absurd_names_are_shown_short_and_without_control_characters() {
        let cache = Fixture::new();
        cache.directory(&format!("\u{1b}[31m\n{}", "x".repeat(200)));
        let error = cache.missing("");
        assert!(error.contains("\\u{1b}[31m\\nxxx") && error.len() < 800, "{error}");
    }

    #[test]
    fn a_provider_of_a_registry_on_another_port_has_a_directory_of_its_own() {
        let cache = ProviderCache::for_platform("/cache", PLATFORM);
        let address = ProviderAddress::parse("Example.com:8443/a/b").expect("an address");
        assert_eq!(
            cache.package_directory(&address, &Version::new(1, 2, 3)),
            Path::new("/cache/example.com:8443/a/b/1.2.3/linux_amd64")
        );
    }
}
