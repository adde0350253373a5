//! Linux and macOS: what the standard library has for Unix, and the calls that it lacks.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs as unix;
use std::path::Path;

use rustix::fs::{Access, FlockOperation, OFlags, access, fcntl_lock, statvfs};
use rustix::io::Errno;

use super::FileIdentity;
use crate::process::User;

/// How a file is opened or created.
pub trait OpenOptionsExt {
    /// The mode of a new file, before the umask.
    fn mode(&mut self, mode: u32) -> &mut Self;

    /// Opens the file itself: not what a symbolic link leads to, and without waiting for the other end of a FIFO or
    /// taking a terminal, where it does.
    fn flags(&mut self, flags: OpenFlags) -> &mut Self;
}

/// What opening a file must not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// It fails for a symbolic link.
    pub no_follow: bool,
    /// It does not wait for the other end of a FIFO, and takes no terminal.
    pub no_waiting: bool,
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, mode: u32) -> &mut Self {
        unix::OpenOptionsExt::mode(self, mode)
    }

    fn flags(&mut self, flags: OpenFlags) -> &mut Self {
        let mut found = OFlags::empty();
        found.set(OFlags::NOFOLLOW, flags.no_follow);
        found.set(OFlags::NONBLOCK | OFlags::NOCTTY, flags.no_waiting);
        unix::OpenOptionsExt::custom_flags(self, i32::try_from(found.bits()).unwrap_or_default())
    }
}

/// How a directory is created.
pub trait DirBuilderExt {
    /// The mode of a new directory, before the umask.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, mode: u32) -> &mut Self {
        unix::DirBuilderExt::mode(self, mode)
    }
}

/// What the system says of a file.
pub trait MetadataExt {
    /// Its kind and its permissions.
    fn mode(&self) -> u32;
    /// The user that it belongs to.
    fn owner(&self) -> User;
    /// Which file it is.
    fn identity(&self) -> FileIdentity;
    /// Its number of names; 0 when it was removed.
    fn links(&self) -> u64;
    /// Seconds and nanoseconds since 1970 of its last change of content, and of any change.
    fn times(&self) -> [i64; 4];
    /// Whether it is `/dev/null`.
    fn is_null_device(&self) -> bool;
}

impl MetadataExt for Metadata {
    fn mode(&self) -> u32 {
        unix::MetadataExt::mode(self)
    }

    fn owner(&self) -> User {
        User::from_id(unix::MetadataExt::uid(self))
    }

    fn identity(&self) -> FileIdentity {
        FileIdentity { device: unix::MetadataExt::dev(self), inode: unix::MetadataExt::ino(self) }
    }

    fn links(&self) -> u64 {
        unix::MetadataExt::nlink(self)
    }

    fn times(&self) -> [i64; 4] {
        use unix::MetadataExt as Unix;
        [Unix::mtime(self), Unix::mtime_nsec(self), Unix::ctime(self), Unix::ctime_nsec(self)]
    }

    fn is_null_device(&self) -> bool {
        let device = unix::MetadataExt::rdev(self);
        unix::FileTypeExt::is_char_device(&self.file_type())
            && fs::metadata("/dev/null").is_ok_and(|null| unix::MetadataExt::rdev(&null) == device)
    }
}

/// Kinds of files besides those of the standard library.
pub trait FileTypeExt {
    /// A named pipe.
    fn is_fifo(&self) -> bool;
    /// A local socket.
    fn is_socket(&self) -> bool;
}

impl FileTypeExt for FileType {
    fn is_fifo(&self) -> bool {
        unix::FileTypeExt::is_fifo(self)
    }

    fn is_socket(&self) -> bool {
        unix::FileTypeExt::is_socket(self)
    }
}

/// Permissions by their mode.
pub trait PermissionsExt {
    /// The mode.
    fn mode(&self) -> u32;
    /// Permissions with this mode.
    fn from_mode(mode: u32) -> Self;
}

impl PermissionsExt for Permissions {
    fn mode(&self) -> u32 {
        unix::PermissionsExt::mode(self)
    }

    fn from_mode(mode: u32) -> Self {
        unix::PermissionsExt::from_mode(mode)
    }
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

impl FileExt for File {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        unix::FileExt::read_exact_at(self, buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        unix::FileExt::write_all_at(self, bytes, offset)
    }
}

/// Creates a symbolic link at `link`, which leads to `target`.
///
/// # Errors
/// When it cannot be created, or something is there.
pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    unix::symlink(target, link)
}

/// Whether a file is a program, for anybody.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| unix::MetadataExt::mode(&metadata) & 0o111 != 0)
}

/// Whether this process may start a file, or enter a directory.
///
/// # Errors
/// Why not.
pub fn require_executable(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::EXEC_OK)?)
}

/// Whether this process may create files in a directory.
///
/// # Errors
/// Why not.
pub fn require_writable_directory(path: &Path) -> io::Result<()> {
    Ok(access(path, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// The bytes of a path or of another text of the system, for another process of this machine.
pub fn os_bytes(text: &OsStr) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(text)
}

/// The text of these bytes, which [`os_bytes`] gave; `None` for others.
pub fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
}

/// Locks a whole file for this process, by the kind of lock that Go's programs use; `false` if another process has it.
/// It is lost as soon as this process closes the file anywhere.
///
/// # Errors
/// When the file system has no locks.
pub fn try_lock_for_process(file: &File) -> io::Result<bool> {
    loop {
        match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A file system, as far as writing and starting files concerns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Free bytes for this user.
    pub available: u64,
    /// Whether no file of it can be started.
    pub forbids_execution: bool,
}

/// The file system of a file or directory.
///
/// # Errors
/// When nothing is there.
pub fn space(path: &Path) -> io::Result<Space> {
    let found = statvfs(path)?;
    Ok(Space {
        available: found.f_bavail.saturating_mul(found.f_frsize),
        forbids_execution: super::system::forbids_execution(path)?,
    })
}
