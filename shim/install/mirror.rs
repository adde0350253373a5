//! Places that providers are copied to, for networks that do not reach their registries.

mod filesystem;
mod network;
mod oci;
mod remote;
mod sources;
mod writer;

pub use filesystem::{FilesystemMirror, MirrorError};
pub(crate) use network::NetworkMirror;
pub(crate) use oci::OciMirror;
pub(crate) use remote::{MissingPlatform, RemoteMirrorError, RemotePackage};
pub use sources::Sources;
pub use writer::MirrorWriter;
