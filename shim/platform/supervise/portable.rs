//! Linux without what macOS lacks, for tests: the guardian of macOS, on the kernel that tests run on.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

pub(crate) use super::linux::process;
pub(super) use super::linux::{now, processes, resident_memory, set_own_name};
pub(crate) use super::plain::DESCRIPTORS;
pub(super) use super::plain::{ExitHandle, adopt_orphans, descendants, die_with, mark, own_executable};

/// Becomes readable when a process has exited, as a kqueue does.
pub(super) fn readable_at_exit(id: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(id, PidfdFlags::empty())?)
}

/// The environment that a process was started with, each variable before a NUL; empty if it is not accessible.
pub(super) fn environment(id: Pid) -> Vec<u8> {
    fs::read(format!("/proc/{}/environ", id.as_raw_nonzero())).unwrap_or_default()
}
