//! The way to registries, mirrors and the servers that archives lie on.
//!
//! Two layers. A [`Transport`] makes one exchange and is a seam: the real one is [`HttpTransport`], tests script their own.
//! [`WebClient`] is what everything else uses: it follows redirects, tries again, sends a token only where it belongs, and never
//! takes in more than it was told to. Redirects are followed here and not by the HTTP library because what may be sent along
//! depends on them, and because addresses in a document are relative to where it was found in the end.

mod authorities;
mod client;
mod clock;
mod credentials;
mod error;
mod http;
mod proxy;
#[cfg(test)]
pub(super) mod testing;
mod transport;

pub use authorities::Authorities;
pub(super) use client::Refusal;
pub use client::{Ask, Fetched, Opened, WebClient, WebSettings};
pub use clock::{Clock, SystemClock};
pub use credentials::{CredentialsError, CredentialsSource, NoCredentials, Token, TokenError};
pub use error::{AuthState, WebError, WebFault};
pub(super) use error::{shown, shown_text};
pub use http::{HttpSettings, HttpTransport};
pub use proxy::ProxyRules;
pub use transport::{Body, BoxFuture, Request, Response, Transport, TransportError, TransportFault};
