//! System calls of running processes, counted by `perf`, which needs to be installed and allowed. Without it there are no
//! figures of them.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// While `perf` attaches to the threads of the processes, how often it is looked whether it has ended instead.
const ATTACH_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Counts until it is asked.
#[derive(Debug)]
pub(crate) struct Counter(Option<Child>);

impl Counter {
    /// Begins to count the system calls of all threads of these processes. Without processes it counts nothing.
    pub(crate) fn start(processes: &[i32]) -> anyhow::Result<Self> {
        if processes.is_empty() {
            return Ok(Self(None));
        }
        let list = processes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let fifos = TempDir::with_prefix("isthmus-benches-perf-").context("no temporary directory")?;
        let fifo = |name: &str| -> anyhow::Result<File> {
            let path = fifos.path().join(name);
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, &path, FileType::Fifo, mode, 0).context("no FIFO for perf")?;
            // For both, so that opening it does not wait for perf, which may not be there.
            OpenOptions::new().read(true).write(true).open(&path).context("the FIFO cannot be opened")
        };
        let (mut control, mut acknowledged) = (fifo("control")?, fifo("acknowledged")?);
        let directory = fifos.path().display();
        let control_option = format!("--control=fifo:{directory}/control,{directory}/acknowledged");
        let mut command = Command::new("perf");
        command.args([
            "stat",
            "-x",
            ",",
            "--delay=-1",
            &control_option,
            "-e",
            "raw_syscalls:sys_enter",
            "-p",
            &list,
        ]);
        let perf = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let Ok(mut child) = perf else { return Ok(Self(None)) };
        // It answers when it counts, so that no call goes by before.
        control.write_all(b"enable\n").context("perf cannot be told to count")?;
        let mut fds = [PollFd::new(&acknowledged, PollFlags::IN)];
        while poll(&mut fds, Some(&ATTACH_INTERVAL)).context("perf cannot be waited for")? == 0 {
            // For want of permission.
            if child.try_wait().context("perf cannot be waited for")?.is_some() {
                return Ok(Self(None));
            }
        }
        let mut answer = [0; 16];
        acknowledged.read(&mut answer).context("perf's answer cannot be read")?;
        Ok(Self(Some(child)))
    }

    /// How many there were. None if they cannot be counted here.
    pub(crate) fn finish(self) -> anyhow::Result<Option<u64>> {
        let Some(child) = self.0 else { return Ok(None) };
        let perf = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process number")?;
        // It may have ended for want of permission.
        let _ = kill_process(perf, Signal::INT);
        let output = child.wait_with_output().context("perf cannot be waited for")?;
        Ok(count(&String::from_utf8_lossy(&output.stderr)))
    }
}

fn count(output: &str) -> Option<u64> {
    let line = output.lines().find(|line| line.contains("raw_syscalls:sys_enter"))?;
    line.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_first_field_of_the_events_line() {
        assert_eq!(count("noise\n4711,,raw_syscalls:sys_enter,100,100.00,,\n"), Some(4711));
        assert_eq!(count("<not counted>,,raw_syscalls:sys_enter,0,100.00,,\n"), None);
        assert_eq!(count("event syntax error: 'raw_syscalls:sys_enter'\n"), None);
    }
}
