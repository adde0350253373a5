//! The processes of a provider, from `/proc`.
//!
//! A provider leads its own session, which all processes that it starts belong to, unless they
//! create another. The session id is the process id of its leader, and the kernel does not reuse it
//! while the leader, be it a zombie, or any member exists. So until the leader is reaped, a process
//! with that session is the provider's; and no process is killed by an id that may have been reused
//! since it was read.

use std::fs;

use rustix::process::{Pid, getpid};
#[cfg(target_os = "linux")]
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A snapshot of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: Pid,
    pub(super) command: String,
    /// It has exited, but was not reaped.
    pub(super) has_ended: bool,
    pub(super) parent: Option<Pid>,
    pub(super) session: Option<Pid>,
    /// In ticks since boot.
    started: u64,
}

impl Process {
    /// Reads a process; `None` if it does not exist or is not accessible.
    fn look_at(id: Pid) -> Option<Self> {
        // Names may be invalid UTF-8.
        let stat = fs::read(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
        Self::parse(&String::from_utf8_lossy(&stat))
    }

    fn parse(stat: &str) -> Option<Self> {
        let (id, rest) = stat.split_once(" (")?;
        // Names may contain parentheses.
        let (command, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index).and_then(|field| field.parse::<i32>().ok());
        // The kernel writes -1 for the session of a process that is just being reaped.
        let other = |index: usize| number(index).filter(|id| *id > 0).and_then(Pid::from_raw);
        // If only the first of several threads has ended, the process looks like a zombie.
        let has_ended = matches!(*fields.first()?, "Z" | "X") && number(THREADS)? <= 1;
        Some(Self {
            id: Pid::from_raw(id.parse().ok()?)?,
            command: command.to_owned(),
            has_ended,
            parent: other(PARENT),
            session: other(SESSION),
            started: fields.get(STARTED)?.parse().ok()?,
        })
    }

    /// Kills it; `false` if not permitted, or if the id was reused.
    pub(super) fn kill(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            // The handle refers to the current process of this id, which is the one that was read
            // if it has the same start time.
            let Ok(handle) = pidfd_open(self.id, PidfdFlags::empty()) else { return false };
            Self::look_at(self.id).is_some_and(|now| now.started == self.started)
                && pidfd_send_signal(handle, Signal::KILL).is_ok()
        }
        #[cfg(not(target_os = "linux"))]
        false
    }
}

/// Positions of fields after the name in `/proc/PID/stat`; the state is 0.
const PARENT: usize = 1;
const SESSION: usize = 3;
const THREADS: usize = 17;
const STARTED: usize = 19;

/// All accessible processes; none on systems without `/proc`.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let id = |entry: fs::DirEntry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?);
    entries.flatten().filter_map(|entry| Process::look_at(id(entry)?)).collect()
}

/// The processes in the session of `leader`, without the leader.
pub(super) fn of_session(processes: &[Process], leader: Pid) -> impl Iterator<Item = &Process> {
    processes
        .iter()
        .filter(move |process| !process.has_ended && process.session == Some(leader) && process.id != leader)
}

/// The resident memory of a leader and the processes in its session, in bytes. Memory that they
/// share counts for each.
pub(in crate::plugin) fn resident_memory(leader: Pid) -> u64 {
    let processes = all();
    let members = of_session(&processes, leader).map(|process| process.id);
    members.chain([leader]).filter_map(resident_of).sum()
}

/// The resident memory of one process, in bytes; `None` if it has exited or is not accessible.
fn resident_of(id: Pid) -> Option<u64> {
    let status = fs::read(format!("/proc/{}/status", id.as_raw_nonzero())).ok()?;
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib * 1024)
}

/// The descendants of this process.
pub(super) fn below_this(processes: &[Process]) -> Vec<&Process> {
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

/// Kills the remaining session of a leader whose guardian was killed.
///
/// The session id may be reused now. But it was the leader's until the guardian exited, so
/// processes that are older than this call, or than the moment when its last members were killed,
/// are the provider's.
pub(super) fn end_session_of_the_dead(leader: Pid) {
    let mut ours_until = ticks_since_start();
    for _ in 0..ROUNDS {
        let Some(until) = ours_until else { return };
        let processes = all();
        let is_member = |process: &&Process| {
            !process.has_ended && process.session == Some(leader) && process.started <= until
        };
        let members: Vec<&Process> = processes.iter().filter(is_member).collect();
        if members.is_empty() {
            return;
        }
        for member in members {
            // The next round retries.
            let _ = member.kill();
        }
        ours_until = ticks_since_start();
        std::thread::sleep(PAUSE);
    }
}

/// Number of and delay between checks of a session: 2 s in total.
const ROUNDS: u32 = 200;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Time since boot in the unit of start times in `/proc`: 1/100 s, on every machine.
fn ticks_since_start() -> Option<u64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, hundredths) = uptime.split_ascii_whitespace().next()?.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 100 + hundredths.parse::<u64>().ok()?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_with_its_parent_and_session() {
        let mut child =
            std::process::Command::new("setsid").args(["sleep", "600"]).spawn().expect("setsid is there");
        let id = Pid::from_child(&child);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let seen = loop {
            let seen = all().into_iter().find(|process| process.id == id).expect("it runs");
            if seen.session == Some(id) {
                break seen;
            }
            assert!(std::time::Instant::now() < deadline, "no session of its own: {seen:?}");
            std::thread::yield_now();
        };
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
        assert_eq!(seen.parent, Some(getpid()));
        assert!(!seen.has_ended);
        assert!(seen.started <= ticks_since_start().expect("Linux says for how long it has run"));
    }

    #[test]
    fn a_session_whose_leader_is_outside_of_the_container_has_no_number() {
        let process = Process::parse("42 (a) R 0 0 0 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 12345")
            .expect("a line of the kernel");
        assert_eq!((process.parent, process.session), (None, None));
    }

    #[test]
    fn a_process_that_is_being_reaped_has_no_session() {
        let process = Process::parse("42 (a) X 0 -1 -1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 12345")
            .expect("a line of the kernel");
        assert_eq!((process.parent, process.session, process.has_ended), (None, None, true));
    }

    #[test]
    fn names_of_any_kind_do_not_shift_the_numbers() {
        let stat = "42 (a ) R 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 12345 1 2";
        let process = Process::parse(stat).expect("a line of the kernel");
        assert_eq!(process.command, "a ) R 1 (b");
        assert_eq!((process.parent, process.session), (Pid::from_raw(7), Pid::from_raw(9)));
        assert_eq!((process.started, process.has_ended), (12345, false));
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_has_not() {
        let stat = |threads| format!("42 (a) Z 7 8 9 0 -1 0 1 2 3 4 5 6 7 8 20 0 {threads} 0 12345");
        let has_ended = |threads| Process::parse(&stat(threads)).expect("a line of the kernel").has_ended;
        assert_eq!((has_ended(1), has_ended(3)), (true, false));
    }
}
