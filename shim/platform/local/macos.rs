//! macOS: no user of a TCP connection is looked up yet.

use tokio::net::TcpStream;

use super::{Owner, UnknownPeer};
use crate::process::User;

/// The users of TCP connections.
#[derive(Debug)]
pub struct PeerUsers;

impl PeerUsers {
    /// Whether this system tells the users of connections.
    pub const ARE_KNOWN: bool = false;

    /// For lookups.
    pub fn open() -> Self {
        Self
    }

    /// The user at the other end.
    ///
    /// # Errors
    /// Always.
    pub async fn of_peer(&self, _: &TcpStream) -> Result<Owner, UnknownPeer> {
        Err(UnknownPeer::Unsupported)
    }

    /// The user that a connection seems to be of, if the system tells at once.
    pub fn listed(&self, _: &TcpStream) -> Option<User> {
        None
    }
}

/// Whether a socket accepts connections, which this system does not tell.
pub(super) fn is_accepting(_: impl std::os::fd::AsFd) -> std::io::Result<bool> {
    Ok(true)
}
