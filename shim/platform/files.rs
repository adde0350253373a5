//! Files: permissions, positions, identity, and links.
//!
//! The traits have the names of the standard library's for Unix, and their methods mean the same there. Modes are those
//! of Unix; where a system has other permissions, a mode that keeps others out makes the file its owner's alone, and any
//! other mode leaves what the directory gives.

mod unix;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

pub use system::is_mount_point;
pub use unix::{
    DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenFlags, OpenOptionsExt, PermissionsExt, Space,
    is_executable, os_bytes, os_string, require_executable, require_writable_directory, space, symlink,
    try_lock_for_process,
};

/// A file, whatever its name is: the number of its file system, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The number of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}
