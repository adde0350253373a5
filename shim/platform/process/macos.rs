//! macOS: what it tells of processes by other means than files is not asked yet, except for what they use.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::Usage;

/// The path of standard input.
pub(super) const STANDARD_INPUT: &str = "/dev/fd/0";

/// Whether this process inherited an ignored signal, which this system tells unsafe code only.
pub(super) fn is_ignored(_signal: i32) -> bool {
    false
}

/// Where standard output goes, if that has a name.
pub fn standard_output_file() -> Option<PathBuf> {
    None
}

/// The executables that run on this machine.
pub fn executables() -> impl Iterator<Item = PathBuf> {
    std::iter::empty()
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
pub fn machine() -> String {
    String::new()
}

/// When a running process began.
pub fn began(_process: u32) -> Option<String> {
    None
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
