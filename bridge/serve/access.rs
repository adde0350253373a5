//! Access control of the port: connections are served for the daemon's own user and for root.
//!
//! A loopback port is open to every user of the machine, and a provider runs whatever executable a call names, with the
//! daemon's rights. So the user of each connection is looked up in the kernel's table of sockets, once, before any byte
//! of the connection is read. Other users are served only if `ISTHMUS_ALLOW_USERS` lists them. A user that cannot be
//! determined is refused.
//!
//! Only Linux has that table in a form that an ordinary process can read; elsewhere every connection is served, as by
//! every other Pulumi plugin.

mod denied;
#[cfg(target_os = "linux")]
mod socket_owner;

use tokio::net::{TcpStream, UnixStream};

use crate::settings::AllowedUsers;
pub(crate) use denied::AccessDenied;
#[cfg(target_os = "linux")]
use socket_owner::{Owner, SocketOwners};

#[derive(Debug)]
pub(crate) struct AccessPolicy {
    allowed: AllowedUsers,
    #[cfg(target_os = "linux")]
    owners: SocketOwners,
}

impl AccessPolicy {
    /// Serves the daemon's user, root, and whom `allowed` lists.
    pub(crate) fn new(allowed: AllowedUsers) -> Self {
        Self {
            allowed,
            #[cfg(target_os = "linux")]
            owners: SocketOwners::open(),
        }
    }

    /// Checks the user at the other end of a connection before anything is read from it.
    #[cfg(target_os = "linux")]
    pub(crate) async fn check(&self, stream: &TcpStream) -> Result<(), AccessDenied> {
        if self.allowed.is_everyone() {
            return Ok(());
        }
        let owner = self.owners.of_peer(stream).await?;
        let Owner::User(user) = owner else { return Err(AccessDenied::UnmappedUser) };
        if self.allowed.contains(user) {
            return Ok(());
        }
        Err(AccessDenied::OtherUser { user, own: AllowedUsers::own() })
    }

    /// The user at the other end of a local socket.
    pub(crate) fn check_local(&self, stream: &UnixStream) -> Result<u32, AccessDenied> {
        let peer = stream.peer_cred();
        let peer = peer.map_err(|error| AccessDenied::Undetermined { reason: error.to_string() })?.uid();
        if self.allowed.is_everyone() || self.allowed.contains(peer) {
            return Ok(peer);
        }
        Err(AccessDenied::OtherUser { user: peer, own: AllowedUsers::own() })
    }

    /// Serves every connection: its user cannot be looked up here.
    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn check(&self, _: &TcpStream) -> Result<(), AccessDenied> {
        let _ = &self.allowed;
        Ok(())
    }
}
