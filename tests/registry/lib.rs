//! A registry of Terraform providers on loopback, for tests: TLS by an authority of its own, service discovery, versions,
//! downloads, sums and signatures.
//!
//! It is a server of documents that are made when a release is published, and any of which a test may replace by something
//! else, for good or for one request. So a test that wants a registry to misbehave says what it answers, and nothing here has to
//! know how registries can be wrong. It runs on a thread of its own, so that tests of any kind can use it.

mod archive;
mod keys;
mod loopback;
mod proxy;
mod release;
mod server;

pub use archive::{Archive, Entry};
pub use keys::PublisherKey;
pub use proxy::Proxy;
pub use release::Release;
pub use server::{Document, Registry};
