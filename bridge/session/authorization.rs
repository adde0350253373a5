//! Who may use a daemon: its own user and root, and who holds one of its certificates or tokens.
//!
//! Each of them is trusted as the user of the daemon. The [`Identity`] of a connection is for logs: the user at its other end, or
//! the name in its certificate, or that of its token. A peer that cannot be determined is refused, before anything is started for
//! it.

mod certificates;
mod denied;
mod identity;
mod reread;
mod tokens;
mod users;

pub use certificates::{
    CertificateFiles, CertificatesError, HTTP2, HandshakeError, NamedFile, ServerCertificates, certificates,
    private_key,
};
pub use denied::AccessDenied;
pub use identity::Identity;
pub use tokens::{TokenDenied, Tokens, TokensError, header_of, is_token};
pub use users::LocalUsers;
