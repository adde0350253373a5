//! The providers of a migration, each started for its first resource, and their packages.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::Environment;
use isthmus_install::{
    LOCK_FILE_NAME, LockFile, ProviderAddress, ProviderCache, VersionConstraint, find_executable,
};
use isthmus_provider::Provider;

use crate::cli::output::{inform, warn};
use isthmus_context::home;
use isthmus_context::project::names_file::NamesFile;
use isthmus_context::settings::Settings;
use isthmus_migrate::names::unique;
use isthmus_operations::resource::Target;
use isthmus_package::names::choices::NameChoices;
use isthmus_package::parameters::{
    Arguments, LocalArguments, Parameter, ParameterSource, RemoteArguments, Source,
};
use isthmus_package::shape::ResourceShape;
use isthmus_session::daemon::{Chosen, Instance, OpenPackageError, open_package};
use isthmus_session::engine::EngineLog;
use isthmus_session::process_context::{ProcessContext, StartedBy};

const GRACE: Duration = Duration::from_secs(5);

/// The providers started so far.
#[derive(Debug)]
pub(super) struct Providers<'a> {
    /// The user's binaries, by type or address.
    files: &'a [(String, String)],
    lock: Option<LockFile>,
    /// The names that the project of the migration has chosen.
    names_file: Option<NamesFile>,
    context: Arc<ProcessContext>,
    chosen: Chosen,
    log: EngineLog,
    /// By address, or by parameter.
    known: BTreeMap<String, Result<Arc<Instance>, Arc<OpenPackageError>>>,
    /// Names of packages.
    names: HashSet<String>,
}

impl<'a> Providers<'a> {
    /// `state` is the file that lock files are searched beside.
    pub(super) fn new(
        files: &'a [(String, String)],
        state: &Path,
        names_file: Option<NamesFile>,
        settings: &Arc<Settings>,
    ) -> Self {
        let context = Arc::new(ProcessContext::own(StartedBy::Other, Arc::clone(settings)));
        Self {
            files,
            lock: lock_file(state),
            names_file,
            chosen: Chosen::in_directory(context.working_directory().unwrap_or(Path::new("")), &context),
            context,
            log: EngineLog::start(None),
            known: BTreeMap::new(),
            names: HashSet::new(),
        }
    }

    /// Removes known secrets from a text.
    pub(super) fn redact(&self, text: &str) -> String {
        self.log.secrets().redact(text).into_owned()
    }

    /// Those of these addresses that only the state names.
    pub(super) fn only_of_state<'b>(&self, addresses: impl IntoIterator<Item = &'b str>) -> BTreeSet<String> {
        // Those of --provider are files.
        let named = addresses.into_iter().filter_map(|address| match self.source(address).0 {
            Source::Remote(remote) => self.chosen.unless_chosen(&remote.name, &remote.version),
            Source::Local(_) => None,
        });
        named.collect()
    }

    /// Those of these parameter values that only the stack export names.
    pub(super) fn only_of_export<'b>(&self, values: impl IntoIterator<Item = &'b [u8]>) -> BTreeSet<String> {
        // What cannot be decoded is not started.
        let sources = values.into_iter().filter_map(|value| Some(Parameter::decode(value).ok()?.source));
        let named = sources.filter_map(|source| match source {
            ParameterSource::Remote { url, version } => self.chosen.unless_chosen(&url, &version),
            ParameterSource::Local { path } => {
                let file = find_executable(&self.context.resolve(Path::new(&path)));
                Some(file.display().to_string())
            }
        });
        named.collect()
    }

    /// The provider of this address, started but not configured, as a package whose name no other
    /// provider has.
    pub(super) async fn of_address(&mut self, address: &str) -> Result<Arc<Instance>, Arc<OpenPackageError>> {
        if let Some(known) = self.known.get(address) {
            return known.clone();
        }
        let (source, provider_type) = self.source(address);
        let name = unique(&provider_type, |name| self.names.insert(name.to_owned()));
        let provider_name = Some(name).filter(|name| *name != provider_type);
        let arguments = Arguments {
            source,
            includes: Vec::new(),
            excludes: Vec::new(),
            provider_name,
            index_document_directory: None,
            names: NameChoices::default(),
        };
        self.open(address, arguments).await
    }

    /// The provider of a package with this parameter value.
    pub(super) async fn of_parameter(
        &mut self,
        value: &[u8],
        parameter: &Parameter,
    ) -> Result<Arc<Instance>, Arc<OpenPackageError>> {
        let key = String::from_utf8_lossy(value);
        if let Some(known) = self.known.get(&*key) {
            return known.clone();
        }
        self.open(&key, parameter.arguments()).await
    }

    async fn open(
        &mut self,
        key: &str,
        arguments: Arguments,
    ) -> Result<Arc<Instance>, Arc<OpenPackageError>> {
        let mut warnings = Vec::new();
        let report = |line: String| inform(&line);
        let context = match &arguments.source {
            Source::Remote(remote) => self.chosen.context_of(&remote.name, &remote.version),
            Source::Local(_) => &self.context,
        };
        let names = self.names_file.clone();
        let opened = open_package(arguments, names, context, &self.log, &report, &mut warnings).await;
        warnings.iter().for_each(|warning| warn(warning));
        let opened = opened.map_err(Arc::new);
        self.known.insert(key.to_owned(), opened.clone());
        opened
    }

    /// The provider of an address of a state, and its type: in the user's file, or from a registry.
    fn source(&self, address: &str) -> (Source, String) {
        // An address from before Terraform 0.13 has only the type.
        let address = address.strip_prefix("-/").unwrap_or(address);
        let provider_type = address.rsplit('/').next().unwrap_or(address).to_owned();
        let by = |name: &str| self.files.iter().find(|(known, _)| known == name).map(|(_, file)| file);
        if let Some(file) = by(address).or_else(|| by(&provider_type)) {
            let file = self.context.resolve(&find_executable(Path::new(file)));
            let path = file.to_string_lossy().into_owned();
            return (Source::Local(LocalArguments { path, upstream_repository: None }), provider_type);
        }
        let version = ProviderAddress::parse(address).ok().and_then(|address| self.version(&address));
        let remote = RemoteArguments {
            name: address.to_owned(),
            version: version.unwrap_or_default(),
            full_documentation: false,
        };
        (Source::Remote(remote), provider_type)
    }

    /// The version in the lock file, or else the newest one in the cache.
    fn version(&self, address: &ProviderAddress) -> Option<String> {
        let beside = self.lock.as_ref().and_then(|lock| lock.provider(address)).map(|locked| &locked.version);
        if let Some(locked) = beside.or_else(|| self.chosen.locked_version(address)) {
            return Some(locked.to_string());
        }
        let cache = ProviderCache::new(home::provider_cache(&Environment::current()).ok()?);
        let any = VersionConstraint::parse("").ok()?;
        cache.find(address, &any).ok().map(|found| found.version.to_string())
    }

    pub(super) async fn end(self) {
        for provider in self.known.into_values().flatten() {
            provider.end(GRACE).await;
        }
        self.log.flush().await;
    }
}

/// A resource type of a package, for operations that make no call of an engine.
pub(super) fn target<'a>(
    provider: &'a Provider,
    instance: &'a Instance,
    shape: Arc<ResourceShape>,
) -> Target<'a> {
    Target::new(provider, shape, instance.package.identity())
}

/// The lock file in the directory of a state, or of the project that a state from standard input
/// is of.
fn lock_file(state: &Path) -> Option<LockFile> {
    let directory = if state == Path::new("-") { Path::new("") } else { state.parent()? };
    let path: PathBuf = directory.join(LOCK_FILE_NAME);
    if !path.exists() {
        return None;
    }
    match LockFile::read(&path) {
        Ok(lock) => {
            lock.warnings.iter().for_each(|warning| warn(warning));
            Some(lock)
        }
        Err(error) => {
            warn(&format!("the lock file is not used: {}", isthmus_common::error_chain(&error)));
            None
        }
    }
}
