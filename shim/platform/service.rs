//! The service manager that has started this process: the socket that it passes on, and reports to it.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as family;

pub use family::{passed_socket, ready, stopping};

use std::io;

/// Why a socket of the service manager is not served.
#[derive(Debug, thiserror::Error)]
pub enum PassedError {
    /// A daemon listens on one.
    #[error("{0} sockets were passed, and a daemon listens on one")]
    Number(usize),
    /// Something else was passed.
    #[error("it is not a listening stream socket with a path")]
    Kind(#[source] io::Error),
}
