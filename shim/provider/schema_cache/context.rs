//! What a provider's schema may depend on beside its executable.

use std::ffi::OsString;
use std::path::PathBuf;

use super::EnvironmentPrint;

/// Where and with which environment a provider is started.
///
/// Some providers offer more or less by what a variable says; others (such as `tfcoremock`) describe resources that a
/// file in their working directory defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchContext {
    pub(super) environment: EnvironmentPrint,
    pub(super) directory: PathBuf,
}

impl LaunchContext {
    /// In a working directory, by its absolute path.
    pub fn new(environment: EnvironmentPrint, directory: PathBuf) -> Self {
        Self { environment, directory }
    }

    /// Of a provider that inherits our working directory, and our environment with `extra` variables that win over ours.
    /// None if the directory was removed.
    pub fn of_child(extra: &[(OsString, OsString)]) -> Option<Self> {
        Some(Self::new(EnvironmentPrint::of_child(extra), std::env::current_dir().ok()?))
    }
}
