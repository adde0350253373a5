//! The home directory, with the state store, its key and caches; and the directory of installed
//! providers.

use isthmus_platform::HOME;
use isthmus_platform::process::home_of_account;
use std::path::PathBuf;

use isthmus_common::Environment;
use isthmus_common::permissions::{PermissionsError, require_trusted};
use isthmus_provider::schema_cache::SchemaCache;
use isthmus_state::{EncryptedStoreError, KeySource, LazyEncryptedStore, StoreAddress};

use crate::settings::Settings;

/// The Go bridge's variable for the provider cache.
const PROVIDER_CACHE: &str = "PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR";

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no home directory for the state store\nhelp: set ISTHMUS_HOME to a directory")]
pub struct HomeError;

/// The directory of the state store and its key is missing or not trusted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StateDirectoryError {
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Another user may change its contents.
    #[error("home directory refused")]
    Untrusted(#[from] PermissionsError),
}

#[derive(Debug, thiserror::Error)]
pub enum OpenStoreError {
    #[error(transparent)]
    Place(#[from] StateDirectoryError),
    #[error(transparent)]
    EncryptedStore(#[from] EncryptedStoreError),
}

#[derive(Debug, thiserror::Error)]
#[error("no home directory for the provider cache\nhelp: set {PROVIDER_CACHE} to a directory")]
pub struct NoProviderCache;

/// The directory of the state store's key.
///
/// # Errors
/// If there is none, or another user may write to it.
pub fn home(settings: &Settings) -> Result<PathBuf, StateDirectoryError> {
    let directory = directory(settings, &Environment::current())?;
    require_trusted(&directory)?;
    Ok(directory)
}

/// The configured store, which is not opened yet.
///
/// # Errors
/// If there is no directory for it, or another user may write to it.
pub fn state_store(settings: &Settings) -> Result<LazyEncryptedStore, StateDirectoryError> {
    let address = match &settings.store {
        Some(address) => address.clone(),
        None => StoreAddress::in_directory(&home(settings)?),
    };
    let key = match &settings.key {
        Some(key) => key.clone(),
        None => KeySource::Directory(home(settings)?),
    };
    Ok(LazyEncryptedStore::new(address, key))
}

/// The directory of unpacked providers, which is shared with the Go bridge.
pub fn provider_cache(environment: &Environment) -> Result<PathBuf, NoProviderCache> {
    let configured = environment.path(PROVIDER_CACHE);
    configured.or_else(|| Some(pulumi_home(environment)?.join("dynamic_tf_plugins"))).ok_or(NoProviderCache)
}

/// The schema cache in the home directory; `None` if it is disabled, or the directory is missing or
/// writable by another user.
pub fn schema_cache(settings: &Settings) -> Option<SchemaCache> {
    if !settings.schema_cache {
        return None;
    }
    let directory = directory(settings, &Environment::current()).ok()?;
    let cache = directory.join("cache");
    let schemas = cache.join("schemas");
    // Without a cache, starts are slower; an untrusted one would determine schemas.
    let is_trusted = [&directory, &cache, &schemas].into_iter().all(|path| require_trusted(path).is_ok());
    is_trusted.then(|| SchemaCache::new(schemas))
}

/// The home directory, which need not exist.
pub fn directory(settings: &Settings, environment: &Environment) -> Result<PathBuf, HomeError> {
    let directory = settings.home.clone().or_else(|| Some(pulumi_home(environment)?.join("isthmus")));
    // Absolute for messages: an engine runs its plugins in the project's directory.
    directory.map(|directory| std::path::absolute(&directory).unwrap_or(directory)).ok_or(HomeError)
}

/// The directory of the Pulumi CLI, with its plugins and credentials.
///
/// Without `PULUMI_HOME`, the CLI takes the home directory that the user database has for its user, whatever `HOME` says, as Go's
/// `os/user` does. In containers of build services the two differ.
pub fn pulumi_cli_home(environment: &Environment) -> Option<PathBuf> {
    let of_user = || home_of_account().map(|home| home.join(".pulumi"));
    environment.path("PULUMI_HOME").or_else(of_user).or_else(|| pulumi_home(environment))
}

/// The directory below which isthmus and its provider cache are: that of the Pulumi CLI in the usual case.
pub(crate) fn pulumi_home(environment: &Environment) -> Option<PathBuf> {
    environment.path("PULUMI_HOME").or_else(|| Some(environment.path(HOME)?.join(".pulumi")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_in_the_pulumi_home_unless_it_is_configured() {
        let find = |configured: Option<&str>, variables: &[(&str, &str)]| {
            let settings = Settings { home: configured.map(PathBuf::from), ..Settings::default() };
            directory(&settings, &variables.iter().copied().collect()).ok()
        };
        let both = [("PULUMI_HOME", "/pulumi"), ("HOME", "/home/me")];
        assert_eq!(find(Some("/isthmus"), &both), Some(PathBuf::from("/isthmus")));
        assert_eq!(find(None, &both), Some(PathBuf::from("/pulumi/isthmus")));
        assert_eq!(
            find(None, &[("PULUMI_HOME", ""), both[1]]),
            Some(PathBuf::from("/home/me/.pulumi/isthmus"))
        );
        assert_eq!(find(None, &[]), None);
    }

    #[test]
    fn the_directory_of_the_pulumi_cli_is_configured_or_in_the_home() {
        let environment = [("PULUMI_HOME", "/pulumi"), ("HOME", "/home/me")].into_iter().collect();
        assert_eq!(pulumi_cli_home(&environment), Some(PathBuf::from("/pulumi")));
    }

    #[test]
    fn providers_are_in_the_pulumi_home_unless_it_is_configured() {
        let find = |variables: &[(&str, &str)]| provider_cache(&variables.iter().copied().collect()).ok();
        let all = [(PROVIDER_CACHE, "/providers"), ("PULUMI_HOME", "/pulumi"), ("HOME", "/home/me")];
        assert_eq!(find(&all), Some(PathBuf::from("/providers")));
        assert_eq!(find(&all[1..]), Some(PathBuf::from("/pulumi/dynamic_tf_plugins")));
        assert_eq!(find(&all[2..]), Some(PathBuf::from("/home/me/.pulumi/dynamic_tf_plugins")));
        assert_eq!(find(&[]), None);
    }
}
