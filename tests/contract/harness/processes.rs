//! Other processes: whether they live, and waiting for their end.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, kill_process, pidfd_open};

pub(crate) use rustix::process::Signal;

use super::PATIENCE;

/// Waits until a process, which need not be a child, has ended.
pub(crate) async fn ended(process: u32) {
    let descriptor = match pidfd_open(id(process), PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(Errno::SRCH) => return,
        Err(error) => panic!("process {process} cannot be watched: {error}"),
    };
    let patience = Timespec::try_from(PATIENCE).expect("a short time");
    let waited = tokio::task::spawn_blocking(move || {
        // The descriptor becomes readable when the process ends.
        poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&patience))
    });
    let ended = waited.await.expect("waiting does not panic").expect("a process can be waited for");
    assert_eq!(ended, 1, "process {process} still lives");
}

/// Whether a process lives.
pub(crate) fn lives(process: u32) -> bool {
    // A zombie has ended: its parent has only not looked yet.
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

/// The children of a process, whichever of its threads made them.
pub(crate) fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    texts
        .flat_map(|text| text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// A process, and how it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) process: u32,
    pub(crate) command: String,
}

/// The live processes that have this variable in their environment.
pub(crate) fn with_variable(name: &str, value: &str) -> Vec<Found> {
    let wanted = format!("{name}={value}");
    let entries = std::fs::read_dir("/proc").expect("/proc can be read");
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let process = entry.file_name().to_str()?.parse().ok()?;
            // A process that has only not been waited for has no environment any more.
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            environment.split(|byte| *byte == 0).find(|variable| *variable == wanted.as_bytes())?;
            let command = std::fs::read(entry.path().join("cmdline")).ok()?;
            Some(Found { process, command: String::from_utf8_lossy(&command).replace('\0', " ") })
        })
        .collect()
}

/// Sends a signal.
pub(crate) fn signal(process: u32, signal: Signal) {
    kill_process(id(process), signal).expect("a process that takes signals");
}

/// Kills a process, which may have ended.
pub(crate) fn kill(process: u32) {
    match kill_process(id(process), Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => panic!("process {process} cannot be killed: {error}"),
    }
}

fn id(process: u32) -> Pid {
    Pid::from_raw(i32::try_from(process).expect("a process id")).expect("a process id is not 0")
}
