//! Whether the providers of the project start: each is started as for an engine, returns its schema, and is stopped.

use std::path::PathBuf;

use isthmus_common::Environment;
use isthmus_install::{Platform, ProviderAddress, find_executable};
use semver::Version;

use super::cache;
use super::finding::{Finding, Judgement};
use super::project_files;
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_package::parameters::{EXECUTABLE_PREFIX, ParameterSource};
use isthmus_session::daemon::{self, Calls, Chosen, ProviderSource, StartError};
use isthmus_session::engine::EngineLog;
use isthmus_session::error_code::of_start;

/// A provider to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    name: String,
    provider_type: String,
    /// `None` if it is not installed, which its first use does.
    executable: Option<PathBuf>,
    /// Whether it is started: a project's file may name any program.
    is_chosen: bool,
}

/// The providers of the project, and the newest installed versions of those that the user has named.
pub(super) fn wanted(
    world: &World,
    project: Option<&project_files::ProjectFiles>,
    cache: Option<&cache::CacheContents>,
) -> Vec<Wanted> {
    let packages =
        || cache.iter().flat_map(|cache| &cache.inventory).flat_map(|inventory| &inventory.packages);
    let installed = |address: &ProviderAddress, version: Option<&Version>| {
        let is_it = |package: &&isthmus_install::CachedPackage| {
            package.address == *address
                && package.platform == Platform::CURRENT
                && version.is_none_or(|version| package.version == *version)
        };
        // The newest come first.
        let found = packages().find(is_it)?;
        let is_usable = !cache.is_some_and(|cache| cache.unusable.contains(&found.executable));
        is_usable.then(|| found.executable.clone())
    };
    let named = world.providers.iter().map(|address| Wanted {
        name: address.for_display(),
        provider_type: address.provider_type().to_owned(),
        executable: installed(address, None),
        is_chosen: true,
    });
    let mut wanted: Vec<Wanted> = named.collect();
    let Some(project) = project else { return wanted };
    let chosen = Chosen::in_directory(&project.directory, &world.context);
    for source in project.providers() {
        match source {
            ParameterSource::Remote { url, version } => {
                let Ok(address) = ProviderAddress::parse(&url) else { continue };
                let exact = Version::parse(&version).ok();
                wanted.push(Wanted {
                    name: format!("{} {version}", address.for_display()),
                    provider_type: address.provider_type().to_owned(),
                    executable: installed(&address, exact.as_ref()),
                    is_chosen: world.starts_named
                        || world.providers.contains(&address)
                        || chosen.has(&address, Some(&version)),
                });
            }
            ParameterSource::Local { path } => {
                let executable = find_executable(&project.resolve(&path));
                let file = executable.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let stem = file.split(['_', '.']).next().unwrap_or_default();
                let provider_type = stem.strip_prefix(EXECUTABLE_PREFIX).unwrap_or(stem).to_owned();
                let is_chosen = world.starts_named;
                wanted.push(Wanted { name: path, provider_type, executable: Some(executable), is_chosen });
            }
        }
    }
    wanted
}

/// `has_packages`: whether the project has packages of the plugin, with or without SDKs.
pub(super) async fn examine(world: &World, wanted: Vec<Wanted>, has_packages: bool) -> Judgement {
    if wanted.is_empty() {
        return Judgement::skipped(if has_packages {
            "the packages of the project have no SDKs, which `pulumi install` generates; isthmus doctor PROVIDER names a provider"
        } else {
            "no provider is named: isthmus doctor PROVIDER names one"
        });
    }
    let (mut shown, mut findings) = (Vec::new(), Vec::new());
    for Wanted { name, provider_type, executable, is_chosen } in wanted {
        let started = match executable {
            None => {
                shown.push(format!("{name} is not installed"));
                continue;
            }
            Some(executable) if matches!(executable.try_exists(), Ok(false)) => {
                let text = format!("the file {} of the provider {name} does not exist", executable.display());
                Err((ErrorCode::ProviderFileUnusable, text))
            }
            Some(_) if !is_chosen => {
                shown.push(format!(
                    "{name} is not started, because only the project names it: --yes starts it"
                ));
                continue;
            }
            Some(executable) => start(world, &provider_type, executable).await,
        };
        shown.push(format!("{name} {}", if started.is_ok() { "starts" } else { "does not start" }));
        findings.extend(started.err().map(|(code, text)| Finding::fault(code, &text)));
    }
    Judgement::new(shown.join(", "), findings)
}

async fn start(world: &World, provider_type: &str, executable: PathBuf) -> Result<(), (ErrorCode, String)> {
    let failed = |error: StartError| {
        let code = of_start(&error).unwrap_or(ErrorCode::ProviderFailed);
        (code, isthmus_common::error_chain(&error))
    };
    // One that runs already is not started by isthmus.
    let source = ProviderSource::in_file(provider_type, executable, &Environment::default());
    let source = source.map_err(|error| failed(error.into()))?;
    let (log, calls, mut warnings) = (EngineLog::start(None), Calls::default(), Vec::new());
    let started = daemon::start(&source, &world.context, log, &calls, &mut warnings).await;
    let (provider, _) = started.map_err(failed)?;
    provider.shutdown().await;
    Ok(())
}
