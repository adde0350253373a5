//! macOS: libproc, `sysctl`, and paths of descriptors.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::getpath;
use rustix::process::Pid;
use tokio::net::unix::pipe;

use crate::supervise::processes;

/// Standard input without the reads of other processes: `/dev/fd/0` would be the same open file as theirs, whose mode is theirs.
pub(super) fn reopened_standard_input() -> Option<pipe::Receiver> {
    None
}

/// Where standard output goes, if that has a name.
pub fn standard_output_file() -> Option<PathBuf> {
    let path = getpath(rustix::stdio::stdout()).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

/// The executables that run on this machine, as far as this user may see them.
pub fn executables() -> impl Iterator<Item = PathBuf> {
    processes::all().into_iter().filter_map(|process| executable(process.id))
}

#[expect(unsafe_code, reason = "libproc has no other interface")]
fn executable(id: Pid) -> Option<PathBuf> {
    let mut path = vec![0_u8; usize::try_from(libc::PROC_PIDPATHINFO_MAXSIZE).ok()?];
    let length = u32::try_from(path.len()).ok()?;
    // SAFETY: the buffer has as many bytes as the call gets as its length.
    let written = unsafe { libc::proc_pidpath(id.as_raw_nonzero().get(), path.as_mut_ptr().cast(), length) };
    path.truncate(usize::try_from(written).ok().filter(|written| *written > 0)?);
    Some(PathBuf::from(OsStr::from_bytes(&path)))
}

/// The resident memory of this process, in bytes.
pub(super) fn own_memory() -> u64 {
    crate::supervise::resident_memory(std::process::id())
}

/// Identifies the boot, in which a process id means one process; empty if the system does not tell.
pub fn machine() -> String {
    // A UUID.
    let text = sysctl(c"kern.bootsessionuuid").unwrap_or_default();
    CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What the kernel tells by a name.
///
/// # Errors
/// When it knows no such name, or what it tells grows faster than it is read.
pub(crate) fn sysctl(name: &CStr) -> io::Result<Vec<u8>> {
    const ATTEMPTS: u32 = 8;
    for _ in 0..ATTEMPTS {
        // The kernel adds room for what comes meanwhile.
        let mut answer = vec![0; read_sysctl(name, None)?];
        match read_sysctl(name, Some(&mut answer)) {
            Ok(length) => {
                answer.truncate(length);
                return Ok(answer);
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ENOMEM))
}

/// Reads it into a buffer, and returns its length; without a buffer, the length that one should have.
#[expect(unsafe_code, reason = "sysctl has no other interface")]
fn read_sysctl(name: &CStr, buffer: Option<&mut [u8]>) -> io::Result<usize> {
    let (place, mut length) = match buffer {
        Some(buffer) => (buffer.as_mut_ptr(), buffer.len()),
        None => (std::ptr::null_mut(), 0),
    };
    // SAFETY: the buffer has as many bytes as `length` says, or is null, by which the call only counts; it writes neither name
    // nor new value.
    let result =
        unsafe { libc::sysctlbyname(name.as_ptr(), place.cast(), &raw mut length, std::ptr::null_mut(), 0) };
    if result == 0 { Ok(length) } else { Err(io::Error::last_os_error()) }
}

/// Hides the memory of this process from others of its user, which this system does by itself: no process debugs another one
/// without the consent of the user or an entitlement.
pub(super) fn hide_from_debuggers() {}
