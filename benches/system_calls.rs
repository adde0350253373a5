//! System calls of running processes, counted by `perf`, which needs to be installed and allowed. Without it there are no
//! figures of them.

use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};

/// Counts until it is asked.
#[derive(Debug)]
pub(crate) struct Counter(Option<Child>);

impl Counter {
    /// Begins to count the system calls of all threads of these processes. Without processes it counts nothing.
    pub(crate) fn start(processes: &[i32]) -> Self {
        if processes.is_empty() {
            return Self(None);
        }
        let list = processes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let mut command = Command::new("perf");
        command.args(["stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p", &list]);
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok())
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
