//! Where an operation comes from: what the journal keeps of the connection that has asked for it, beside the
//! operation itself.
//!
//! An import file names the package and the provider resource, and operations of stacks that share their
//! name are told apart by their backends.

use std::sync::OnceLock;

use bytes::Bytes;
use prost::Message as _;

use isthmus_context::project::backend::Backend;
use isthmus_package::catalogue::Identity;

/// The package, the provider resource and the backend of an operation. Of older entries, members are missing.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Origin {
    /// The package's version.
    #[prost(string, tag = "1")]
    pub version: String,
    /// The package's parameter value, as SDKs have it.
    #[prost(bytes = "vec", tag = "2")]
    pub parameter: Vec<u8>,
    /// The URN of the engine's provider resource; empty if the engine did not say it.
    #[prost(string, tag = "3")]
    pub provider: String,
    /// The backend of the stack; empty if it was not found.
    #[prost(string, tag = "4")]
    pub backend: String,
}

/// The engine's side of a connection.
#[derive(Debug)]
pub struct Caller {
    /// Differs from that of every other connection.
    number: u64,
    /// The URN of its provider resource. Engines configure one for each connection.
    provider: OnceLock<String>,
    backend: OnceLock<Backend>,
    /// The encoded [`Origin`] of its operations.
    origin: OnceLock<Bytes>,
}

impl Caller {
    /// The connection of this number, of which nothing else is known yet.
    pub fn new(number: u64) -> Self {
        Self { number, provider: OnceLock::new(), backend: OnceLock::new(), origin: OnceLock::new() }
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// What the engine has said with its configuration, before any operation.
    pub fn configured(&self, provider: Option<&str>, backend: Option<Backend>) {
        if let Some(provider) = provider {
            self.provider.get_or_init(|| provider.to_owned());
        }
        if let Some(backend) = backend {
            self.backend.get_or_init(|| backend);
        }
    }

    /// The provider resource's URN; empty if it is not known.
    pub(super) fn provider(&self) -> &str {
        self.provider.get().map_or("", String::as_str)
    }

    /// Whether operations of this origin may be of the stack that this connection works on, if they have its
    /// name.
    pub(super) fn may_share_backend(&self, origin: &Origin) -> bool {
        self.backend.get().is_none_or(|own| origin.backend.is_empty() || origin.backend == own.as_str())
    }

    /// The encoded [`Origin`] of an operation with a package.
    pub fn origin(&self, package: &Identity) -> Bytes {
        let encode = || {
            let origin = Origin {
                version: package.version.to_string(),
                parameter: package.parameter.encode(),
                provider: self.provider().to_owned(),
                backend: self.backend.get().map_or("", Backend::as_str).to_owned(),
            };
            Bytes::from(origin.encode_to_vec())
        };
        self.origin.get_or_init(encode).clone()
    }
}
