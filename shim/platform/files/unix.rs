//! Linux and macOS: what the standard library has for Unix, and the calls that it lacks.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs as unix;
use std::path::Path;

use rustix::fs::{Access, FlockOperation, OFlags, access, fcntl_lock, statvfs};
use rustix::io::Errno;

use super::{
    DirBuilderExt, FileExt, FileIdentity, FileTypeExt, OpenFlags, OpenOptionsExt, Others, Protection, Space,
};
use crate::process::User;

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

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, mode: u32) -> &mut Self {
        unix::DirBuilderExt::mode(self, mode)
    }
}

impl FileTypeExt for FileType {
    fn is_fifo(&self) -> bool {
        unix::FileTypeExt::is_fifo(self)
    }

    fn is_socket(&self) -> bool {
        unix::FileTypeExt::is_socket(self)
    }
}

impl FileExt for File {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        unix::FileExt::read_exact_at(self, buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        unix::FileExt::write_all_at(self, bytes, offset)
    }
}

/// Which file is open.
///
/// # Errors
/// When the system does not say.
pub fn identity_of(file: &File) -> io::Result<FileIdentity> {
    Ok(numbers(&file.metadata()?))
}

/// Which file has this path and this metadata.
///
/// # Errors
/// Never.
pub fn identity(_: &Path, metadata: &Metadata) -> io::Result<FileIdentity> {
    Ok(numbers(metadata))
}

fn numbers(metadata: &Metadata) -> FileIdentity {
    FileIdentity { device: unix::MetadataExt::dev(metadata), inode: unix::MetadataExt::ino(metadata) }
}

/// Whether an open file has lost its name.
///
/// # Errors
/// When the system does not say.
pub fn is_removed(file: &File) -> io::Result<bool> {
    Ok(unix::MetadataExt::nlink(&file.metadata()?) == 0)
}

/// Numbers that differ after any change of a file: seconds and nanoseconds since 1970 of its last change of content and of
/// any change, which file it is, and its mode.
///
/// # Errors
/// Never.
pub fn stamp(_: &Path, metadata: &Metadata) -> io::Result<[i64; 7]> {
    use unix::MetadataExt as Unix;
    let FileIdentity { device, inode } = numbers(metadata);
    Ok([
        Unix::mtime(metadata),
        Unix::mtime_nsec(metadata),
        Unix::ctime(metadata),
        Unix::ctime_nsec(metadata),
        inode.cast_signed(),
        device.cast_signed(),
        i64::from(Unix::mode(metadata)),
    ])
}

/// Whose a file is, and who may do what with it.
///
/// # Errors
/// Never.
pub fn protection(_: &Path, metadata: &Metadata) -> io::Result<Protection> {
    let owner = User::from_id(unix::MetadataExt::uid(metadata));
    Ok(Protection { owner, mode: unix::MetadataExt::mode(metadata) & 0o7777 })
}

/// The same of an open file.
///
/// # Errors
/// Never.
pub fn protection_of(_: &File, metadata: &Metadata) -> io::Result<Protection> {
    protection(Path::new(""), metadata)
}

/// The mode of a file.
pub fn mode(metadata: &Metadata) -> u32 {
    unix::MetadataExt::mode(metadata)
}

/// Gives a file or directory a mode.
///
/// # Errors
/// When it belongs to another user.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, unix::PermissionsExt::from_mode(mode))
}

/// Nothing: a file or directory is created with its mode.
///
/// # Errors
/// Never.
pub fn set_mode_of_new(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// The permissions that a file with this mode is created with; `None` where a mode is none.
pub fn permissions(mode: u32) -> Option<Permissions> {
    Some(unix::PermissionsExt::from_mode(mode))
}

/// The command by which others may no longer write to a file, or not even read it.
pub fn help_against_others(path: &Path, what: Others) -> String {
    let change = match what {
        Others::Write => "go-w",
        Others::Read => "go=",
    };
    format!("chmod {change} {}", path.display())
}

/// The command by which a file belongs to a user.
pub fn help_to_own(path: &Path, user: User) -> String {
    format!("chown {user} {}", path.display())
}

/// Whether it is `/dev/null`.
pub fn is_null_device(metadata: &Metadata) -> bool {
    let device = unix::MetadataExt::rdev(metadata);
    unix::FileTypeExt::is_char_device(&metadata.file_type())
        && fs::metadata("/dev/null").is_ok_and(|null| unix::MetadataExt::rdev(&null) == device)
}

/// Waits for the lock of a file.
///
/// # Errors
/// When the file system has no locks.
pub fn lock(file: &File) -> io::Result<()> {
    file.lock()
}

/// Locks a file; `false` if it is locked elsewhere.
///
/// # Errors
/// When the file system has no locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    unless_locked(file.try_lock())
}

/// The same together with others that share it.
///
/// # Errors
/// When the file system has no locks.
pub fn try_lock_shared(file: &File) -> io::Result<bool> {
    unless_locked(file.try_lock_shared())
}

/// Gives back a lock.
///
/// # Errors
/// When the file system has no locks.
pub fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

fn unless_locked(locked: Result<(), TryLockError>) -> io::Result<bool> {
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Has the names in a directory survive a loss of power.
///
/// # Errors
/// When the directory cannot be opened, or not be written.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Creates a symbolic link at `link`, which leads to `target`.
///
/// # Errors
/// When it cannot be created, or something is there.
pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    unix::symlink(target, link)
}

/// Gives a program another name, by a symbolic link.
///
/// # Errors
/// When it cannot be created, or something is there.
pub fn give_name(program: &Path, name: &Path) -> io::Result<()> {
    symlink(program, name)
}

/// Whether a file is a program, for anybody.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| unix::MetadataExt::mode(&metadata) & 0o111 != 0)
}

/// Whether a file has the name of a program: here any.
pub fn is_named_as_program(path: &Path) -> bool {
    path.is_file()
}

/// What lets others use a file with this mode, for messages.
pub fn described_permission(mode: u32) -> String {
    format!("its mode {mode:04o}")
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
