//! The socket of a daemon on this machine: where it is, and whether to believe that it is the daemon's.

use isthmus_context::error_code::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

use isthmus_common::permissions::{PermissionsError, require_trusted};
use isthmus_platform::local::{Stream, is_socket, peer};
use isthmus_platform::process::User;

use isthmus_context::home;
use isthmus_context::settings::DaemonChoice;
use isthmus_session::process_context::ProcessContext;

/// The directory of the socket in the runtime directory of a user, or in the home directory.
const DIRECTORY: &str = "isthmus";

/// The socket's name in it.
const NAME: &str = "daemon.sock";

/// Why a socket is not used.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// There is none, or no daemon listens on it.
    #[error("no daemon listens on {path}", path = path.display())]
    Absent {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another user may have put it there.
    #[error("the directory of the daemon's socket is refused")]
    Directory(#[source] PermissionsError),
    #[error("{path} is not a socket", path = .0.display())]
    Kind(PathBuf),
    #[error(
        "{path} belongs to the user with uid {owner}, and a daemon gets the environment of its own user and of root only",
        path = path.display()
    )]
    Owner { path: PathBuf, owner: User },
}

/// Where daemons listen.
#[derive(Debug)]
pub struct DaemonSocket;

impl DaemonSocket {
    /// The socket of this user's daemon, in `XDG_RUNTIME_DIR` if there is one, else in the home directory.
    pub fn well_known(context: &ProcessContext) -> Option<PathBuf> {
        let runtime = context.environment().path("XDG_RUNTIME_DIR").filter(|path| path.is_absolute());
        let directory = match runtime {
            Some(runtime) => runtime.join(DIRECTORY),
            None => home::directory(context.settings(), context.environment()).ok()?,
        };
        Some(directory.join(NAME))
    }

    /// The same, if there is a socket. A file that is none is not ours, and no reason to warn.
    pub(super) fn existing(context: &ProcessContext) -> Option<PathBuf> {
        let path = Self::well_known(context)?;
        is_socket(&path).then_some(path)
    }

    /// The socket of the daemon that an operator asks: the plugins' one, or else the well-known one.
    pub fn for_operator(context: &ProcessContext) -> Option<PathBuf> {
        match &context.settings().daemon {
            DaemonChoice::Socket(path) => Some(context.resolve(path)),
            // Those of other machines have their own operators.
            DaemonChoice::Off | DaemonChoice::WellKnown | DaemonChoice::Addresses(_) => {
                Self::well_known(context)
            }
        }
    }

    /// Connects to a daemon of whichever user, which gets nothing of this process.
    pub async fn reach(path: &Path) -> Result<Stream, SocketError> {
        require_socket(path)?;
        let absent = |source| SocketError::Absent { path: path.to_owned(), source };
        Stream::connect(path).await.map_err(absent)
    }

    /// Connects to a daemon that this user or root has started.
    pub async fn connect(path: &Path) -> Result<Stream, SocketError> {
        let absent = |source| SocketError::Absent { path: path.to_owned(), source };
        require_socket(path)?;
        if let Some(directory) = path.parent() {
            require_trusted(directory).map_err(SocketError::Directory)?;
        }
        let stream = Stream::connect(path).await.map_err(absent)?;
        // Of the process that listens, whatever the file says.
        let owner = peer(&stream).map_err(absent)?.user;
        if owner != User::current() && !owner.is_root() {
            return Err(SocketError::Owner { path: path.to_owned(), owner });
        }
        Ok(stream)
    }
}

fn require_socket(path: &Path) -> Result<(), SocketError> {
    path.metadata().map_err(|source| SocketError::Absent { path: path.to_owned(), source })?;
    if is_socket(path) { Ok(()) } else { Err(SocketError::Kind(path.to_owned())) }
}

/// The code of a daemon's socket that is not used.
pub fn of_socket(error: &SocketError) -> ErrorCode {
    match error {
        SocketError::Absent { .. } | SocketError::Kind(_) => ErrorCode::NoDaemon,
        SocketError::Directory(_) | SocketError::Owner { .. } => ErrorCode::DaemonNotTrusted,
    }
}
