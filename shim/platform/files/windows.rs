//! Windows: lists of access instead of modes, and numbers of files by their handle.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::fs as windows;
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_LOCK_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FileBasicInfo, GetDiskFreeSpaceExW, GetFileInformationByHandle, GetFileInformationByHandleEx,
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

use super::access::{self, Access};
use super::{
    DirBuilderExt, FileExt, FileIdentity, FileTypeExt, OpenFlags, OpenOptionsExt, Protection, Space,
};

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, _: u32) -> &mut Self {
        self
    }

    fn flags(&mut self, flags: OpenFlags) -> &mut Self {
        let flags = if flags.no_follow { FILE_FLAG_OPEN_REPARSE_POINT } else { 0 };
        windows::OpenOptionsExt::custom_flags(self, flags)
    }
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, _: u32) -> &mut Self {
        self
    }
}

impl FileTypeExt for FileType {
    fn is_fifo(&self) -> bool {
        false
    }

    fn is_socket(&self) -> bool {
        false
    }
}

impl FileExt for File {
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match windows::FileExt::seek_read(self, buffer, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
            }
        }
        Ok(())
    }

    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match windows::FileExt::seek_write(self, bytes, offset)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
            }
        }
        Ok(())
    }
}

/// Which file is open.
///
/// # Errors
/// When the system does not say.
pub fn identity_of(file: &File) -> io::Result<FileIdentity> {
    let found = information(file)?;
    Ok(FileIdentity {
        device: found.dwVolumeSerialNumber.into(),
        inode: wide(found.nFileIndexHigh, found.nFileIndexLow),
    })
}

/// Which file has this path, a link itself.
///
/// # Errors
/// When there is none, or it cannot be opened.
pub fn identity(path: &Path, metadata: &Metadata) -> io::Result<FileIdentity> {
    identity_of(&opened(path, metadata.is_symlink())?)
}

/// Whether an open file has lost its name.
///
/// # Errors
/// When the system does not say.
pub fn is_removed(file: &File) -> io::Result<bool> {
    Ok(information(file)?.nNumberOfLinks == 0)
}

/// Numbers that differ after any change of a file: of its last change of content, of any change, and which file it is.
///
/// # Errors
/// When it cannot be opened.
pub fn stamp(path: &Path, metadata: &Metadata) -> io::Result<[i64; 7]> {
    let file = opened(path, metadata.is_symlink())?;
    let FileIdentity { device, inode } = identity_of(&file)?;
    let times = basic_information(&file)?;
    let [written, written_rest] = since_1970(times.LastWriteTime);
    let [changed, changed_rest] = since_1970(times.ChangeTime);
    let attributes = times.FileAttributes.into();
    Ok([written, written_rest, changed, changed_rest, inode.cast_signed(), device.cast_signed(), attributes])
}

/// Seconds and nanoseconds since 1970 of a time in units of 100 ns since 1601.
fn since_1970(time: i64) -> [i64; 2] {
    const UNITS: i64 = 10_000_000;
    const BETWEEN: i64 = 11_644_473_600;
    [time.div_euclid(UNITS) - BETWEEN, time.rem_euclid(UNITS) * 100]
}

/// Whose a file is, and what others may do with it.
///
/// # Errors
/// When this user may not know.
pub fn protection(path: &Path, metadata: &Metadata) -> io::Result<Protection> {
    let file = access::opened_for_access(path, metadata.is_symlink())?;
    protection_of(&file, metadata)
}

/// The same of an open file.
///
/// # Errors
/// When this user may not know.
pub fn protection_of(file: &File, _: &Metadata) -> io::Result<Protection> {
    let Access { owner, others_read, others_write } = Access::of(file)?;
    let mode = 0o700 | if others_read { 0o055 } else { 0 } | if others_write { 0o022 } else { 0 };
    Ok(Protection { owner, mode })
}

/// The mode of every program and file, where there are none.
pub fn mode(_: &Metadata) -> u32 {
    0o755
}

/// Makes a file its owner's alone if the mode keeps others out, and leaves it as it is otherwise.
///
/// # Errors
/// When this user may not.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    if mode & 0o077 == 0 { access::make_private(path) } else { Ok(()) }
}

/// Gives a new file or directory its mode, which creating it did not.
///
/// # Errors
/// As of [`set_mode`].
pub fn set_mode_of_new(path: &Path, mode: u32) -> io::Result<()> {
    set_mode(path, mode)
}

/// The permissions that a file with this mode is created with: none that the standard library knows.
pub fn permissions(_: u32) -> Option<fs::Permissions> {
    None
}

/// What to run so that others may no longer write to a file, or not even read it.
pub fn help_against_others(path: &Path, _: super::Others) -> String {
    format!("icacls \"{}\" /inheritance:r /grant:r \"%USERNAME%:F\"", path.display())
}

/// What to run so that a file belongs to a user.
pub fn help_to_own(path: &Path, user: crate::process::User) -> String {
    format!("icacls \"{}\" /setowner *{user}", path.display())
}

/// Whether it is the null device, which is in no directory here.
pub fn is_null_device(_: &Metadata) -> bool {
    false
}

/// Creates a symbolic link at `link`, which leads to `target`.
///
/// # Errors
/// When something is there, or this user may not create links: the system permits it in its mode for developers.
pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let is_directory = link.as_ref().parent().unwrap_or(Path::new("")).join(&target).is_dir();
    if is_directory { windows::symlink_dir(target, link) } else { windows::symlink_file(target, link) }
}

/// Gives a program another name, by a copy: not every user may create symbolic links, and no name of a running program can be
/// removed.
///
/// # Errors
/// When it cannot be created, or something is there.
pub fn give_name(program: &Path, name: &Path) -> io::Result<()> {
    let mut new = File::options().write(true).create_new(true).open(name)?;
    io::copy(&mut File::open(program)?, &mut new).map(drop)
}

/// Whether a file is a program: here by its name.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && has_extension_of_programs(path)
}

/// Whether a file has the name of a program: no other is started.
pub fn is_named_as_program(path: &Path) -> bool {
    is_executable(path)
}

/// What lets others use a file, for messages.
pub fn described_permission(_mode: u32) -> String {
    "its access list".to_owned()
}

fn has_extension_of_programs(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("exe"))
}

/// Whether this process may start a file, or enter a directory. Starting it tells.
///
/// # Errors
/// When nothing is there.
pub fn require_executable(path: &Path) -> io::Result<()> {
    path.metadata().map(drop)
}

/// Whether this process may create files in a directory.
///
/// # Errors
/// Why not.
pub fn require_writable_directory(path: &Path) -> io::Result<()> {
    access::opened_to_add(path).map(drop)
}

/// The bytes of a path or of another text of the system, for another process of this machine.
pub fn os_bytes(text: &OsStr) -> &[u8] {
    text.as_encoded_bytes()
}

/// The text of these bytes, which [`os_bytes`] gave; `None` for others.
pub fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    String::from_utf8(bytes).ok().map(OsString::from)
}

/// A byte that no file has, since locks are mandatory here: others may read the file while it is locked.
const LOCKED_AT: u64 = 1 << 62;

/// Waits for the lock of a file. Whoever has it may be read from, and written to.
///
/// # Errors
/// When the file system has no locks.
pub fn lock(file: &File) -> io::Result<()> {
    locked(file, LOCKFILE_EXCLUSIVE_LOCK).map(drop)
}

/// Locks a file; `false` if another handle has it locked. Whoever has it may be read from, and written to.
///
/// # Errors
/// When the file system has no locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    locked(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY)
}

/// The same together with others that share it.
///
/// # Errors
/// When the file system has no locks.
pub fn try_lock_shared(file: &File) -> io::Result<bool> {
    locked(file, LOCKFILE_FAIL_IMMEDIATELY)
}

/// Gives back a lock.
///
/// # Errors
/// When it is not locked.
#[expect(unsafe_code, reason = "the standard library locks whole files only")]
pub fn unlock(file: &File) -> io::Result<()> {
    let mut place = place_of_lock();
    // SAFETY: the handle is open, and `place` lives until the call returns: the file was not opened for overlapped calls.
    let result = unsafe {
        windows_sys::Win32::Storage::FileSystem::UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut place)
    };
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "the standard library locks whole files only")]
fn locked(file: &File, flags: u32) -> io::Result<bool> {
    let mut place = place_of_lock();
    // SAFETY: the handle is open, and `place` lives until the call returns: the file was not opened for overlapped calls.
    let result = unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &raw mut place) };
    if result != 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    let is_locked = error.raw_os_error() == i32::try_from(ERROR_LOCK_VIOLATION).ok();
    if is_locked { Ok(false) } else { Err(error) }
}

fn place_of_lock() -> OVERLAPPED {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.Offset = (LOCKED_AT & u64::from(u32::MAX)) as u32;
    place.Anonymous.Anonymous.OffsetHigh = (LOCKED_AT >> 32) as u32;
    place
}

/// The same lock: Go's programs use it as well.
///
/// # Errors
/// When the file system has no locks.
pub fn try_lock_for_process(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(fs::TryLockError::WouldBlock) => Ok(false),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Nothing: the file system writes names of files in an order that survives a loss of power, and no directory can be opened to be
/// synchronised.
///
/// # Errors
/// Never.
pub fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The file system of a file or directory.
///
/// # Errors
/// When nothing is there.
#[expect(unsafe_code, reason = "the standard library does not tell the space of a disk")]
pub fn space(path: &Path) -> io::Result<Space> {
    let path = terminated(path.as_os_str());
    let mut available = 0;
    // SAFETY: the path ends with a zero, and the two other results are not asked for.
    let result = unsafe {
        GetDiskFreeSpaceExW(path.as_ptr(), &raw mut available, std::ptr::null_mut(), std::ptr::null_mut())
    };
    if result == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(Space { available, forbids_execution: false })
    }
}

/// Whether a file system is mounted at a directory, or a junction leads elsewhere.
///
/// # Errors
/// When nothing is there.
pub fn is_mount_point(directory: &Path) -> io::Result<bool> {
    use windows_sys::Win32::Storage::FileSystem::FILE_ATTRIBUTE_REPARSE_POINT;
    let attributes = windows::MetadataExt::file_attributes(&directory.symlink_metadata()?);
    Ok(attributes & FILE_ATTRIBUTE_REPARSE_POINT != 0)
}

/// A text of the system, with a zero at its end.
pub(crate) fn terminated(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

/// A text that the system has written, up to the first zero.
pub(crate) fn text(units: &[u16]) -> OsString {
    let length = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    OsString::from_wide(&units[..length])
}

pub(crate) fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Opens a file or a directory for its attributes alone.
fn opened(path: &Path, is_link: bool) -> io::Result<File> {
    let link = if is_link { FILE_FLAG_OPEN_REPARSE_POINT } else { 0 };
    let mut options = OpenOptions::new();
    windows::OpenOptionsExt::access_mode(&mut options, 0);
    windows::OpenOptionsExt::custom_flags(&mut options, FILE_FLAG_BACKUP_SEMANTICS | link);
    options.open(path)
}

#[expect(unsafe_code, reason = "the standard library does not tell numbers of files")]
fn information(file: &File) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the structure is written to during the call.
    let result = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut found) };
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(found) }
}

#[expect(unsafe_code, reason = "the standard library does not tell the time of any change")]
fn basic_information(file: &File) -> io::Result<FILE_BASIC_INFO> {
    let mut found = FILE_BASIC_INFO::default();
    // SAFETY: the handle is open, the structure is the one of the class, and its size is passed on.
    let result = unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            FileBasicInfo,
            (&raw mut found).cast(),
            size_of::<FILE_BASIC_INFO>() as u32,
        )
    };
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(found) }
}
