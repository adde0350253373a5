//! Linux: `/proc`.

use std::fs;
use std::path::PathBuf;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::net::unix::pipe;

/// Standard input, opened anew, if it is a pipe: whether a read waits belongs to the open file, which others may have as well.
pub(super) fn reopened_standard_input() -> Option<pipe::Receiver> {
    if cfg!(feature = "portable") {
        return None;
    }
    pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").ok()
}

/// Where standard output goes, if that has a name.
pub fn standard_output_file() -> Option<PathBuf> {
    fs::read_link("/proc/self/fd/1").ok()
}

/// The executables that run on this machine, as far as this user may see them. Blocks.
pub fn executables() -> impl Iterator<Item = PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    processes.filter_map(|process| fs::read_link(process.path().join("exe")).ok())
}

/// The resident memory of this process, in bytes.
pub(super) fn own_memory() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default();
    let page = u64::try_from(rustix::param::page_size()).unwrap_or_default();
    pages.saturating_mul(page)
}

/// Identifies the boot and the PID namespace, in which a process id means one process; empty if the system does not tell.
pub fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
    if boot.is_empty() || space.is_empty() { String::new() } else { format!("{}/{space}", boot.trim()) }
}

/// Hides the memory of this process from others of its user.
///
/// It is not dumpable then: its files in `/proc` belong to root, and no debugger of the same user attaches to it, nor does `perf`.
pub(super) fn hide_from_debuggers() {
    // A kernel always can.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
}
