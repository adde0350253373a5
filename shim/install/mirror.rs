//! Places that providers are copied to, for networks that do not reach their registries.

mod filesystem;
mod making;
mod network;
mod oci;
mod remote;
mod sources;

pub use filesystem::{FilesystemMirror, MirrorError, MirroredPackage, PackageForm};
pub use making::MirrorWriter;
pub use network::NetworkMirror;
pub use oci::{OciAuthority, OciMirror};
pub use remote::{MissingPlatform, RemoteMirrorError, RemotePackage};
pub use sources::{DevOverride, Source, SourceKind, Sources};
