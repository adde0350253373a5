//! Who makes a call: a user of this machine, or who holds a certificate or a token.

use std::fmt;
use std::sync::Arc;

use isthmus_platform::process::User;

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
