//! Provider mirrors.

mod filesystem;
mod network;
mod oci;
mod remote;
mod sources;
mod writer;

pub(crate) use filesystem::packed;
pub use filesystem::{FilesystemMirror, MirrorError};
pub(crate) use network::NetworkMirror;
pub(crate) use oci::OciMirror;
pub(crate) use remote::{MissingPlatform, RemoteMirrorError, RemotePackage};
pub use sources::Sources;
pub use writer::MirrorWriter;
