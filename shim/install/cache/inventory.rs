//! The inventory of the cache: every version of every provider for every platform, and other
//! entries.
//!
//! Unlike a search, it reads the whole cache, for users. Links are followed only for the directory
//! of a version, as in Terraform's own directories of providers.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use semver::Version;

use super::record::{AlteredError, Record, Verification};
use super::staging::{UNFINISHED, is_staging};
use super::{PROGRAM_PREFIX, ProviderCache, shown};
use crate::executable::find_in_directory;
use crate::mirror::packed;
use crate::{FileSum, Platform, ProviderAddress};

/// Limits of depth and files in determining a package's size.
const DEEPEST: usize = 32;
const MOST_FILES: usize = 100_000;

/// A version of a provider in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedPackage {
    /// Its provider.
    pub address: ProviderAddress,
    /// Its version.
    pub version: Version,
    /// Its platform.
    pub platform: Platform,
    /// Its directory.
    pub directory: PathBuf,
    /// Its binary.
    pub executable: PathBuf,
    /// How it was verified; `None` without a record: not installed by isthmus.
    pub verification: Option<Verification>,
    /// Size of its files in bytes.
    pub size: u64,
    /// When it was last installed or started, by the file system's times.
    pub used: Option<SystemTime>,
}

/// An entry in the cache that is no version of a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PassedOver {
    pub path: PathBuf,
    /// Why it was skipped.
    pub reason: String,
}

/// An installation that is in progress or was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unfinished {
    pub path: PathBuf,
    /// The directory of its version.
    pub(super) package: PathBuf,
    /// Its size in bytes.
    pub size: u64,
}

/// The inventory of the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The versions, by provider and platform, newest first.
    pub packages: Vec<CachedPackage>,
    /// Skipped entries.
    pub skipped: Vec<PassedOver>,
    /// In-progress or interrupted installations.
    pub unfinished: Vec<Unfinished>,
}

impl ProviderCache {
    /// The inventory for all platforms. A missing cache is empty.
    ///
    /// # Errors
    /// When its directory cannot be read.
    pub fn inventory(&self) -> io::Result<Inventory> {
        let mut inventory = Inventory::default();
        match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(inventory),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        for host in inventory.directories(&self.root) {
            for namespace in inventory.directories(&host) {
                for provider in inventory.directories(&namespace) {
                    match address(&self.root, &provider) {
                        Ok(address) => self.provider(&address, &provider, &mut inventory),
                        Err(reason) => inventory.skip(&provider, reason),
                    }
                }
            }
        }
        inventory.packages.sort_by(|one, other| {
            (&one.address, one.platform, &other.version).cmp(&(&other.address, other.platform, &one.version))
        });
        inventory.skipped.sort();
        inventory.unfinished.sort();
        Ok(inventory)
    }

    fn provider(&self, address: &ProviderAddress, directory: &Path, inventory: &mut Inventory) {
        for path in inventory.list(directory) {
            let name = name(&path);
            if path.is_dir() {
                match Version::parse(&name) {
                    _ if name.starts_with('.') => {}
                    Ok(version) => self.version(address, &version, &path, inventory),
                    Err(error) => inventory.skip(&path, format!("it is not named by a version: {error}")),
                }
            } else if packed(address, &name).is_some() {
                let reason = "it is still packed; unpack it into VERSION/OS_ARCH beside it".to_owned();
                inventory.skip(&path, reason);
            } else if Version::parse(&name).is_ok() {
                inventory.skip(&path, "it is not a directory".to_owned());
            }
        }
    }

    fn version(
        &self,
        address: &ProviderAddress,
        version: &Version,
        directory: &Path,
        inventory: &mut Inventory,
    ) {
        let paths = inventory.list(directory);
        if paths.is_empty() {
            inventory.skip(directory, "it is empty".to_owned());
        }
        for path in paths {
            let name = name(&path);
            if let Some(hidden) = name.strip_prefix('.') {
                let platform =
                    hidden.split_once(UNFINISHED).and_then(|(platform, _)| Platform::parse(platform));
                match platform {
                    Some(platform) if is_staging(&path) => {
                        let package = directory.join(platform.to_string());
                        inventory.unfinished.push(Unfinished { size: size(&path), path, package });
                    }
                    Some(_) => inventory.skip(
                        &path,
                        "it does not carry the marker of isthmus; remove it by hand if nothing in it is needed"
                            .to_owned(),
                    ),
                    None => {}
                }
                continue;
            }
            if !path.is_dir() {
                // Locks and records.
                continue;
            }
            let Some(platform) = Platform::parse(&name) else {
                inventory.skip(&path, "it is not named by an operating system and a processor".to_owned());
                continue;
            };
            let program = format!("{PROGRAM_PREFIX}{}", address.provider_type());
            match find_in_directory(&path, &program) {
                Ok(Some(executable)) => {
                    let record = Record::path_of(&path);
                    inventory.packages.push(CachedPackage {
                        address: address.clone(),
                        version: version.clone(),
                        platform,
                        verification: Record::read(&record).map(|record| record.verification),
                        size: fs::canonicalize(&path).map_or(0, |path| size(&path)),
                        used: used(&path, &executable, &record),
                        directory: path,
                        executable,
                    });
                }
                Ok(None) => inventory.skip(&path, format!("it contains no {program}")),
                Err(error) => inventory.skip(&path, error.to_string()),
            }
        }
    }

    /// The recorded checksum of a version's archive.
    pub fn archive_sum(&self, address: &ProviderAddress, version: &Version) -> Option<FileSum> {
        Record::read(&Record::path_of(&self.package_directory(address, version)))?.archive_sum()
    }
}

impl CachedPackage {
    /// Compares the whole binary with its record, even if its file stamp is unchanged, and returns
    /// its verification; `None` without a record.
    ///
    /// # Errors
    /// When it was altered, or cannot be read.
    pub fn verify(&self) -> Result<Option<Verification>, AlteredError> {
        let path = Record::path_of(&self.directory);
        let Some(mut record) = Record::read(&path) else { return Ok(None) };
        record.check_whole(&self.executable, &path)?;
        Ok(Some(record.verification))
    }
}

impl Inventory {
    fn skip(&mut self, path: &Path, reason: String) {
        self.skipped.push(PassedOver { path: path.to_owned(), reason });
    }

    /// The entries of a directory that can be read.
    fn list(&mut self, directory: &Path) -> Vec<PathBuf> {
        match fs::read_dir(directory) {
            Ok(entries) => {
                let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
                paths.sort();
                paths
            }
            Err(error) => {
                self.skip(directory, error.to_string());
                Vec::new()
            }
        }
    }

    /// The subdirectories of a directory; other entries are ignored.
    fn directories(&mut self, directory: &Path) -> Vec<PathBuf> {
        let mut paths = self.list(directory);
        paths.retain(|path| path.is_dir() && !name(path).starts_with('.'));
        paths
    }
}

/// The provider of this directory, if its name is normalised.
fn address(root: &Path, directory: &Path) -> Result<ProviderAddress, String> {
    let path = directory.strip_prefix(root).unwrap_or(directory);
    let parts: Option<Vec<&str>> = path.iter().map(OsStr::to_str).collect();
    let text = parts.ok_or("its name is not in UTF-8")?.join("/");
    let address = ProviderAddress::parse(&text).map_err(|error| error.to_string())?;
    let whole = address.to_string();
    if whole == text { Ok(address) } else { Err(format!("the provider is looked for in {whole}")) }
}

fn name(path: &Path) -> String {
    shown(path.file_name().unwrap_or_default())
}

/// Size of all files, without following links.
fn size(path: &Path) -> u64 {
    let (mut size, mut left) = (0, MOST_FILES);
    let mut paths = vec![(path.to_owned(), DEEPEST)];
    while let Some((path, depth)) = paths.pop() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() && depth > 0 {
            let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok).take(left);
            paths.extend(entries.map(|entry| (entry.path(), depth - 1)));
            left = MOST_FILES.saturating_sub(paths.len());
        } else if metadata.is_file() {
            size += metadata.len();
        }
    }
    size
}

/// The newest time of use. The system updates access times of binaries at least daily, unless
/// disabled; an installation creates the directory.
fn used(directory: &Path, executable: &Path, record: &Path) -> Option<SystemTime> {
    let made = |path: &Path| path.metadata().ok()?.modified().ok();
    let started = || executable.metadata().ok()?.accessed().ok();
    [made(directory), made(record), started()].into_iter().flatten().max()
}

#[cfg(test)]
pub(super) mod tests {
    use isthmus_platform::files::symlink;

    use super::*;

    const PLATFORM: Platform = Platform { os: "linux", arch: "amd64" };

    pub(in crate::cache) struct Fixture {
        pub(in crate::cache) directory: tempfile::TempDir,
    }

    impl Fixture {
        pub(in crate::cache) fn new() -> Self {
            Self { directory: tempfile::tempdir().expect("a directory") }
        }

        pub(in crate::cache) fn cache(&self) -> ProviderCache {
            ProviderCache::for_platform(self.directory.path(), PLATFORM)
        }

        pub(in crate::cache) fn path(&self, path: &str) -> PathBuf {
            self.directory.path().join(path)
        }

        pub(in crate::cache) fn file(&self, path: &str, content: &str) -> PathBuf {
            let path = self.path(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(&path, content).expect("a file");
            path
        }

        /// A version with a record.
        pub(in crate::cache) fn install(&self, provider: &str, version: &str) -> PathBuf {
            let name = provider.rsplit('/').next().expect("a name");
            let path = format!("{provider}/{version}/linux_amd64/terraform-provider-{name}_v{version}");
            let program = self.file(&path, "a program");
            let directory = program.parent().expect("a directory").to_owned();
            let record = Record::of(&program, None, Verification::Unsigned).expect("it can be read");
            record.write(&Record::path_of(&directory)).expect("it can be written");
            directory
        }

        pub(in crate::cache) fn inventory(&self) -> Inventory {
            self.cache().inventory().expect("it can be read")
        }

        fn skipped(&self) -> Vec<String> {
            let root = format!("{}/", self.directory.path().display());
            let skipped = self.inventory().skipped.into_iter();
            skipped
                .map(|PassedOver { path, reason }| format!("{}: {reason}", path.display()).replace(&root, ""))
                .collect()
        }
    }

    const RANDOM: &str = "registry.opentofu.org/hashicorp/random";

    #[test]
    fn every_version_is_listed_newest_first() {
        let fixture = Fixture::new();
        assert_eq!(fixture.inventory(), Inventory::default());
        fixture.install(RANDOM, "3.9.0");
        fixture.install(RANDOM, "3.10.0");
        fixture.install("example.com:8443/a/b", "1.0.0");
        fixture.file(&format!("{RANDOM}/3.9.0/darwin_arm64/terraform-provider-random"), "123");
        fixture.file(&format!("{RANDOM}/3.9.0/darwin_arm64/docs/LICENSE"), "4567");
        let listed = fixture.inventory();
        let shown = listed.packages.iter().map(|package| {
            let CachedPackage { address, version, platform, verification, size, .. } = package;
            format!("{} {version} {platform} {verification:?} {size}", address.for_display())
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                "example.com:8443/a/b 1.0.0 linux_amd64 Some(Unsigned) 9",
                "hashicorp/random 3.9.0 darwin_arm64 None 7",
                "hashicorp/random 3.10.0 linux_amd64 Some(Unsigned) 9",
                "hashicorp/random 3.9.0 linux_amd64 Some(Unsigned) 9",
            ]
        );
        assert!(listed.packages.iter().all(|package| package.executable.is_file() && package.used.is_some()));
        assert!(listed.skipped.is_empty() && listed.unfinished.is_empty(), "{listed:?}");
        let none = ProviderCache::new(fixture.path("nowhere")).inventory();
        assert_eq!(none.expect("it need not be there"), Inventory::default());
        ProviderCache::new(fixture.file("file", "")).inventory().expect_err("it is a file");
    }

    #[test]
    fn what_is_passed_over_is_told_with_the_reason() {
        let fixture = Fixture::new();
        fixture.install(RANDOM, "3.9.0");
        for file in [
            "README.md",
            "Example.org/a/b/1.0.0/linux_amd64/terraform-provider-b",
            "example.org/a/.hidden/x",
            "example.org/a/b_c/x",
            "registry.opentofu.org/hashicorp/random/.versions.json",
            "registry.opentofu.org/hashicorp/random/index.json",
            "registry.opentofu.org/hashicorp/random/v3.2.0/linux_amd64/x",
            "registry.opentofu.org/hashicorp/random/3.3.0",
            "registry.opentofu.org/hashicorp/random/3.4.0/linux_amd64/x",
            "registry.opentofu.org/hashicorp/random/3.5.0/my_machine/x",
            "registry.opentofu.org/hashicorp/random/3.6.0/linux_amd64.lock",
            "registry.opentofu.org/hashicorp/random/terraform-provider-random_3.1.0_linux_amd64.zip",
        ] {
            fixture.file(file, "");
        }
        fs::create_dir(fixture.path(&format!("{RANDOM}/3.7.0"))).expect("a directory");
        symlink("nowhere", fixture.path(&format!("{RANDOM}/link"))).expect("a link");
        let said = fixture.skipped();
        let expected = [
            "Example.org/a/b: the provider is looked for in example.org/a/b",
            "example.org/a/b_c: \"example.org/a/b_c\" is not a provider's address, which is written",
            "registry.opentofu.org/hashicorp/random/3.3.0: it is not a directory",
            "registry.opentofu.org/hashicorp/random/3.4.0/linux_amd64: it contains no terraform-provider-random",
            "registry.opentofu.org/hashicorp/random/3.5.0/my_machine: it is not named by an operating system",
            "registry.opentofu.org/hashicorp/random/3.7.0: it is empty",
            "registry.opentofu.org/hashicorp/random/terraform-provider-random_3.1.0_linux_amd64.zip: it is still packed",
            "registry.opentofu.org/hashicorp/random/v3.2.0: it is not named by a version: ",
        ];
        assert_eq!(said.len(), expected.len(), "{said:#?}");
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.starts_with(expected), "{said}\n{expected}");
        }
        assert_eq!(fixture.inventory().packages.len(), 1);
    }

    #[test]
    fn a_program_is_compared_with_its_record_as_a_whole() {
        let fixture = Fixture::new();
        let directory = fixture.install(RANDOM, "3.9.0");
        let package = || fixture.inventory().packages.remove(0);
        assert_eq!(package().verify().expect("as it was"), Some(Verification::Unsigned));
        // The same size, times and inode: only its content differs.
        let program = package().executable;
        let record = Record::path_of(&directory);
        fs::write(&program, "A program").expect("a file");
        let text = fs::read_to_string(&record).expect("a record");
        Record::of(&program, None, Verification::Unsigned).expect("a record").write(&record).expect("a file");
        let state = |text: &str| text.split_once("\"stamp\"").expect("a record").1.to_owned();
        let forged = fs::read_to_string(&record).expect("a record");
        fs::write(&record, text.replace(&state(&text), &state(&forged))).expect("a file");
        Record::read(&record).expect("a record").check(&program, &record).expect("nothing shows");
        let error = package().verify().expect_err("it is another one").to_string();
        assert!(error.contains("was altered after it was installed"), "{error}");
        fs::remove_file(record).expect("it is there");
        assert_eq!(package().verify().expect("nothing is known"), None);
    }
}
