//! Specification of a launch.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::guardian::{Guardian, OtherSessions};

/// How to launch a provider.
#[derive(Clone)]
pub struct LaunchSpec {
    /// Name in messages and log records. Providers' own log lines have a level of their own where it is their type.
    pub name: String,
    /// The executable; not searched in `PATH`.
    pub executable: PathBuf,
    /// Arguments; providers need none.
    pub args: Vec<OsString>,
    /// Additional variables, which override inherited ones.
    pub environment: Vec<(OsString, OsString)>,
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
            environment: Vec::new(),
            working_directory: None,
            start_timeout: Duration::from_secs(60),
            mutual_tls: true,
            guardian: Guardian::thread(),
            other_sessions: OtherSessions::Leave,
        }
    }
}

/// Omits the values of variables, which include credentials.
impl fmt::Debug for LaunchSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&OsString> = self.environment.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("LaunchSpec")
            .field("name", &self.name)
            .field("executable", &self.executable)
            .field("args", &self.args)
            .field("environment", &variables)
            .field("working_directory", &self.working_directory)
            .field("start_timeout", &self.start_timeout)
            .field("mutual_tls", &self.mutual_tls)
            .field("guardian", &self.guardian)
            .field("other_sessions", &self.other_sessions)
            .finish()
    }
}
