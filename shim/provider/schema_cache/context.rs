//! What a provider's schema may depend on besides its executable.

use std::path::PathBuf;

use super::EnvironmentPrint;

/// Environment and working directory of a provider.
///
/// Some providers' schemas depend on variables; others (such as `tfcoremock`) have resources that a
/// file in the working directory defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchContext {
    pub(super) environment: EnvironmentPrint,
    pub(super) directory: PathBuf,
}

impl LaunchContext {
    /// With an absolute working directory.
    pub fn new(environment: EnvironmentPrint, directory: PathBuf) -> Self {
        Self { environment, directory }
    }
}
