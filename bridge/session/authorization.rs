//! Who may use a daemon: its own user and root, and who holds one of its certificates or tokens.
//!
//! Each of them is trusted as the user of the daemon. The [`Identity`] of a connection is for logs: the user at its other end, or
//! the name in its certificate, or that of its token. A peer that cannot be determined is refused, before anything is started for
//! it.

mod certificates;
mod reread;
mod tokens;
mod users;

use std::fmt;
use std::sync::Arc;

pub use certificates::{
    CertificateFiles, CertificatesError, HTTP2, HandshakeError, NamedFile, ServerCertificates, certificates,
    private_key,
};
pub use tokens::{TokenDenied, Tokens, TokensError, header_of, is_token};
pub use users::LocalUsers;

use isthmus_context::settings::{DAEMON_CERTIFICATE, DAEMON_KEY};
use isthmus_platform::IS_LINUX;
use isthmus_platform::local::UnknownPeer;
use isthmus_platform::process::User;

/// What lets the system say whose a connection is.
const HELP_UNDETERMINED: &str = if IS_LINUX {
    "allow netlink sock_diag sockets or mount /proc"
} else {
    "use the local socket of the daemon, or identify the plugin by a token"
};

/// Why a connection is not served.
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
    #[error("failed to determine the user of the connection: {reason}\nhelp: {HELP_UNDETERMINED}")]
    Undetermined { reason: String },
}

impl From<UnknownPeer> for AccessDenied {
    fn from(unknown: UnknownPeer) -> Self {
        match unknown {
            UnknownPeer::NoSocket => Self::NoSocket,
            UnknownPeer::Undetermined(_) => Self::Undetermined { reason: unknown.to_string() },
        }
    }
}

/// An identity that was verified. Each is trusted as the user of the daemon.
///
/// Its text is in the audit log: `user:1000`, `certificate:build.example.org`, `token:build`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A user of this machine, by its id, as the kernel says.
    User(User),
    /// The holder of a certificate with this name, which an authority in `ISTHMUS_TLS_CLIENT_AUTHORITIES` has issued.
    Certificate(Arc<str>),
    /// The holder of the token with this name in `ISTHMUS_TOKENS`.
    Token(Arc<str>),
}

impl Identity {
    /// Whether it may be on another machine, whose files and executables are not those of this one.
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::User(_))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(formatter, "user:{user}"),
            Self::Certificate(name) => write!(formatter, "certificate:{name}"),
            Self::Token(name) => write!(formatter, "token:{name}"),
        }
    }
}
