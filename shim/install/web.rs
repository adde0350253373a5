//! Access to registries, mirrors and servers of archives.
//!
//! There are two layers. A [`Transport`](transport::Transport) makes one exchange: the real one is
//! [`HttpTransport`], and tests have a scripted one. [`WebClient`] follows redirects, retries,
//! sends a token only to its host, and limits sizes. Redirects are followed here and not by the
//! HTTP library because credentials depend on them, and because addresses in a document are
//! relative to its final address.

mod authorities;
mod client;
mod clock;
mod error;
mod http;
mod proxy;
#[cfg(feature = "fuzzing")]
pub(crate) mod scripted;
#[cfg(test)]
pub(crate) mod testing;
mod transport;

pub(crate) use authorities::Authorities;
pub(crate) use client::{Ask, Fetched, Opened, Refusal, WebClient, WebSettings};
pub(crate) use error::WebError;
pub(crate) use error::{AuthState, WebFault};
pub(crate) use http::{HttpSettings, HttpTransport};
pub(crate) use proxy::ProxyRules;
#[cfg(test)]
pub(crate) use transport::TransportError;
pub(crate) use transport::{Request, TransportFault};
