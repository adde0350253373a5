//! Connections on this machine, and who is at their other end.
//!
//! [`Listener`] and [`Stream`] are local sockets, which have a path. [`PeerUsers`] finds the user of a TCP connection to this
//! machine's own address. [`ListeningSocket`] goes from one process to the next one.

#[cfg(unix)]
mod descriptors;
mod ends;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
pub(crate) mod windows;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
/// Also read by the tests of other systems, which have no such table.
#[cfg(any(target_os = "macos", test))]
mod pcblist;
#[cfg(unix)]
use descriptors as passed;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
use windows as family;
#[cfg(windows)]
use windows as passed;
#[cfg(windows)]
use windows as system;

#[cfg(unix)]
pub(crate) use descriptors::listening;
pub use family::{
    LONGEST_PATH, Listener, StdListener, Stream, bind, has_no_listener, is_exhaustion, is_socket, keep_alive,
    path_of, peer, send_byte, serve, shared_listener,
};
pub use passed::ListeningSocket;
pub use system::PeerUsers;

use crate::process::User;

/// Who is at the other end of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A user with an id in our user namespace.
    User(User),
    /// Any of the users without one.
    Unmapped,
}

/// Why the user of a connection is not known.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UnknownPeer {
    /// It was closed meanwhile, or is in another network namespace.
    #[error("no open socket is at its other end")]
    NoSocket,
    /// The system denies it.
    #[error("{0}")]
    Undetermined(String),
}

/// The process at the other end of a local connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its user.
    pub user: User,
    /// Its id; not every system says which it is.
    pub process: Option<i32>,
}
