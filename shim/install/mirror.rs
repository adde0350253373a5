//! Places that providers are copied to, for networks that do not reach their registries.

mod filesystem;
mod making;
mod sources;

pub use filesystem::{FilesystemMirror, MirrorError, MirroredPackage, PackageForm};
pub use making::MirrorWriter;
pub use sources::{DevOverride, Source, SourceKind, Sources};
