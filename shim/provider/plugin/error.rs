//! Why a provider could not be launched or reattached to.
//!
//! The text of a [`LaunchError`] contains the path, the cause, the exit of the process and its last
//! output. Its `source` is only the technical cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::connection::ConnectionError;
use super::executable::ExecutableError;
use super::handshake::{Address, HandshakeError};
use super::process::Exit;
use super::socket_directory::SocketDirectoryError;
use super::tls::TlsSetupError;

/// A provider could not be started or connected to.
#[derive(Debug)]
pub struct LaunchError {
    name: String,
    target: LaunchTarget,
    problem: Box<LaunchProblem>,
    end: Option<Box<End>>,
}

/// The exit of a process that failed to start.
#[derive(Debug)]
pub(super) struct End {
    pub(super) exit: Exit,
    /// Whether we killed it.
    pub(super) killed: bool,
}

/// The cause.
#[derive(Debug, thiserror::Error)]
pub enum LaunchProblem {
    /// The file cannot be a provider.
    #[error(transparent)]
    Executable(#[from] ExecutableError),
    /// The working directory is unusable.
    #[error("its working directory {directory} cannot be entered", directory = directory.display())]
    WorkingDirectory {
        /// The working directory.
        directory: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is still open for writing.
    #[error(
        "the file is still open for writing (\"text file busy\"); it may still be being installed, so try again"
    )]
    Busy(#[source] io::Error),
    /// The system failed to start the process: limits, memory.
    #[error("the system did not start the process")]
    Spawn(#[source] io::Error),
    /// The guardian process failed; no provider is started without one.
    #[error("failed to start its guardian process")]
    Guardian(#[source] io::Error),
    /// The socket directory failed.
    #[error(transparent)]
    SocketDirectory(#[from] SocketDirectoryError),
    /// Setting up TLS failed.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    /// The process exited too early.
    #[error(
        "it ended before it announced itself with a handshake line (`1|5 or 6|network|address|grpc|certificate`), so \
         it is not a Terraform provider, or it failed at once"
    )]
    EndedEarly,
    /// It closed its output and keeps running.
    #[error(
        "it closed its standard output without the handshake line by which a Terraform provider announces itself"
    )]
    OutputClosed,
    /// No handshake line in time.
    #[error(
        "it did not announce itself within {} s with the handshake line of a Terraform provider",
        within.as_secs_f32()
    )]
    Silent {
        /// The timeout.
        within: Duration,
    },
    /// An invalid handshake line.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// It does not accept connections.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// It accepts a connection, but does not respond.
    #[error("it took a connection and then did not answer the first call: {answer}")]
    Unanswered {
        /// gRPC's code name of the failure.
        answer: String,
        /// The cause.
        #[source]
        source: Box<tonic::Status>,
    },
    /// By its health service.
    #[error("it says of itself that it is not serving")]
    NotServing,
}

#[derive(Debug)]
enum LaunchTarget {
    File(PathBuf),
    Address(Address),
}

impl LaunchError {
    pub(super) fn start(name: &str, executable: &Path, problem: impl Into<LaunchProblem>) -> Self {
        Self::new(name, LaunchTarget::File(executable.to_owned()), problem.into())
    }

    pub(super) fn reattach(name: &str, address: &Address, problem: impl Into<LaunchProblem>) -> Self {
        Self::new(name, LaunchTarget::Address(address.clone()), problem.into())
    }

    pub(super) fn with_end(mut self, end: End) -> Self {
        self.end = Some(Box::new(end));
        self
    }

    fn new(name: &str, target: LaunchTarget, problem: LaunchProblem) -> Self {
        Self { name: name.to_owned(), target, problem: Box::new(problem), end: None }
    }

    /// The cause.
    pub fn problem(&self) -> &LaunchProblem {
        &self.problem
    }

    /// The exit of the process, if there was one.
    pub fn exit(&self) -> Option<&Exit> {
        self.end.as_deref().map(|end| &end.exit)
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            LaunchTarget::File(path) => {
                write!(formatter, "cannot start the provider {} ({})", self.name, path.display())?
            }
            LaunchTarget::Address(address) => {
                write!(formatter, "cannot reattach to the provider {} ({address})", self.name)?;
            }
        }
        write!(formatter, ": {}", self.problem)?;
        match self.end.as_deref() {
            Some(End { exit, killed: false }) => write!(formatter, ". The process ended with {exit}"),
            Some(End { exit, killed: true }) => {
                write!(formatter, ". The process was killed then{}", exit.last_words())
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for LaunchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The problem is part of the text.
        std::error::Error::source(&*self.problem)
    }
}
