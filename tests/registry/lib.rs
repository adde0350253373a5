//! A provider registry on loopback for tests: TLS with its own CA, service discovery, versions,
//! downloads, checksums and signatures.
//!
//! It serves documents that are generated when a release is published. A test may replace any of
//! them, for good or for one request, to simulate a faulty registry. It runs in its own thread, so
//! that tests with any runtime can use it.

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
