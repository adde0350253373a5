//! Linux and macOS: users are numbers, and a process ends by a signal.

mod environment;

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, geteuid, getpid, getppid, getrlimit, kill_process, setrlimit,
    test_kill_process,
};
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{self, SignalKind, signal};

use super::{Ends, OpenFilesLimit, Usage, system};
use crate::supervise::{DESCRIPTORS, processes};

pub use environment::{environment_without, hide_from_other_processes};

/// A user of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct User(u32);

impl User {
    /// The user whose rights this process has.
    pub fn current() -> Self {
        Self(geteuid().as_raw())
    }

    /// The user of this number.
    pub fn from_id(id: u32) -> Self {
        Self(id)
    }

    /// The number.
    pub fn id(self) -> u32 {
        self.0
    }

    /// Whether this user may do anything anyway.
    pub fn is_root(self) -> bool {
        self.0 == 0
    }
}

/// As messages name it.
impl fmt::Display for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Kills this process, so that nothing of it is cleaned up.
pub fn kill_this() {
    // A process may kill itself.
    let _ = kill_process(getpid(), Signal::KILL);
}

/// Stops this process until another one continues it.
pub fn stop_this() {
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Asks a child of this process, which was not waited for yet, to end.
pub fn terminate(child: u32) {
    if let Some(child) = i32::try_from(child).ok().and_then(Pid::from_raw) {
        // The id is its own, if it has ended, too.
        let _ = kill_process(child, Signal::TERM);
    }
}

/// The process that this one is a child of now; `None` if it is outside of the container.
pub fn parent() -> Option<u32> {
    getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs())
}

/// The signals that end a program: a terminal's interrupt, a request to end, and a terminal's end. One without a handler has its
/// default action. The same streams serve the first and the second signal: one in between is queued in them.
///
/// SIGHUP is one of them unless it is ignored, as under `nohup`.
#[derive(Debug)]
pub struct Signals {
    interrupt: Option<unix::Signal>,
    terminate: Option<unix::Signal>,
    hangup: Option<unix::Signal>,
}

/// Ignores interrupts of a terminal.
///
/// # Errors
/// When the system refuses the handler.
pub fn ignore_interrupts() -> io::Result<()> {
    // The handler outlives what it is made for.
    signal(SignalKind::interrupt()).map(drop)
}

/// Whether this process inherited an ignored signal.
#[expect(unsafe_code, reason = "the disposition of a signal has no other interface")]
fn is_ignored(signal: i32) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new disposition the call only writes the present one into `found`.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), found.as_mut_ptr()) };
    // SAFETY: it was zero before, which is a value of each of its fields.
    result == 0 && unsafe { found.assume_init() }.sa_sigaction == libc::SIG_IGN
}

impl Signals {
    /// Within a runtime, and before there is anything that a signal must not end.
    pub fn new() -> Self {
        let hangup = SignalKind::hangup();
        let hangup = if is_ignored(hangup.as_raw_value()) { None } else { signal(hangup).ok() };
        Self { hangup, ..Self::but_hangup() }
    }

    /// The same, but a terminal's end has its default action.
    pub fn but_hangup() -> Self {
        let [interrupt, terminate] =
            [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
        Self { interrupt, terminate, hangup: None }
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Ends {
        tokio::select! {
            () = next(&mut self.interrupt) => Ends::Interrupt,
            () = next(&mut self.terminate) => Ends::Terminate,
            () = next(&mut self.hangup) => Ends::Terminate,
        }
    }
}

impl Default for Signals {
    fn default() -> Self {
        Self::new()
    }
}

async fn next(signals: &mut Option<unix::Signal>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}

/// The signal by which a terminal stops a program, to continue it later.
#[derive(Debug)]
pub struct Stops(unix::Signal);

impl Stops {
    /// From now on, the program stops itself ([`stop_this`]).
    ///
    /// # Errors
    /// When the system refuses the handler.
    pub fn new() -> io::Result<Self> {
        Ok(Self(signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?))
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        self.0.recv().await;
    }
}

/// Reads standard input to its end; never returns if it is no pipe.
pub async fn standard_input_ended() {
    if let Some(mut stdin) = system::reopened_standard_input() {
        // An error is an end too.
        while let Ok(1..) = stdin.read(&mut [0; 64]).await {}
        return;
    }
    let is_pipe =
        fstat(io::stdin()).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    if !is_pipe {
        return std::future::pending().await;
    }
    // Linux opens none of another user anew, and macOS none at all. A read that waits cannot be cancelled, and has a thread that
    // ends with the process.
    let (sender, ended) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        drop(io::copy(&mut io::stdin(), &mut io::sink()));
        drop(sender);
    });
    drop(ended.await);
}

/// The limit of open files.
pub fn open_files_limit() -> OpenFilesLimit {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    OpenFilesLimit { soft: current, hard: maximum }
}

/// Sets the limit of open files, of this process and of those that it starts later.
///
/// # Errors
/// When the system refuses it.
pub fn set_open_files_limit(limit: OpenFilesLimit) -> io::Result<()> {
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.soft, maximum: limit.hard })?)
}

/// Forbids core dumps of this process and those that it starts.
pub fn forbid_core_dumps() {
    let maximum = getrlimit(Resource::Core).maximum;
    // Lowering a soft limit is always allowed.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum }).ok();
}

/// Lets a write beyond the limit of file sizes fail, as one to a full disk does, instead of ending this process by SIGXFSZ. The
/// processes that it starts have the signal's usual effect.
pub fn survive_limit_of_file_sizes() {
    // A system that refuses the handler leaves the signal as it is.
    drop(signal_hook::flag::register(libc::SIGXFSZ, Arc::default()));
}

const PASSWD: &str = "/etc/passwd";

/// The home directory that the user database has for the user of this process, whatever `HOME` says, as Go's `os/user`
/// finds it.
pub fn home_of_account() -> Option<PathBuf> {
    let passwd = fs::read_to_string(PASSWD).unwrap_or_default();
    home_of(User::current().id(), &passwd)
}

fn home_of(user: u32, passwd: &str) -> Option<PathBuf> {
    let mut entries = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.find(|entry| entry.get(2).and_then(|id| id.parse().ok()) == Some(user))?;
    entry.get(5).filter(|home| home.starts_with('/')).map(PathBuf::from)
}

/// What this process uses. Blocks on the file system.
pub fn usage() -> Usage {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    // One of them is the directory that is read.
    let open_files = fs::read_dir(DESCRIPTORS).map_or(0, |files| files.count().saturating_sub(1));
    let resident_memory = system::own_memory();
    Usage { resident_memory, cpu: Duration::try_from(cpu).unwrap_or_default(), open_files }
}

/// The name of this machine.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// When a running process began, by a clock of the system: ids are reused.
pub fn began(process: u32) -> Option<String> {
    let process = processes::one(Pid::from_raw(i32::try_from(process).ok()?)?)?;
    (!process.has_ended).then(|| process.started.to_string())
}

/// Whether no process has this id. One that [`began`] does not find may be hidden from this user.
pub fn is_gone(process: u32) -> bool {
    let Some(id) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return true };
    processes::one(id).map_or_else(
        || test_kill_process(id) == Err(Errno::SRCH),
        // Not reaped by its parent.
        |process| process.has_ended,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_has_ended_is_gone() {
        // That of another user is not, unless this is root.
        assert!(!is_gone(1) && !is_gone(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        child.wait().expect("its end");
        assert!(is_gone(child.id()));
    }

    #[test]
    fn the_home_of_a_user_is_that_of_the_user_database() {
        let passwd =
            "root:x:0:0::/root:/bin/sh\nbad\nci:x:998:998:CI,,:/var/ci:/bin/sh\nno:x:997:997:::/bin/sh\n";
        assert_eq!(home_of(998, passwd), Some(PathBuf::from("/var/ci")));
        assert_eq!(home_of(997, passwd), None);
        assert_eq!(home_of(1, passwd), None);
    }

    #[test]
    fn what_this_process_uses_is_measured() {
        let usage = usage();
        assert!(usage.resident_memory > 1 << 20, "{usage:?}");
        assert!(usage.cpu > Duration::ZERO, "{usage:?}");
        assert!(usage.open_files > 2, "{usage:?}");
    }
}
