//! Who may use a daemon, and for what.
//!
//! Each connection has an [`Identity`]: the user at its other end, or the name in its certificate, or that of its token. The
//! [`Policy`] says what the identity may do. What cannot be determined, and what no rule permits, is refused, before anything is
//! started for it.

mod certificates;
mod denied;
mod environment;
mod identity;
mod pattern;
mod policy;
mod reread;
#[cfg(target_os = "linux")]
mod socket_owner;
mod tokens;
mod users;

pub(crate) use certificates::{
    CertificateFiles, CertificatesError, HTTP2, HandshakeError, NamedFile, ServerCertificates, certificates,
    private_key,
};
pub(crate) use denied::AccessDenied;
pub(crate) use environment::{EnvironmentRule, of_session};
pub(crate) use identity::Identity;
pub(crate) use policy::{
    NoPermissions, Operation, Permissions, Policy, PolicyDenied, PolicyError, ProviderName,
};
pub(crate) use tokens::{TokenDenied, Tokens, TokensError, header_of, is_token};
pub(crate) use users::LocalUsers;
