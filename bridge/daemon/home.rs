//! The folder that holds the store of objects, its key, and caches.

use std::ffi::OsString;
use std::path::PathBuf;

use isthmus_shim::state::{Vault, VaultError};

use crate::settings;

/// There is no folder.
#[derive(Debug, thiserror::Error)]
#[error("there is no home folder to keep the store of objects in; set ISTHMUS_HOME to a folder")]
pub struct HomeError;

/// The store of objects cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenVaultError {
    /// There is no place for it.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// It cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// Opens the store in the folder that the environment names.
pub(super) async fn open_vault() -> Result<Vault, OpenVaultError> {
    let folder = folder(settings::HOME.read(), |name| std::env::var_os(name))?;
    let key = settings::KEY_FILE.read().map(PathBuf::from);
    Ok(Vault::open(&folder, key.as_deref()).await?)
}

fn folder(
    configured: Option<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, HomeError> {
    let variable = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    configured
        .map(PathBuf::from)
        .or_else(|| Some(variable("PULUMI_HOME")?.join("isthmus")))
        .or_else(|| Some(variable("HOME")?.join(".pulumi").join("isthmus")))
        .ok_or(HomeError)
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
}
