//! Access control of the port: connections are served for the daemon's own user and for root.
//!
//! A loopback port is open to every user of the machine, and a provider runs whatever executable a call names, with the
//! daemon's rights. So the user of each connection is looked up in the kernel's table of sockets, once, before any byte
//! of the connection is read. Other users are served only if `ISTHMUS_ALLOW_USERS` lists them. A user that cannot be
//! determined is refused.
//!
//! Only Linux has that table in a form that an ordinary process can read; elsewhere every connection is served, as by
//! every other Pulumi plugin.

#[cfg(target_os = "linux")]
mod socket_owner;

use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt as _};

use crate::settings::{ALLOW_USERS, AllowedUsers};
#[cfg(target_os = "linux")]
use socket_owner::{Owner, SocketOwners};

/// The connections of a listener that belong to the own user or to root. All others are closed.
pub(crate) fn own_connections(listener: TcpListener) -> impl Stream<Item = std::io::Result<TcpStream>> {
    let policy = Arc::new(AccessPolicy::new(AllowedUsers::default()));
    let checked = TcpListenerStream::new(listener).then(move |stream| {
        let policy = Arc::clone(&policy);
        async move {
            let stream = stream?;
            Ok(policy.check(&stream).await.is_ok().then_some(stream))
        }
    });
    checked.filter_map(|accepted: std::io::Result<Option<TcpStream>>| accepted.transpose())
}

#[derive(Clone, Debug, thiserror::Error)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "nothing is refused where no owner can be looked up")
)]
pub(super) enum AccessDenied {
    #[error(
        "the connection belongs to user {user}, and this daemon serves only user {own} and root\n\
         help: set {}={user} in the environment of the daemon to serve this user as well", ALLOW_USERS.name
    )]
    OtherUser { user: u32, own: u32 },
    /// It belongs to a user of another user namespace, all of whom have the same id here.
    #[error(
        "the connection belongs to a user that has no id in the user namespace of this daemon\n\
         help: run both in one user namespace, or set {}=* in the environment of the daemon to serve every user", ALLOW_USERS.name
    )]
    UnmappedUser,
    /// No open socket of this machine is at the other end.
    #[error(
        "the connection has no open socket at its other end in the network namespace of this daemon, so its user is unknown\n\
         help: keep the connection open, or set {}=* in the environment of the daemon to serve every user", ALLOW_USERS.name
    )]
    NoSocket,
    /// The system denies the lookup.
    #[error(
        "failed to determine the user of the connection: {reason}\n\
         help: allow netlink sock_diag sockets or mount /proc, or set {}=* in the environment of the daemon to serve \
         every user", ALLOW_USERS.name
    )]
    Undetermined { reason: String },
}

#[derive(Debug)]
pub(super) struct AccessPolicy {
    allowed: AllowedUsers,
    #[cfg(target_os = "linux")]
    owners: SocketOwners,
}

impl AccessPolicy {
    /// Serves the daemon's user, root, and whom `allowed` lists.
    pub(super) fn new(allowed: AllowedUsers) -> Self {
        Self {
            allowed,
            #[cfg(target_os = "linux")]
            owners: SocketOwners::open(),
        }
    }

    /// Checks the user at the other end of a connection before anything is read from it.
    #[cfg(target_os = "linux")]
    pub(super) async fn check(&self, stream: &TcpStream) -> Result<(), AccessDenied> {
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

    /// Serves every connection: its user cannot be looked up here.
    #[cfg(not(target_os = "linux"))]
    pub(super) async fn check(&self, _: &TcpStream) -> Result<(), AccessDenied> {
        let _ = &self.allowed;
        Ok(())
    }
}
