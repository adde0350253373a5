//! The users of this machine that are served: the daemon's own and root.
//!
//! A loopback port is open to every user of the machine, and a provider runs whatever executable a call names, with the
//! daemon's rights. So isthmus looks up the user of each connection, once, before it reads any byte of the connection. Other
//! users are refused, and so is a user that cannot be determined.

use isthmus_platform::local::{Owner, PeerUsers, Stream, peer};
use isthmus_platform::process::User;
use tokio::net::TcpStream;

use super::AccessDenied;

#[derive(Debug)]
pub struct LocalUsers(PeerUsers);

impl LocalUsers {
    pub fn open() -> Self {
        Self(PeerUsers::open())
    }

    /// Checks the user at the other end of a connection before anything is read from it.
    pub async fn check(&self, stream: &TcpStream) -> Result<(), AccessDenied> {
        self.identify(stream).await.map(drop)
    }

    /// The user at the other end of a connection, who is served.
    pub async fn identify(&self, stream: &TcpStream) -> Result<User, AccessDenied> {
        let Owner::User(user) = self.0.of_peer(stream).await? else { return Err(AccessDenied::UnmappedUser) };
        served(user)
    }

    /// The user that a connection seems to be of, if the system tells at once. It is not authorized by that.
    pub fn listed(&self, stream: &TcpStream) -> Option<User> {
        self.0.listed(stream)
    }

    /// The user at the other end of a local socket.
    pub fn check_local(&self, stream: &Stream) -> Result<User, AccessDenied> {
        let peer = peer(stream).map_err(|error| AccessDenied::Undetermined { reason: error.to_string() })?;
        served(peer.user)
    }
}

/// The user, if it is the daemon's own or root.
fn served(user: User) -> Result<User, AccessDenied> {
    let own = User::current();
    if user == own || user.is_root() { Ok(user) } else { Err(AccessDenied::OtherUser { user, own }) }
}
