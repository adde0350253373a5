//! Places that providers are copied to, for networks that do not reach their registries.

mod filesystem;
mod network;
mod oci;
mod remote;
mod sources;
mod writer;

pub use filesystem::{FilesystemMirror, MirrorError, MirroredPackage, PackageForm};
pub use network::NetworkMirror;
pub use oci::{OciAuthenticator, OciMirror};
pub use remote::{MissingPlatform, RemoteMirrorError, RemotePackage};
pub use sources::{DevOverride, Source, SourceKind, Sources};
pub use writer::MirrorWriter;
