//! The folder that holds the store of objects, its key, and caches; and the one that holds providers.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use isthmus_shim::cache::SchemaCache;
use isthmus_shim::state::{KeySource, LazyVault, Secret, StoreAddress, StoreError, VaultError};

use crate::settings;

/// The Go bridge's variable for the folder of providers.
const PROVIDER_CACHE: &str = "PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR";

/// There is no folder.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("there is no home folder to keep the store of objects in; set ISTHMUS_HOME to a folder")]
pub struct HomeError;

/// The settings do not say where the store of objects is, or with which key.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlaceError {
    /// There is no place for it.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The address makes no sense.
    #[error(transparent)]
    Address(#[from] Arc<StoreError>),
    /// It is not clear which key is meant.
    #[error(
        "several keys are configured for the store of objects; set one of ISTHMUS_KEY_FILE, ISTHMUS_KEY and ISTHMUS_PASSPHRASE"
    )]
    SeveralKeys,
}

/// The store of objects cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenVaultError {
    /// Nobody knows where it is.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// It cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// There is no folder of providers.
#[derive(Debug, thiserror::Error)]
#[error("there is no home folder to look for providers in; set {PROVIDER_CACHE} to a folder")]
pub struct NoProviderCache;

/// The store that the environment names; nothing is opened yet.
///
/// # Errors
/// When the settings make no sense.
pub fn vault() -> Result<LazyVault, PlaceError> {
    let folder = folder(settings::HOME.read(), |name| std::env::var_os(name));
    Ok(LazyVault::new(address(folder.clone())?, key(folder)?))
}

fn address(folder: Result<PathBuf, HomeError>) -> Result<StoreAddress, PlaceError> {
    let Some(configured) = settings::STORE.read() else {
        return Ok(StoreAddress::in_folder(&folder?));
    };
    let Some(text) = configured.to_str() else { return Ok(StoreAddress::File(PathBuf::from(configured))) };
    Ok(match StoreAddress::parse(text).map_err(Arc::new)? {
        StoreAddress::Server(server) => {
            StoreAddress::Server(server.trusting(settings::STORE_CA.read().map(PathBuf::from)))
        }
        file => file,
    })
}

fn key(folder: Result<PathBuf, HomeError>) -> Result<KeySource, PlaceError> {
    let text = |setting: &settings::Setting| setting.read().map(|value| value.to_string_lossy().into_owned());
    match (settings::KEY_FILE.read(), text(&settings::KEY), text(&settings::PASSPHRASE)) {
        (None, None, None) => Ok(KeySource::Folder(folder?)),
        (Some(file), None, None) => Ok(KeySource::File(PathBuf::from(file))),
        (None, Some(digits), None) => Ok(KeySource::Digits(Secret::new(digits))),
        (None, None, Some(words)) => Ok(KeySource::Passphrase(Secret::new(words))),
        _ => Err(PlaceError::SeveralKeys),
    }
}

/// The folder of unpacked providers, which is shared with the Go bridge.
pub fn provider_cache() -> Result<PathBuf, NoProviderCache> {
    provider_folder(|name| std::env::var_os(name)).ok_or(NoProviderCache)
}

fn provider_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let configured = variable(PROVIDER_CACHE).filter(|value| !value.is_empty()).map(PathBuf::from);
    configured.or_else(|| Some(pulumi_home(variable)?.join("dynamic_tf_plugins")))
}

/// The memory of schemas in the folder that the environment names; none if it is turned off, or there is no folder.
pub(super) fn schema_cache() -> Option<SchemaCache> {
    if settings::SCHEMA_CACHE.is_off() {
        return None;
    }
    let folder = folder(settings::HOME.read(), |name| std::env::var_os(name)).ok()?;
    Some(SchemaCache::new(folder.join("cache").join("schemas")))
}

/// The Pulumi home.
pub fn pulumi() -> Option<PathBuf> {
    pulumi_home(|name| std::env::var_os(name))
}

fn folder(
    configured: Option<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, HomeError> {
    configured.map(PathBuf::from).or_else(|| Some(pulumi_home(variable)?.join("isthmus"))).ok_or(HomeError)
}

fn pulumi_home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let variable = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("PULUMI_HOME").or_else(|| Some(variable("HOME")?.join(".pulumi")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_in_the_pulumi_home_unless_it_is_configured() {
        let find = |configured: Option<&str>, variables: &[(&str, &str)]| {
            folder(configured.map(OsString::from), |name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            })
            .ok()
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
    fn providers_are_in_the_pulumi_home_unless_it_is_configured() {
        let find = |variables: &[(&str, &str)]| {
            provider_folder(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            })
        };
        let all = [(PROVIDER_CACHE, "/providers"), ("PULUMI_HOME", "/pulumi"), ("HOME", "/home/me")];
        assert_eq!(find(&all), Some(PathBuf::from("/providers")));
        assert_eq!(find(&all[1..]), Some(PathBuf::from("/pulumi/dynamic_tf_plugins")));
        assert_eq!(find(&all[2..]), Some(PathBuf::from("/home/me/.pulumi/dynamic_tf_plugins")));
        assert_eq!(find(&[]), None);
    }
}
