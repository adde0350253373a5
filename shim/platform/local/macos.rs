//! macOS: the kernel's table of all TCP sockets.

use std::io;

use tokio::net::TcpStream;

use super::ends::Ends;
use super::{Owner, UnknownPeer, pcblist};
use crate::process::{User, sysctl};

/// The users of TCP connections.
#[derive(Debug)]
pub struct PeerUsers;

impl PeerUsers {
    /// For lookups.
    pub fn open() -> Self {
        Self
    }

    /// The owner of the socket at the other end.
    ///
    /// # Errors
    /// If there is no open socket, or the system denies the lookup.
    pub async fn of_peer(&self, stream: &TcpStream) -> Result<Owner, UnknownPeer> {
        let ends = Ends::of_peer(stream)?;
        let found = tokio::task::spawn_blocking(move || find(ends)).await;
        let user = found.unwrap_or_else(|error| Err(error.to_string())).map_err(UnknownPeer::Undetermined)?;
        // While our own end is connected, no other socket can have these addresses.
        if Ends::of_peer(stream)? != ends {
            return Err(UnknownPeer::NoSocket);
        }
        user.map(Owner::User).ok_or(UnknownPeer::NoSocket)
    }

    /// The user that a connection seems to be of, if the system tells at once. The table is too long for that.
    pub fn listed(&self, _: &TcpStream) -> Option<User> {
        None
    }
}

fn find(ends: Ends) -> Result<Option<User>, String> {
    const NAME: &str = "net.inet.tcp.pcblist_n";
    let table = sysctl(c"net.inet.tcp.pcblist_n").map_err(|error| format!("{NAME}: {error}"))?;
    let user = pcblist::owner(&table, ends, User::current().id()).map_err(|why| format!("{NAME}: {why}"))?;
    Ok(user.map(User::from_id))
}

/// Whether a socket accepts connections, which this system does not tell.
pub(super) fn is_accepting(_: impl std::os::fd::AsFd) -> io::Result<bool> {
    Ok(true)
}
