//! Who makes a call: a user of this machine, or who holds a certificate or a token.

use std::fmt;
use std::sync::Arc;

/// An identity that was verified. Sessions of different identities share no provider process.
///
/// Its text is what a policy names, and what the audit log says: `user:1000`, `certificate:build.example.org`, `token:build`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Identity {
    /// A user of this machine, by its id, as the kernel says.
    User(u32),
    /// The holder of a certificate with this name, which an authority in `ISTHMUS_TLS_CLIENT_AUTHORITIES` has issued.
    Certificate(Arc<str>),
    /// The holder of the token with this name in `ISTHMUS_TOKENS`.
    Token(Arc<str>),
}

impl Identity {
    /// Whether it may be on another machine, whose files and executables are not those of this one.
    pub(crate) fn is_remote(&self) -> bool {
        !matches!(self, Self::User(_))
    }

    /// Whether it is the user of this process, or root, who can do what this process can do. The environment of any other identity may not name
    /// what this process loads, runs, reads or writes.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::User(user) if *user == 0 || *user == rustix::process::geteuid().as_raw())
    }

    /// Whether it may see what is of another one: its own, and root everything.
    pub(crate) fn may_see(&self, owner: &Self) -> bool {
        *self == Self::User(0) || self == owner
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
