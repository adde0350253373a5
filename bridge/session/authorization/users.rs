//! The users of this machine that are served: the daemon's own and root.
//!
//! A loopback port is open to every user of the machine, and a provider runs whatever executable a call names, with the
//! daemon's rights. So the user of each connection is looked up in the kernel's table of sockets, once, before any byte
//! of the connection is read. Other users are refused, and so is a user that cannot be determined.
//!
//! Only Linux has that table in a form that an ordinary process can read; elsewhere every connection is served, as by
//! every other Pulumi plugin.

use tokio::net::{TcpStream, UnixStream};

use super::AccessDenied;
#[cfg(target_os = "linux")]
use super::socket_owner::{Owner, SocketOwners};

#[derive(Debug)]
pub struct LocalUsers {
    #[cfg(target_os = "linux")]
    owners: SocketOwners,
}

impl LocalUsers {
    pub fn open() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            owners: SocketOwners::open(),
        }
    }

    /// Checks the user at the other end of a connection before anything is read from it.
    #[cfg(target_os = "linux")]
    pub async fn check(&self, stream: &TcpStream) -> Result<(), AccessDenied> {
        self.identify(stream).await.map(|_| ())
    }

    /// The user at the other end of a connection, who is served.
    #[cfg(target_os = "linux")]
    pub async fn identify(&self, stream: &TcpStream) -> Result<u32, AccessDenied> {
        let owner = self.owners.of_peer(stream).await?;
        let Owner::User(user) = owner else { return Err(AccessDenied::UnmappedUser) };
        served(user)
    }

    /// The user that a connection seems to be of, if the kernel tells at once. It is not authorized by that.
    #[cfg(target_os = "linux")]
    pub fn listed(&self, stream: &TcpStream) -> Option<u32> {
        self.owners.listed(stream)
    }

    /// The user at the other end of a local socket.
    pub fn check_local(&self, stream: &UnixStream) -> Result<u32, AccessDenied> {
        let peer = stream.peer_cred();
        let peer = peer.map_err(|error| AccessDenied::Undetermined { reason: error.to_string() })?.uid();
        served(peer)
    }

    /// No user can be looked up here.
    #[cfg(not(target_os = "linux"))]
    pub fn listed(&self, _: &TcpStream) -> Option<u32> {
        None
    }

    /// No user can be looked up here.
    #[cfg(not(target_os = "linux"))]
    pub async fn identify(&self, _: &TcpStream) -> Result<u32, AccessDenied> {
        Err(AccessDenied::Undetermined { reason: "this system has no table of sockets".to_owned() })
    }

    /// Serves every connection: its user cannot be looked up here.
    #[cfg(not(target_os = "linux"))]
    pub async fn check(&self, _: &TcpStream) -> Result<(), AccessDenied> {
        Ok(())
    }
}

/// The user, if it is the daemon's own or root.
fn served(user: u32) -> Result<u32, AccessDenied> {
    let own = rustix::process::geteuid().as_raw();
    if [own, 0].contains(&user) { Ok(user) } else { Err(AccessDenied::OtherUser { user, own }) }
}
