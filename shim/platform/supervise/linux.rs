//! Linux: handles of processes (pidfd), `/proc`, subreapers, and signals at a parent's death.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, pidfd_send_signal, set_child_subreaper,
    set_parent_process_death_signal,
};

use super::unix::Process;

/// This executable, also when a file of another version takes its name.
pub(super) fn own_executable() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Where the descriptors of this process are listed.
pub(crate) const DESCRIPTORS: &str = "/proc/self/fd";

/// Becomes readable when its process has exited, and refers to no other process after that.
#[derive(Debug)]
pub(super) struct ExitHandle(OwnedFd);

impl ExitHandle {
    /// Of a process that exists and is visible from here.
    pub(super) fn open(id: Pid) -> io::Result<Self> {
        // Without flags, which kernels before 5.10 refuse.
        Ok(Self(pidfd_open(id, PidfdFlags::empty())?))
    }

    /// Kills the process; `false` if it has exited, or is not permitted.
    pub(super) fn kill(&self) -> bool {
        pidfd_send_signal(&self.0, Signal::KILL).is_ok()
    }
}

impl AsFd for ExitHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for ExitHandle {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Has a child killed when the thread that started it ends. Runs between fork and exec: bare system calls only.
pub(super) fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the parent has already exited, its signal never arrives.
    if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

/// Has processes below this one that lose their parent become its children.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Has the processes of a program found by [`descendants`], which needs nothing: they are below this process.
pub(super) fn mark(_: &mut Command) {}

/// The processes that a marked program has started, and it: the descendants of this process, which adopts orphans.
pub(super) fn descendants(processes: &[Process]) -> Vec<&Process> {
    let mut above = vec![getpid()];
    let mut found: Vec<&Process> = Vec::new();
    while let Some(parent) = above.pop() {
        for child in processes.iter().filter(|process| process.parent == Some(parent)) {
            above.push(child.id);
            found.push(child);
        }
    }
    found.retain(|process| !process.has_ended);
    found
}

/// The name of this process in process lists, which would show `exe`.
pub(super) fn set_own_name() {
    let _ = rustix::thread::set_name(c"isthmus-guard");
}

/// All accessible processes.
pub(super) fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let id = |entry: fs::DirEntry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?);
    entries.flatten().filter_map(|entry| process(id(entry)?)).collect()
}

/// Reads a process; `None` if it does not exist or is not accessible.
pub(crate) fn process(id: Pid) -> Option<Process> {
    // Names may be invalid UTF-8.
    let stat = fs::read(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
    parse(&String::from_utf8_lossy(&stat))
}

fn parse(stat: &str) -> Option<Process> {
    let (id, rest) = stat.split_once(" (")?;
    // Names may contain parentheses.
    let (command, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<i32>().ok());
    // The kernel writes -1 for the session of a process that is just being reaped.
    let other = |index: usize| number(index).filter(|id| *id > 0).and_then(Pid::from_raw);
    // If only the first of several threads has ended, the process looks like a zombie.
    let has_ended = matches!(*fields.first()?, "Z" | "X") && number(THREADS)? <= 1;
    Some(Process {
        id: Pid::from_raw(id.parse().ok()?)?,
        command: command.to_owned(),
        has_ended,
        parent: other(PARENT),
        session: other(SESSION),
        started: fields.get(STARTED)?.parse().ok()?,
    })
}

/// Positions of fields after the name in `/proc/PID/stat`; the state is 0.
const PARENT: usize = 1;
const SESSION: usize = 3;
const THREADS: usize = 17;
const STARTED: usize = 19;

/// Now, in the unit of [`Process::started`]: 1/100 s since boot, on every machine.
pub(super) fn now() -> Option<u64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, hundredths) = uptime.split_ascii_whitespace().next()?.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 100 + hundredths.parse::<u64>().ok()?)
}

/// The resident memory of one process, in bytes; `None` if it has exited or is not accessible.
pub(super) fn resident_memory(id: Pid) -> Option<u64> {
    let status = fs::read(format!("/proc/{}/status", id.as_raw_nonzero())).ok()?;
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_whose_leader_is_outside_of_the_container_has_no_number() {
        let process =
            parse("42 (a) R 0 0 0 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 12345").expect("a line of the kernel");
        assert_eq!((process.parent, process.session), (None, None));
    }

    #[test]
    fn a_process_that_is_being_reaped_has_no_session() {
        let process =
            parse("42 (a) X 0 -1 -1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 12345").expect("a line of the kernel");
        assert_eq!((process.parent, process.session, process.has_ended), (None, None, true));
    }

    #[test]
    fn names_of_any_kind_do_not_shift_the_numbers() {
        let stat = "42 (a ) R 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 12345 1 2";
        let process = parse(stat).expect("a line of the kernel");
        assert_eq!(process.command, "a ) R 1 (b");
        assert_eq!((process.parent, process.session), (Pid::from_raw(7), Pid::from_raw(9)));
        assert_eq!((process.started, process.has_ended), (12345, false));
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_has_not() {
        let stat = |threads| format!("42 (a) Z 7 8 9 0 -1 0 1 2 3 4 5 6 7 8 20 0 {threads} 0 12345");
        let has_ended = |threads| parse(&stat(threads)).expect("a line of the kernel").has_ended;
        assert_eq!((has_ended(1), has_ended(3)), (true, false));
    }
}
