//! Why a connection is not served.

use isthmus_context::settings::{DAEMON_CERTIFICATE, DAEMON_KEY};
use isthmus_platform::local::UnknownPeer;
use isthmus_platform::process::User;

#[derive(Clone, Debug, thiserror::Error)]
pub enum AccessDenied {
    #[error(
        "the connection belongs to user {user}, and this daemon serves only user {own} and root\n\
         help: run a daemon for each user"
    )]
    OtherUser { user: User, own: User },
    /// It belongs to a user of another user namespace, all of whom have the same id here.
    #[error(
        "the connection belongs to a user that has no id in the user namespace of this daemon\n\
         help: run both in one user namespace"
    )]
    UnmappedUser,
    /// No open socket of this machine is at the other end.
    #[error(
        "the connection has no open socket at its other end in the network namespace of this daemon, so its user is unknown\n\
         help: keep the connection open"
    )]
    NoSocket,
    /// Nothing identifies a peer over TLS.
    #[error(
        "the connection has no certificate of an authority that this daemon trusts\n\
         help: name the plugin's certificate and its key by {} and {}", DAEMON_CERTIFICATE.name, DAEMON_KEY.name
    )]
    NoCertificate,
    /// The system denies the lookup.
    #[error(
        "failed to determine the user of the connection: {reason}\n\
         help: allow netlink sock_diag sockets or mount /proc"
    )]
    Undetermined { reason: String },
}

impl From<UnknownPeer> for AccessDenied {
    fn from(unknown: UnknownPeer) -> Self {
        match unknown {
            UnknownPeer::NoSocket => Self::NoSocket,
            UnknownPeer::Undetermined(_) | UnknownPeer::Unsupported => {
                Self::Undetermined { reason: unknown.to_string() }
            }
        }
    }
}
