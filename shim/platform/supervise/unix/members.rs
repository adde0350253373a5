//! The processes of a provider.
//!
//! A provider leads its own session, which all processes that it starts belong to, unless they
//! create another. The session id is the process id of its leader, and the kernel does not reuse it
//! while the leader, be it a zombie, or any member exists. So until the leader is reaped, a process
//! with that session is the provider's; and no process is killed by an id that may have been reused
//! since it was read.

use rustix::process::Pid;

use super::super::system;

/// A snapshot of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: Pid,
    pub(crate) command: String,
    /// It has exited, but was not reaped.
    pub(crate) has_ended: bool,
    pub(crate) parent: Option<Pid>,
    pub(crate) session: Option<Pid>,
    /// When it started, in a unit of the system.
    pub(crate) started: u64,
}

impl Process {
    /// Kills it; `false` if not permitted, or if the id was reused.
    pub(super) fn kill(&self) -> bool {
        // The handle refers to the current process of this id, which is the one that was read if it
        // has the same start time.
        let Ok(handle) = system::ExitHandle::open(self.id) else { return false };
        system::process(self.id).is_some_and(|now| now.started == self.started) && handle.kill()
    }
}

/// The processes in the session of `leader`, without the leader.
pub(super) fn of_session(processes: &[Process], leader: Pid) -> impl Iterator<Item = &Process> {
    processes
        .iter()
        .filter(move |process| !process.has_ended && process.session == Some(leader) && process.id != leader)
}

/// The resident memory of a program that [`spawn`](super::spawn) started, and of the
/// processes in its session, in bytes; 0 if they have exited. Memory that they share counts for each.
///
/// It blocks.
pub fn resident_memory(leader: u32) -> u64 {
    let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) else { return 0 };
    let processes = system::processes();
    let members = of_session(&processes, leader).map(|process| process.id);
    members.chain([leader]).filter_map(system::resident_memory).sum()
}

/// Kills the remaining session of a leader whose guardian was killed.
///
/// The session id may be reused now. But it was the leader's until the guardian exited, so
/// processes that are older than this call, or than the moment when its last members were killed,
/// are the provider's.
pub(super) fn end_session_of_the_dead(leader: Pid) {
    let mut ours_until = system::now();
    for _ in 0..ROUNDS {
        let Some(until) = ours_until else { return };
        let processes = system::processes();
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
        ours_until = system::now();
        std::thread::sleep(PAUSE);
    }
}

/// Number of and delay between checks of a session: 2 s in total.
const ROUNDS: u32 = 200;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use rustix::process::getpid;

    use super::*;

    #[test]
    fn a_process_is_found_with_its_parent_and_session() {
        let mut child =
            std::process::Command::new("setsid").args(["sleep", "600"]).spawn().expect("setsid is there");
        let id = Pid::from_child(&child);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let seen = loop {
            let seen = system::processes().into_iter().find(|process| process.id == id).expect("it runs");
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
        assert!(seen.started <= system::now().expect("the system has a clock"));
    }
}
