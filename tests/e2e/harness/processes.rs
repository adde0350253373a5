//! The processes that a project has started, found by where their executables lie.
//!
//! Every project runs plugins and providers from its own directory (by hard links), so that a process that outlives its daemon
//! can be told from those of tests running beside it, without asking anyone who started it. This reads `/proc`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A process that was alive when it was looked for.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) executable: PathBuf,
}

impl Process {
    /// Whether it runs a plugin's executable as the guardian of a provider.
    pub(crate) fn is_guardian(&self) -> bool {
        std::fs::read(format!("/proc/{}/cmdline", self.pid.as_raw_nonzero()))
            .is_ok_and(|words| words.starts_with(b"isthmus-guardian\0"))
    }

    pub(crate) fn kill(&self) {
        // It may have ended in the meantime, which is as well.
        let _ = kill_process(self.pid, Signal::KILL);
    }
}

impl fmt::Display for Process {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (process {})", self.executable.display(), self.pid.as_raw_nonzero())
    }
}

/// All live processes whose executable lies below `directory`. A process that has ended but was not waited for is none.
pub(crate) fn below(directory: &Path) -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").expect("/proc can be read");
    entries
        .filter_map(|entry| process(&entry.ok()?.path()))
        .filter(|process| process.executable.starts_with(directory))
        .collect()
}

fn process(entry: &Path) -> Option<Process> {
    let pid = Pid::from_raw(entry.file_name()?.to_str()?.parse().ok()?)?;
    // Fails for a kernel thread, a process that has ended, and one of somebody else.
    let executable = std::fs::read_link(entry.join("exe")).ok()?;
    Some(Process { pid, executable })
}

/// Waits until `condition` yields something, and returns it.
///
/// # Panics
/// When it has not after `limit`, with the text that `otherwise` gives.
pub(crate) fn wait_until<T>(
    limit: Duration,
    condition: impl FnMut() -> Option<T>,
    otherwise: impl FnOnce() -> String,
) -> T {
    within(limit, condition).unwrap_or_else(|| panic!("not within {limit:?}: {}", otherwise()))
}

/// Waits until `condition` yields something, but not longer than `limit`.
pub(crate) fn within<T>(limit: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        let found = condition();
        if found.is_some() || begin.elapsed() >= limit {
            return found;
        }
        // What is waited for is told by nothing but a look (files, /proc); the pause only spares the processor.
        std::thread::sleep(Duration::from_millis(10));
    }
}
