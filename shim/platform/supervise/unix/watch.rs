//! The watch of one provider, until none of its processes is left.
//!
//! The session's leader, which is the provider or a wrapper of it, is reaped last: until then its
//! zombie reserves the ids of its group and session, so that no other process is killed.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, kill_process_group, waitid};

use super::super::ending::Ending;
use super::super::program::{OtherSession, OtherSessions};
use super::super::system::{self, ExitHandle};
use super::members::{self, Process};
use super::report::Report;
use super::start::start;

/// Watches in a thread of a process with other tasks. Only the provider's session is covered:
/// another process adopts and reaps orphans.
pub(super) fn in_thread(command: Command, socket: UnixStream) {
    if let Some(leader) = begin(command, &socket) {
        Watch { leader, socket, is_cut: false, wake: Wake::by_handle(leader), adopts: None }
            .run_to_completion();
    }
}

/// Starts the provider, and reports the result.
pub(super) fn begin(command: Command, socket: &UnixStream) -> Option<Pid> {
    let (report, leader) = match start(command) {
        Ok(child) => {
            let leader = Pid::from_child(&child);
            (Report::Started(leader), Some(leader))
        }
        Err(error) => {
            let number = error.raw_os_error().unwrap_or_else(|| Errno::INVAL.raw_os_error());
            (Report::Refused(number), None)
        }
    };
    send(socket, &report);
    leader
}

/// The watch of one provider.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) leader: Pid,
    pub(super) socket: UnixStream,
    /// The daemon requests the kill, or has exited.
    pub(super) is_cut: bool,
    pub(super) wake: Wake,
    /// What to do with orphans in other sessions; only for a guardian process, which adopts them.
    pub(super) adopts: Option<OtherSessions>,
}

/// What triggers a check.
#[derive(Debug)]
pub(super) enum Wake {
    /// Becomes readable with every signal, such as SIGCHLD.
    Signals(UnixStream),
    /// Becomes readable when the provider has exited.
    Handle(ExitHandle),
    /// Polling.
    Interval,
}

impl Wake {
    fn by_handle(leader: Pid) -> Self {
        ExitHandle::open(leader).map_or(Self::Interval, Self::Handle)
    }
}

/// Polling interval.
const INTERVAL: Duration = Duration::from_millis(100);
/// Delays between checks of killed processes: from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

impl Watch {
    /// Returns when no process of the provider is left, except those to be left running.
    pub(super) fn run_to_completion(mut self) {
        let mut pause = FIRST_PAUSE;
        let mut ended = None;
        loop {
            let ending = ending_of(self.leader);
            if ending.is_none() && !self.is_cut {
                self.wait(None);
                continue;
            }
            let is_clear = self.sweep();
            if let (Some(ending), None) = (ending, ended) {
                send(&self.socket, &Report::Ended(ending));
                ended = Some(ending);
            }
            if ended.is_some() && is_clear {
                break;
            }
            self.wait(Some(pause));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        if let Some(other_sessions) = self.adopts {
            self.end_other_sessions(other_sessions);
        }
        // From here on the id may be reused.
        let _ = waitid(WaitId::Pid(self.leader), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }

    /// Kills the provider and its session; `false` while the session has a running process besides
    /// the leader.
    fn sweep(&self) -> bool {
        // It fails only for an empty group.
        let _ = kill_process_group(self.leader, Signal::KILL);
        let processes = system::processes();
        let killed = members::of_session(&processes, self.leader).filter(|member| member.kill()).count();
        self.reap_adopted(&processes);
        killed == 0
    }

    /// Reports processes in other sessions, and kills them if so configured.
    fn end_other_sessions(&self, other_sessions: OtherSessions) {
        let mut reported = Vec::new();
        let mut pause = FIRST_PAUSE;
        loop {
            let processes = system::processes();
            let mut killed = 0;
            for process in system::descendants(&processes) {
                let is_killed = other_sessions == OtherSessions::Kill && process.kill();
                killed += usize::from(is_killed);
                if !reported.contains(&process.id) {
                    reported.push(process.id);
                    send(&self.socket, &Report::OtherSession(other_session(process, is_killed)));
                }
            }
            self.reap_adopted(&processes);
            if killed == 0 {
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Reaps adopted processes.
    fn reap_adopted(&self, processes: &[Process]) {
        if self.adopts.is_none() {
            return;
        }
        let this = Some(getpid());
        let ended = processes
            .iter()
            .filter(|process| process.has_ended && process.parent == this && process.id != self.leader);
        for process in ended {
            let _ = waitid(WaitId::Pid(process.id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }

    /// Waits for a trigger, or for `pause`.
    fn wait(&mut self, pause: Option<Duration>) {
        let timeout = match (&self.wake, pause) {
            (_, Some(pause)) => Some(pause),
            (Wake::Interval, None) => Some(INTERVAL),
            (_, None) => None,
        };
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut watched = Vec::with_capacity(2);
        if !self.is_cut {
            watched.push(PollFd::new(&self.socket, PollFlags::IN));
        }
        match &self.wake {
            Wake::Signals(signals) => watched.push(PollFd::new(signals, PollFlags::IN)),
            // It stays readable, and killed processes need time.
            Wake::Handle(handle) if pause.is_none() => watched.push(PollFd::new(handle, PollFlags::IN)),
            Wake::Handle(_) => {}
            Wake::Interval => {}
        }
        // It fails only on interruption, after which everything is checked as well.
        let _ = poll(&mut watched, timeout.as_ref());
        let is_socket_ready =
            !self.is_cut && watched.first().is_some_and(|socket| !socket.revents().is_empty());
        drop(watched);
        if is_socket_ready {
            self.is_cut = is_at_end(&self.socket);
        }
        if let Wake::Signals(signals) = &self.wake
            && drained(signals)
            && pause.is_none()
        {
            self.reap_adopted(&system::processes());
        }
    }
}

/// How a child has ended, without reaping it.
fn ending_of(leader: Pid) -> Option<Ending> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(leader), look) {
        Ok(None) | Err(Errno::INTR) => None,
        Ok(Some(status)) => Some(ending(&status)),
        // Another part of this process has reaped it.
        Err(_) => Some(Ending::Unknown),
    }
}

fn ending(status: &WaitIdStatus) -> Ending {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => Ending::Unknown,
    }
}

fn other_session(process: &Process, killed: bool) -> OtherSession {
    let id = process.id.as_raw_nonzero().get().unsigned_abs();
    OtherSession { process: id, command: process.command.clone(), killed }
}

/// Sends a report. After the daemon's exit there is no reader.
fn send(mut socket: &UnixStream, report: &Report) {
    let _ = socket.write_all(report.line().as_bytes());
}

/// Whether the daemon has shut its side down. It sends nothing.
fn is_at_end(mut socket: &UnixStream) -> bool {
    match socket.read(&mut [0; 16]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock),
    }
}

/// Discards readable bytes; `true` if there were any.
fn drained(mut signals: &UnixStream) -> bool {
    let mut buffer = [0; 64];
    let mut any = false;
    while let Ok(1..) = signals.read(&mut buffer) {
        any = true;
    }
    any
}
