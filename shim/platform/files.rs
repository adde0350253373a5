//! Files: permissions, positions, identity, and links.
//!
//! The traits have the names of the standard library's for Unix, and their methods mean the same there. Modes are those
//! of Unix. Windows has lists of access instead: a new file has what its directory gives, [`set_mode`] with a mode that keeps
//! others out makes it its owner's alone, and [`Protection`] says what others may do.

#[cfg(windows)]
mod access;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
pub(crate) mod windows;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
use windows as family;
#[cfg(windows)]
use windows as system;

#[cfg(windows)]
pub(crate) use access::Descriptor;
pub use family::{
    DirBuilderExt, FileExt, FileTypeExt, OpenFlags, OpenOptionsExt, Space, give_name, help_against_others,
    help_to_own, identity, identity_of, is_executable, is_null_device, is_removed, lock, mode, os_bytes,
    os_string, permissions, protection, protection_of, require_executable, require_writable_directory,
    set_mode, set_mode_of_new, space, stamp, symlink, sync_directory, try_lock, try_lock_for_process,
    try_lock_shared, unlock,
};
pub use system::is_mount_point;

use crate::process::User;

/// A file, whatever its name is: the number of its file system, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The number of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// Whose a file is, and who may do what with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    /// The user that it belongs to.
    pub owner: User,
    /// Its mode. On Windows, the bits of its group and of others say what any other user may do, besides the system and its
    /// administrators.
    pub mode: u32,
}

/// Something that others shall no longer do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// To write to it.
    Write,
    /// To read it.
    Read,
}
