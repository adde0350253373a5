//! How a provider is started.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::guardian::{Guardian, OtherSessions};

/// How to start a provider.
#[derive(Clone)]
pub struct LaunchSpec {
    /// What messages and log records call it.
    pub name: String,
    /// The file to run; never looked up in `PATH`.
    pub executable: PathBuf,
    /// Its arguments; providers need none.
    pub args: Vec<OsString>,
    /// Variables beside our own environment, which it inherits; they win over ours.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs; our own working directory if not given.
    pub working_directory: Option<PathBuf>,
    /// How long it may take until it announces itself. Terraform waits for 60 s.
    pub start_timeout: Duration,
    /// Whether the connection is by mutual TLS. Without, its private socket directory is the only protection.
    pub mutual_tls: bool,
    /// What ends it when we cannot.
    pub guardian: Guardian,
    /// What becomes of processes that it has put into another session.
    pub other_sessions: OtherSessions,
}

impl LaunchSpec {
    /// Starts `executable` as Terraform would.
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

/// The values of the variables are left out: credentials are among them.
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
