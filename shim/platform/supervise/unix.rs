//! Supervision on Linux and macOS, by a parent process that kills the program when the daemon cannot.
//!
//! A killed daemon cannot clean up, and a parent-death signal, which only Linux has, reaches a child but
//! not its descendants. So each program has a guardian between itself and the daemon: a process ([`role`])
//! of our own executable, in its own session, out of reach of signals to the daemon's process group and of
//! a terminal's hangup. On Linux it is a subreaper, so that processes below it that lose their parent
//! become its children. It starts the program as the leader of another session, which identifies all
//! processes of that program ([`members`]).
//!
//! Daemon and guardian share one socket. The guardian writes reports ([`report`]); the daemon
//! writes nothing, and shuts its side down to kill the program. The end of the daemon has the same
//! effect, and so has dropping [`Spawned`] at any point, so a cancelled start leaves no process.
//!
//! If no executable has the role (other programs that use this library, tests), a thread of this process
//! runs the same watch. On Linux the kernel then still kills the program itself when that process is
//! killed; processes that the program has started are only killed if the thread survives.

mod foreign;
mod members;
mod report;
mod role;
mod start;
mod watch;

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as BlockingStream;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::Spawned;
use super::ending::Ending;
use super::program::{Guardian, GuardianKind, OtherSession, Program, SpawnError};
use report::Report;

pub use foreign::ForeignProcess;
pub(super) use members::Process;
pub use members::resident_memory;
pub use role::guardian_role;

/// What a program writes, to be read without blocking.
pub type Output = pipe::Receiver;

/// A program with a guardian. Dropping it kills the program and its session.
///
/// A process id is valid until the process is reaped; then it may be reused. Only the guardian
/// reaps it, and only the guardian kills by id: this process kills by shutting down the guardian's
/// socket.
#[derive(Debug)]
pub struct ChildProcess {
    id: Pid,
    guardian: BlockingStream,
    has_ended: AtomicBool,
}

impl ChildProcess {
    /// Its process id, while it is valid.
    pub fn id(&self) -> Option<u32> {
        let id = self.id.as_raw_nonzero().get().unsigned_abs();
        (!self.has_ended.load(Ordering::Acquire)).then_some(id)
    }

    /// The guardian has reported its exit.
    pub fn note_end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Kills the process and its session. No effect after its exit.
    pub fn kill(&self) {
        // It fails only if the guardian has exited.
        let _ = self.guardian.shutdown(Shutdown::Write);
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a program. Cancellation leaves no process.
///
/// # Errors
/// When the guardian or the program cannot be started.
pub async fn spawn(guardian: &Guardian, program: Program) -> Result<Spawned, SpawnError> {
    let Prepared { ours, stdout, stderr, host } = prepare(guardian, program).map_err(SpawnError::Guardian)?;
    let ready = || {
        ours.set_nonblocking(true)?;
        let control = ours.try_clone()?;
        let lines = BufReader::new(UnixStream::from_std(ours)?).lines();
        let (stdout, stderr) =
            (pipe::Receiver::from_owned_fd(stdout)?, pipe::Receiver::from_owned_fd(stderr)?);
        Ok((control, Reports { lines, host, leader: None }, stdout, stderr))
    };
    let (control, mut reports, stdout, stderr) = ready().map_err(SpawnError::Guardian)?;
    match reports.next().await {
        Some(Report::Started(id)) => {
            reports.leader = Some(id);
            Ok(Spawned {
                process: ChildProcess { id, guardian: control, has_ended: AtomicBool::new(false) },
                reports,
                stdout,
                stderr,
            })
        }
        Some(Report::Refused(number)) => Err(SpawnError::Program(io::Error::from_raw_os_error(number))),
        Some(Report::Ended(_) | Report::OtherSession(_)) | None => {
            let status = reports.host.ended().await;
            let how = status.map_or(Ending::Unknown, Ending::from);
            Err(SpawnError::Guardian(io::Error::other(format!("it ended at once: {how}"))))
        }
    }
}

/// The reports of a guardian.
#[derive(Debug)]
pub struct Reports {
    lines: Lines<BufReader<UnixStream>>,
    host: Host,
    leader: Option<Pid>,
}

impl Reports {
    /// Waits for the provider's exit.
    pub async fn ended(&mut self) -> Ending {
        loop {
            match self.next().await {
                Some(Report::Ended(ending)) => return ending,
                Some(Report::Started(_) | Report::Refused(_) | Report::OtherSession(_)) => {}
                None => return self.lost().await,
            }
        }
    }

    /// The next process in another session, left running or killed; `None` when the guardian has
    /// exited.
    pub async fn other_session(&mut self) -> Option<OtherSession> {
        loop {
            match self.next().await {
                Some(Report::OtherSession(other)) => return Some(other),
                Some(Report::Started(_) | Report::Refused(_) | Report::Ended(_)) => {}
                None => {
                    // Reaps it.
                    let _ = self.host.ended().await;
                    return None;
                }
            }
        }
    }

    /// The next report; `None` when the guardian has exited.
    async fn next(&mut self) -> Option<Report> {
        // Only another version's guardian could send an invalid line, which `/proc/self/exe` rules
        // out.
        self.lines.next_line().await.ok().flatten().as_deref().and_then(Report::parse)
    }

    /// Cleans up after a killed guardian. On Linux, the kernel has killed the provider itself, which was its child.
    async fn lost(&mut self) -> Ending {
        let Some(status) = self.host.ended().await else { return Ending::Unknown };
        if let Some(leader) = self.leader {
            // It fails only with the runtime, when this program exits.
            let _ = tokio::task::spawn_blocking(move || members::end_session_of_the_dead(leader)).await;
        }
        Ending::WithGuardian(signal_of(status))
    }
}

/// Where the watch runs.
#[derive(Debug)]
enum Host {
    /// Its end has no status.
    Thread,
    /// Reaped by the runtime when it is dropped.
    Process(tokio::process::Child),
}

impl Host {
    /// Waits for its end, and returns the exit status of a process.
    async fn ended(&mut self) -> Option<ExitStatus> {
        match self {
            Self::Thread => None,
            Self::Process(child) => child.wait().await.ok(),
        }
    }
}

struct Prepared {
    ours: BlockingStream,
    stdout: OwnedFd,
    stderr: OwnedFd,
    host: Host,
}

/// The command of the guardian, which starts the provider.
fn prepare(guardian: &Guardian, program: Program) -> io::Result<Prepared> {
    let (ours, theirs) = BlockingStream::pair()?;
    let (stdout, stdout_end) = io::pipe()?;
    let (stderr, stderr_end) = io::pipe()?;
    let mut command = match &guardian.0 {
        GuardianKind::Thread => Command::new(&program.executable),
        GuardianKind::Process(executable) => role::command(executable, &program),
    };
    command.args(&program.args).env_clear().envs(&program.environment);
    command.stdout(stdout_end).stderr(stderr_end);
    if let Some(directory) = &program.working_directory {
        command.current_dir(directory);
    }
    let host = match &guardian.0 {
        GuardianKind::Thread => {
            command.stdin(Stdio::null());
            let thread = std::thread::Builder::new().name("isthmus-guardian".to_owned());
            thread.spawn(move || watch::in_thread(command, theirs))?;
            Host::Thread
        }
        GuardianKind::Process(_) => {
            command.stdin(OwnedFd::from(theirs));
            Host::Process(tokio::process::Command::from(command).spawn()?)
        }
    };
    Ok(Prepared { ours, stdout: stdout.into(), stderr: stderr.into(), host })
}

/// The signal that ended a process.
pub(super) fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// The name of a signal that ends processes.
pub(super) fn signal_name(number: i32) -> Option<&'static str> {
    let named = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
        (Signal::SYS, "SIGSYS"),
    ];
    named.into_iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| name)
}
