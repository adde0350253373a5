//! Specification of a launch.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use isthmus_common::Environment;

use super::guardian::{Guardian, OtherSessions};

/// How to launch a provider.
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    /// Name in messages and log records. Providers' own log lines have a level of their own where it is their type.
    pub name: String,
    /// The executable; not searched in `PATH`.
    pub executable: PathBuf,
    /// Arguments; providers need none.
    pub args: Vec<OsString>,
    /// Variables to inherit; this process's by default.
    pub environment: Environment,
    /// Working directory; ours by default.
    pub working_directory: Option<PathBuf>,
    /// Timeout of the handshake line; 60 s in Terraform.
    pub start_timeout: Duration,
    /// Whether to use mutual TLS. Without it, only the private socket directory protects the
    /// connection.
    pub mutual_tls: bool,
    /// Kills it when we cannot.
    pub guardian: Guardian,
    /// What to do with processes in other sessions.
    pub other_sessions: OtherSessions,
}

impl LaunchSpec {
    /// Launches `executable` as Terraform would.
    pub fn new(name: impl Into<String>, executable: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            executable: executable.into(),
            args: Vec::new(),
            environment: Environment::current(),
            working_directory: None,
            start_timeout: Duration::from_secs(60),
            mutual_tls: true,
            guardian: Guardian::thread(),
            other_sessions: OtherSessions::Leave,
        }
    }
}
