//! Why a provider could not be started or reattached to, in words for who has to mend it.
//!
//! The text of a [`LaunchError`] is complete by itself: the path, what was expected, what was found instead, how the
//! process ended and what it said last. Its `source` is only the technical cause below that.

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

/// A provider that is not running, or not one that we can talk to.
#[derive(Debug)]
pub struct LaunchError {
    name: String,
    place: Place,
    problem: Box<LaunchProblem>,
    end: Option<Box<End>>,
}

/// How a process that failed us ended.
#[derive(Debug)]
pub(super) struct End {
    pub(super) exit: Exit,
    /// Whether it ended because we had given it up.
    pub(super) killed: bool,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum LaunchProblem {
    /// The file cannot be a provider.
    #[error(transparent)]
    Executable(#[from] ExecutableError),
    /// The directory that it should run in.
    #[error("its working directory {directory} cannot be entered", directory = directory.display())]
    WorkingDirectory {
        /// As given.
        directory: PathBuf,
        /// What the system says about it.
        #[source]
        source: io::Error,
    },
    /// Somebody is still writing the file.
    #[error(
        "the file is still open for writing (\"text file busy\"); it may still be being installed, so try again"
    )]
    Busy(#[source] io::Error),
    /// The system refuses for a reason of its own: limits, memory.
    #[error("the system did not start the process")]
    Spawn(#[source] io::Error),
    /// There is no guardian, without which no provider is started.
    #[error("failed to start its guardian process")]
    Guardian(#[source] io::Error),
    /// No place for its socket.
    #[error(transparent)]
    SocketDirectory(#[from] SocketDirectoryError),
    /// No certificates for its connection.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    /// It ended too early.
    #[error(
        "it ended before it announced itself with a handshake line (`1|5 or 6|network|address|grpc|certificate`), so \
         it is not a Terraform provider, or it failed at once"
    )]
    EndedEarly,
    /// It closed its output and runs on.
    #[error(
        "it closed its standard output without the handshake line by which a Terraform provider announces itself"
    )]
    OutputClosed,
    /// It says nothing.
    #[error(
        "it did not announce itself within {} s with the handshake line of a Terraform provider",
        within.as_secs_f32()
    )]
    Silent {
        /// How long it was waited for.
        within: Duration,
    },
    /// It says something else.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// It does not take the connection that it announced.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// It takes the connection and then does not answer on it.
    #[error("it took a connection and then did not answer the first call: {answer}")]
    Unanswered {
        /// gRPC's name for what came instead.
        answer: String,
        /// The status itself.
        #[source]
        source: Box<tonic::Status>,
    },
    /// By its own word.
    #[error("it says of itself that it is not serving")]
    NotServing,
}

#[derive(Debug)]
enum Place {
    File(PathBuf),
    Address(Address),
}

impl LaunchError {
    pub(super) fn start(name: &str, executable: &Path, problem: impl Into<LaunchProblem>) -> Self {
        Self::new(name, Place::File(executable.to_owned()), problem.into())
    }

    pub(super) fn reattach(name: &str, address: &Address, problem: impl Into<LaunchProblem>) -> Self {
        Self::new(name, Place::Address(address.clone()), problem.into())
    }

    pub(super) fn with_end(mut self, end: End) -> Self {
        self.end = Some(Box::new(end));
        self
    }

    fn new(name: &str, place: Place, problem: LaunchProblem) -> Self {
        Self { name: name.to_owned(), place, problem: Box::new(problem), end: None }
    }

    /// What went wrong, to be told apart.
    pub fn problem(&self) -> &LaunchProblem {
        &self.problem
    }

    /// How the process ended, when there was one.
    pub fn exit(&self) -> Option<&Exit> {
        self.end.as_deref().map(|end| &end.exit)
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File(path) => {
                write!(formatter, "cannot start the provider {} ({})", self.name, path.display())?
            }
            Place::Address(address) => {
                write!(formatter, "cannot reattach to the provider {} ({address})", self.name)?;
            }
        }
        write!(formatter, ": {}", self.problem)?;
        match self.end.as_deref() {
            Some(End { exit, killed: false }) => write!(formatter, ". The process ended with {exit}"),
            Some(End { exit, killed: true }) => {
                formatter.write_str(". The process was killed then")?;
                exit.write_last_words(formatter)
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for LaunchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The problem itself is in the text already.
        std::error::Error::source(&*self.problem)
    }
}
