//! The way to registries, mirrors and the servers that archives lie on.
//!
//! Two layers. A [`Transport`](transport::Transport) makes one exchange and is a seam: the real one is [`HttpTransport`], tests script their own.
//! [`WebClient`] is what everything else uses: it follows redirects, tries again, sends a token only where it belongs, and never
//! takes in more than it was told to. Redirects are followed here and not by the HTTP library because what may be sent along
//! depends on them, and because addresses in a document are relative to where it was found in the end.

mod authorities;
mod client;
mod clock;
mod error;
mod http;
mod proxy;
#[cfg(test)]
pub(crate) mod testing;
mod transport;

pub(crate) use client::{Ask, Fetched, Opened, Refusal, WebClient, WebSettings};
pub(crate) use error::WebError;
pub(crate) use error::{AuthState, WebFault};
pub(crate) use http::{HttpSettings, HttpTransport};
pub(crate) use transport::Request;
#[cfg(test)]
pub(crate) use transport::{TransportError, TransportFault};
