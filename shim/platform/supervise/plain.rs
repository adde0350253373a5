//! Supervision by what macOS has: neither subreapers nor signals at a parent's death, and signals go to ids.
//!
//! A guardian that is killed leaves its provider to the daemon. Processes that lose their parent are no longer below the guardian:
//! those in the provider's session are found by it, and others by a variable of their environment.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpid, kill_process};

use super::system;
use super::unix::Process;

/// This executable.
pub(super) fn own_executable() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("isthmus"))
}

/// Where the descriptors of this process are listed.
pub(crate) const DESCRIPTORS: &str = "/dev/fd";

/// Becomes readable when its process has exited.
#[derive(Debug)]
pub(super) struct ExitHandle {
    descriptor: OwnedFd,
    id: Pid,
}

impl ExitHandle {
    /// Of a process that exists.
    pub(super) fn open(id: Pid) -> io::Result<Self> {
        Ok(Self { descriptor: system::readable_at_exit(id)?, id })
    }

    /// Kills the process; `false` if it has exited, or is not permitted.
    ///
    /// A signal goes to an id. Its process has not exited as long as the descriptor is not readable, and the system gives an
    /// id again only after all others, so that the moment between both calls is enough for no other process.
    pub(super) fn kill(&self) -> bool {
        let mut watched = [PollFd::new(&self.descriptor, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut watched, Some(&now)), Ok(0)) && kill_process(self.id, Signal::KILL).is_ok()
    }
}

impl AsFd for ExitHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl AsRawFd for ExitHandle {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

/// There is no such signal here.
pub(super) fn die_with(_parent: Pid) -> io::Result<()> {
    Ok(())
}

/// Orphans become children of the first process.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Has the processes of a program found by [`descendants`]: it gets a variable, which they inherit.
pub(super) fn mark(command: &mut Command) {
    if let Some(value) = mark_of_this() {
        command.env(MARK, value);
    }
}

/// The processes that a marked program has started, and it. Not those that were started with another environment, or whose
/// environment the system hides, as macOS does for its own programs.
pub(super) fn descendants(processes: &[Process]) -> Vec<&Process> {
    let Some(value) = mark_of_this() else { return Vec::new() };
    let mark = format!("{MARK}={value}");
    let is_marked = |process: &&Process| {
        let environment = system::environment(process.id);
        !process.has_ended && environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    processes.iter().filter(is_marked).collect()
}

/// The guardian of a program.
const MARK: &str = "ISTHMUS_GUARDIAN";

/// Of no other process, as ids are reused.
fn mark_of_this() -> Option<String> {
    let this = system::process(getpid())?;
    Some(format!("{}/{}", this.id.as_raw_nonzero(), this.started))
}
