//! gRPC over HTTP/2 connections: what carries the calls of engines and of providers.
//!
//! tonic encodes and decodes messages and statuses. Its own transport is made for servers and clients with many threads:
//! a call passes through a router, layers, a queue with a task of its own, and hyper, which spawns a task for each body.
//! Here a call is one future on the h2 connection itself, and a message is one system call:
//! `docs/decisions/one-thread.md` has the figures.
//!
//! - [`Channel`]: the client's side, a connection that is made again when a call finds it lost.
//! - [`serve_connection`]: the server's side. [`Load`]: what its connections may take together. [`LongAnswer`]: a place for an
//!   answer that is read from a file.
//! - [`Coalesced`]: the stream below both.
//! - [`Encoded`]: the codec of messages that pass unchanged.
//! - [`NotSent`]: the proof that a request did not leave.
//! - [`prepare_tcp`]: what connections to other machines need.

mod body;
mod channel;
mod coalesced;
mod encoded;
mod error;
mod load;
mod server;
mod tcp;
#[cfg(test)]
mod tests;

pub use body::Incoming;
pub use channel::{Channel, ChannelSettings, Stream};
pub use coalesced::Coalesced;
pub use encoded::Encoded;
pub use error::NotSent;
pub use load::{Load, LoadLimits, LongAnswer};
pub use server::{ServerSettings, serve_connection, unimplemented};
pub use tcp::prepare_tcp;
