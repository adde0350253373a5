//! Sources of providers and their order: configured or implied.
//!
//! The rules are OpenTofu's. With a `provider_installation` block, its methods that include the
//! provider count. Otherwise implied directories that exist count, and then the provider's
//! registry, unless one of the directories has any version of it. A version may come from any
//! source that counts; the first one that has it is used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::FilesystemMirror;
use crate::cli_config::{InstallationMethod, MethodLocation};
use crate::{CliConfig, ProviderAddress};

/// Sources of providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    overrides: BTreeMap<ProviderAddress, PathBuf>,
    /// The position in the configuration.
    place: String,
    methods: Vec<InstallationMethod>,
    /// Providers that are in an implied directory, and not installed from their registry.
    elsewhere: BTreeSet<ProviderAddress>,
}

impl Sources {
    /// The sources of a configuration, or else the implied directories that exist.
    pub fn new(config: &CliConfig, implied: impl IntoIterator<Item = PathBuf>) -> Self {
        if let Some(installation) = &config.provider_installation {
            // With overrides alone, no other provider can be installed.
            return Self {
                overrides: installation.dev_overrides.clone(),
                place: installation.place.clone(),
                methods: installation.methods.clone(),
                elsewhere: BTreeSet::new(),
            };
        }
        let mut elsewhere = BTreeSet::new();
        let mut methods = Vec::new();
        for path in implied.into_iter().filter(|directory| directory.is_dir()) {
            // An unreadable directory is reported when it is searched.
            elsewhere.extend(FilesystemMirror::new(&path).providers().unwrap_or_default());
            methods.push(InstallationMethod::of_all(MethodLocation::FilesystemMirror {
                path,
                place: String::new(),
            }));
        }
        methods.push(InstallationMethod::of_all(MethodLocation::Direct { download_retry_count: None }));
        Self { overrides: BTreeMap::new(), place: String::new(), methods, elsewhere }
    }

    /// With a directory that has precedence, such as a project's installed providers.
    #[must_use]
    pub fn with_first(mut self, mirror: FilesystemMirror) -> Self {
        let path = mirror.root().to_owned();
        let location = MethodLocation::FilesystemMirror { path, place: String::new() };
        self.methods.insert(0, InstallationMethod::of_all(location));
        self
    }

    /// The sources of a provider, best first.
    pub(crate) fn of<'a>(&'a self, address: &'a ProviderAddress) -> impl Iterator<Item = &'a MethodLocation> {
        let methods = self.methods.iter().filter(|method| method.has(address)).map(|method| &method.location);
        methods.filter(|location| {
            !matches!(location, MethodLocation::Direct { .. }) || !self.elsewhere.contains(address)
        })
    }

    /// The position in the configuration, as `FILE:LINE:COLUMN`; empty if not configured.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The development override of a provider.
    pub(crate) fn dev_override(&self, address: &ProviderAddress) -> Option<&Path> {
        self.overrides.get(address).map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use isthmus_common::Environment;

    fn config(text: &str) -> (tempfile::TempDir, CliConfig) {
        let home = tempfile::tempdir().expect("a directory");
        fs::write(home.path().join(".tofurc"), text).expect("a file");
        let config = CliConfig::load(&Environment::from_iter([("HOME", home.path())]));
        (home, config.unwrap_or_else(|error| panic!("{error}")))
    }

    fn kinds(sources: &Sources, address: &str) -> Vec<String> {
        let address = ProviderAddress::parse(address).expect(address);
        let kinds = sources.of(&address).map(|location| match location {
            MethodLocation::Direct { .. } => "registry".to_owned(),
            MethodLocation::FilesystemMirror { path, .. } => {
                path.file_name().expect("a name").to_string_lossy().into_owned()
            }
            MethodLocation::NetworkMirror { url, .. } => url.clone(),
            MethodLocation::OciMirror { repository } => repository.text().to_owned(),
        });
        kinds.collect()
    }

    #[test]
    fn the_methods_count_that_have_the_provider_in_their_order() {
        let (_home, config) = config(
            "provider_installation {\n dev_overrides { \"a/b\" = \"/dev/b\" }\n network_mirror {\n url = \"https://m/\"\n exclude = \
             [\"a/*\"]\n }\n filesystem_mirror {\n path = \"/x/one\"\n include = [\"example.com/*/*\"]\n }\n direct {}\n}",
        );
        let sources = Sources::new(&config, []);
        assert_eq!(kinds(&sources, "random"), ["https://m/", "registry"]);
        assert_eq!(kinds(&sources, "example.com/a/b"), ["https://m/", "one", "registry"]);
        assert_eq!(kinds(&sources, "a/b"), ["registry"]);
        let address = ProviderAddress::parse("a/b").expect("an address");
        assert_eq!(sources.dev_override(&address), Some(Path::new("/dev/b")));
        assert!(sources.place().ends_with(".tofurc:1:1"), "{}", sources.place());
        assert_eq!(sources.dev_override(&ProviderAddress::parse("a/c").expect("an address")), None);
        let with_project = sources.with_first(FilesystemMirror::of_project(Path::new("/project")));
        assert_eq!(kinds(&with_project, "a/b"), ["providers", "registry"]);
    }

    #[test]
    fn a_block_without_a_method_leaves_no_place() {
        let (_home, config) = config("provider_installation {}");
        assert_eq!(kinds(&Sources::new(&config, []), "random"), [""; 0]);
    }

    #[test]
    fn without_a_block_directories_that_are_there_go_before_the_registry() {
        let (home, config) = config("");
        let package = home.path().join("two/registry.opentofu.org/hashicorp/random/3.0.0/linux_amd64");
        fs::create_dir_all(package).expect("a directory");
        fs::create_dir_all(home.path().join("three")).expect("a directory");
        let directories = ["one", "two", "three"].map(|name| home.path().join(name));
        let sources = Sources::new(&config, directories);
        // A provider in any implied directory is not installed from its registry.
        assert_eq!(kinds(&sources, "random"), ["two", "three"]);
        assert_eq!(kinds(&sources, "tls"), ["two", "three", "registry"]);
    }
}
