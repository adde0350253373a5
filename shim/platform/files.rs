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
    described_permission, give_name, help_against_others, help_to_own, identity, identity_of, is_executable,
    is_named_as_program, is_null_device, is_removed, lock, mode, os_bytes, os_string, permissions,
    protection, protection_of, require_executable, require_writable_directory, set_mode, set_mode_of_new,
    space, stamp, symlink, sync_directory, try_lock, try_lock_for_process, try_lock_shared, unlock,
};
pub use system::is_mount_point;

use std::io;

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

/// How a file is opened or created.
pub trait OpenOptionsExt {
    /// The mode of a new file, before the umask. On Windows, a new file has the access that its directory gives to what is in
    /// it; [`set_mode`] narrows it.
    fn mode(&mut self, mode: u32) -> &mut Self;

    /// Opens the file itself.
    fn flags(&mut self, flags: OpenFlags) -> &mut Self;
}

/// What opening a file must not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// A symbolic link is not followed: opening one fails, or on Windows opens the link itself.
    pub no_follow: bool,
    /// It does not wait for the other end of a FIFO, and takes no terminal. Windows has neither among its files.
    pub no_waiting: bool,
}

/// How a directory is created.
pub trait DirBuilderExt {
    /// The mode of a new directory, before the umask; nothing on Windows, as for files.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

/// Kinds of files besides those of the standard library.
pub trait FileTypeExt {
    /// A named pipe; never on Windows.
    fn is_fifo(&self) -> bool;
    /// A local socket; never on Windows, where a regular file stands for one ([`crate::local::is_socket`]).
    fn is_socket(&self) -> bool;
}

/// Reads and writes at a position, without moving the file's own.
pub trait FileExt {
    /// Fills the buffer.
    ///
    /// # Errors
    /// When the file ends before, or cannot be read.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of the bytes.
    ///
    /// # Errors
    /// When the file cannot be written to.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

/// A file system, as far as writing and starting files concerns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Free bytes for this user.
    pub available: u64,
    /// Whether no file of it can be started.
    pub forbids_execution: bool,
}
