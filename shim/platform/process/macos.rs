//! macOS: libproc, `sysctl`, and paths of descriptors.

use std::ffi::{CStr, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::getpath;
use rustix::process::Pid;

use super::Usage;
use crate::supervise::processes;

/// The path of standard input.
pub(super) const STANDARD_INPUT: &str = "/dev/fd/0";

/// Whether this process inherited an ignored signal.
#[expect(unsafe_code, reason = "the disposition of a signal has no other interface")]
pub(super) fn is_ignored(signal: i32) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new disposition the call only writes the present one into `found`.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), found.as_mut_ptr()) };
    // SAFETY: it was zero before, which is a value of each of its fields.
    result == 0 && unsafe { found.assume_init() }.sa_sigaction == libc::SIG_IGN
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

/// What this process uses.
pub fn usage() -> Usage {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    // One of them is the directory that is read.
    let open_files = std::fs::read_dir("/dev/fd").map_or(0, |files| files.count().saturating_sub(1));
    let resident_memory = crate::supervise::resident_memory(std::process::id());
    Usage { resident_memory, cpu: Duration::try_from(cpu).unwrap_or_default(), open_files }
}

/// The name of this machine; empty if the system does not tell.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Identifies the boot, in which a process id means one process; empty if the system does not tell.
#[expect(unsafe_code, reason = "sysctl has no other interface")]
pub fn machine() -> String {
    // A UUID.
    let mut text = [0_u8; 64];
    let mut length = text.len();
    // SAFETY: the buffer has as many bytes as `length` says; the call writes neither name nor new value.
    let result = unsafe {
        libc::sysctlbyname(
            c"kern.bootsessionuuid".as_ptr(),
            text.as_mut_ptr().cast(),
            &raw mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    if result != 0 {
        return String::new();
    }
    CStr::from_bytes_until_nul(&text).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// When a running process began: ids are reused.
pub fn began(process: u32) -> Option<String> {
    let process = processes::one(Pid::from_raw(i32::try_from(process).ok()?)?)?;
    (!process.has_ended).then(|| process.started.to_string())
}

/// Hides this process from others of its user, which this system does by itself.
pub fn hide_from_other_processes(_secret: &[&str]) {}

/// The environment of this process.
///
/// # Errors
/// Never.
pub fn environment_without(_secret: &[&str]) -> io::Result<Vec<(OsString, OsString)>> {
    Ok(std::env::vars_os().collect())
}
