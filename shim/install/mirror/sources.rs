//! From where a provider comes, in which order: what the CLI configuration says, or what goes without saying.
//!
//! The rules are OpenTofu's. With a `provider_installation` block, those of its methods count that have the provider. Without,
//! some directories count that are there, and then the provider's registry, unless one of the directories has any version of it. A
//! version may come from any source that counts; where several have the same one, the first does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::FilesystemMirror;
use crate::{
    CliConfig, InstallationMethod, MethodLocation, ProviderAddress, ProviderPattern, RepositoryTemplate,
};

/// From where all providers come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    overrides: BTreeMap<ProviderAddress, PathBuf>,
    /// Where the configuration says so.
    place: String,
    sources: Vec<Source>,
}

/// One place, and which providers come from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The place.
    pub kind: SourceKind,
    include: Vec<ProviderPattern>,
    exclude: Vec<ProviderPattern>,
    /// Providers that are excluded because another place has them.
    elsewhere: BTreeSet<ProviderAddress>,
}

/// A place that providers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The registry that the provider's address names.
    Registry {
        /// How often a download is repeated, if it is said.
        download_retry_count: Option<u32>,
    },
    /// A directory.
    Filesystem(FilesystemMirror),
    /// A server of files.
    Network {
        /// Where the directory of hosts is.
        url: String,
        /// How often a download is repeated, if it is said.
        download_retry_count: Option<u32>,
        /// The sums that it gives for other platforms may go into a lock file.
        trust_all_hashes: bool,
    },
    /// A registry of containers.
    Oci(RepositoryTemplate),
}

/// A provider that is used as it lies in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevOverride<'a> {
    /// The directory, which holds its program.
    pub folder: &'a Path,
    /// What the user is to be told, since no version and no sum is looked at.
    pub warning: String,
}

impl Sources {
    /// What a configuration says. Where it says nothing, those of the implied directories count that are there.
    pub fn new(config: &CliConfig, implied: impl IntoIterator<Item = PathBuf>) -> Self {
        if let Some(installation) = &config.provider_installation {
            let sources = installation.methods.iter().map(Source::of_method).collect();
            let overrides = installation.dev_overrides.clone();
            // With overrides alone, no other provider can be installed: that is what it says.
            return Self { overrides, place: installation.place.clone(), sources };
        }
        let mut found = BTreeSet::new();
        let mut sources = Vec::new();
        for folder in implied.into_iter().filter(|folder| folder.is_dir()) {
            let mirror = FilesystemMirror::new(folder);
            // One that cannot be read is told when a provider is looked for in it.
            found.extend(mirror.providers().unwrap_or_default());
            sources.push(Source::of(SourceKind::Filesystem(mirror)));
        }
        let registry = Source::of(SourceKind::Registry { download_retry_count: None });
        sources.push(Source { elsewhere: found, ..registry });
        Self { overrides: BTreeMap::new(), place: String::new(), sources }
    }

    /// With a directory that goes before all others, such as the providers that a project has already.
    #[must_use]
    pub fn with_first(mut self, mirror: FilesystemMirror) -> Self {
        self.sources.insert(0, Source::of(SourceKind::Filesystem(mirror)));
        self
    }

    /// The places that a provider can come from, best first.
    pub fn of<'a>(&'a self, address: &'a ProviderAddress) -> impl Iterator<Item = &'a SourceKind> {
        self.sources.iter().filter(|source| source.has(address)).map(|source| &source.kind)
    }

    /// Where the configuration says all this, as `FILE:LINE:COLUMN`; empty where it says nothing.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Where a provider's developers want it to be taken from.
    pub fn dev_override(&self, address: &ProviderAddress) -> Option<DevOverride<'_>> {
        let folder = self.overrides.get(address)?.as_path();
        let warning = format!(
            "the provider {} is taken as it lies in {}, because dev_overrides says so at {}: neither its version nor its sum is \
             looked at",
            address.for_display(),
            folder.display(),
            self.place
        );
        Some(DevOverride { folder, warning })
    }
}

impl Source {
    fn of(kind: SourceKind) -> Self {
        Self { kind, include: Vec::new(), exclude: Vec::new(), elsewhere: BTreeSet::new() }
    }

    fn of_method(method: &InstallationMethod) -> Self {
        let kind = match method.location.clone() {
            MethodLocation::Direct { download_retry_count } => SourceKind::Registry { download_retry_count },
            MethodLocation::FilesystemMirror { path } => SourceKind::Filesystem(FilesystemMirror::new(path)),
            MethodLocation::NetworkMirror { url, download_retry_count, trust_all_hashes } => {
                SourceKind::Network { url, download_retry_count, trust_all_hashes }
            }
            MethodLocation::OciMirror { repository } => SourceKind::Oci(repository),
        };
        Self { include: method.include.clone(), exclude: method.exclude.clone(), ..Self::of(kind) }
    }

    fn has(&self, address: &ProviderAddress) -> bool {
        let matches = |patterns: &[ProviderPattern]| patterns.iter().any(|pattern| pattern.matches(address));
        !self.elsewhere.contains(address)
            && !matches(&self.exclude)
            && (self.include.is_empty() || matches(&self.include))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Environment;

    fn config(text: &str) -> (tempfile::TempDir, CliConfig) {
        let home = tempfile::tempdir().expect("a directory");
        fs::write(home.path().join(".tofurc"), text).expect("a file");
        let config = CliConfig::load(&Environment::from_pairs([("HOME", home.path())]));
        (home, config.unwrap_or_else(|error| panic!("{error}")))
    }

    fn kinds(sources: &Sources, address: &str) -> Vec<String> {
        let address = ProviderAddress::parse(address).expect(address);
        let kinds = sources.of(&address).map(|kind| match kind {
            SourceKind::Registry { .. } => "registry".to_owned(),
            SourceKind::Filesystem(mirror) => {
                mirror.root().file_name().expect("a name").to_string_lossy().into_owned()
            }
            SourceKind::Network { url, .. } => url.clone(),
            SourceKind::Oci(template) => template.text().to_owned(),
        });
        kinds.collect()
    }

    #[test]
    fn the_methods_count_that_have_the_provider_in_their_order() {
        let (_home, config) = config(
            "provider_installation {\n dev_overrides { \"a/b\" = \"/dev/b\" }\n network_mirror { url = \"https://m/\" exclude = \
             [\"a/*\"] }\n filesystem_mirror { path = \"/x/one\" include = [\"example.com/*/*\"] }\n direct {}\n}",
        );
        let sources = Sources::new(&config, []);
        assert_eq!(kinds(&sources, "random"), ["https://m/", "registry"]);
        assert_eq!(kinds(&sources, "example.com/a/b"), ["https://m/", "one", "registry"]);
        assert_eq!(kinds(&sources, "a/b"), ["registry"]);
        let address = ProviderAddress::parse("a/b").expect("an address");
        let found = sources.dev_override(&address).expect("it is overridden");
        assert_eq!(found.folder, Path::new("/dev/b"));
        assert!(
            found.warning.starts_with("the provider a/b is taken as it lies in /dev/b, because"),
            "{}",
            found.warning
        );
        assert!(found.warning.contains(".tofurc:1:1: neither"), "{}", found.warning);
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
    fn without_a_block_folders_that_are_there_go_before_the_registry() {
        let (home, config) = config("");
        let package = home.path().join("two/registry.opentofu.org/hashicorp/random/3.0.0/linux_amd64");
        fs::create_dir_all(package).expect("a directory");
        fs::create_dir_all(home.path().join("three")).expect("a directory");
        let folders = ["one", "two", "three"].map(|name| home.path().join(name));
        let sources = Sources::new(&config, folders);
        // A provider that is in any of the directories does not come from its registry as well.
        assert_eq!(kinds(&sources, "random"), ["two", "three"]);
        assert_eq!(kinds(&sources, "tls"), ["two", "three", "registry"]);
    }
}
