//! The guardian of a provider: its parent process, which kills it when the daemon cannot.
//!
//! Neither a provider nor any process that it has started may outlive the daemon. A killed daemon
//! cannot clean up, and a parent-death signal reaches a child but not its descendants. So each
//! provider has a guardian between itself and the daemon: a process ([`process`]) of our own
//! executable, in its own session, out of reach of signals to the daemon's process group and of a
//! terminal's hangup. It is a subreaper, so that processes below it that lose their parent become
//! its children, and it starts the provider as the leader of another session, which identifies all
//! processes of that provider ([`members`]).
//!
//! Daemon and guardian share one socket. The guardian writes reports ([`report`]); the daemon
//! writes nothing, and shuts its side down to kill the provider. The end of the daemon has the same
//! effect, and so has dropping [`Spawned`] at any point, so a cancelled start leaves no process.
//!
//! If no executable has the role (other programs that use this library, tests) or the system is not
//! Linux, a thread of this process runs the same watch. On Linux the kernel then still kills the
//! provider itself when that process is killed; processes that the provider has started are only
//! killed if the thread survives.

mod members;
mod process;
mod program;
mod report;
mod watch;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as BlockingStream;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::process::{ChildProcess, Ending};
use program::GuardianKind;
use report::Report;

pub(super) use members::resident_memory;
pub use process::guardian_role;
pub use program::{Guardian, OtherSessions};
pub(super) use program::{OtherSession, Program};

/// A provider with its guardian. Dropping any part kills it.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) process: ChildProcess,
    pub(super) reports: Reports,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

/// Why a provider was not started.
#[derive(Debug)]
pub(super) enum SpawnError {
    /// The guardian failed to start.
    Guardian(io::Error),
    /// The system failed to start the provider.
    Provider(io::Error),
}

/// Starts a provider. Cancellation leaves no process.
pub(super) async fn spawn(guardian: &Guardian, program: Program) -> Result<Spawned, SpawnError> {
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
            Ok(Spawned { process: ChildProcess::new(id, control), reports, stdout, stderr })
        }
        Some(Report::Refused(number)) => Err(SpawnError::Provider(io::Error::from_raw_os_error(number))),
        Some(Report::Ended(_) | Report::OtherSession(_)) | None => {
            let status = reports.host.ended().await;
            let how = status.map_or(Ending::Unknown, Ending::from);
            Err(SpawnError::Guardian(io::Error::other(format!("it ended at once: {how}"))))
        }
    }
}

/// The reports of a guardian.
#[derive(Debug)]
pub(super) struct Reports {
    lines: Lines<BufReader<UnixStream>>,
    host: Host,
    leader: Option<Pid>,
}

impl Reports {
    /// Waits for the provider's exit.
    pub(super) async fn ended(&mut self) -> Ending {
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
    pub(super) async fn other_session(&mut self) -> Option<OtherSession> {
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

    /// Cleans up after a killed guardian. The kernel has killed the provider, which was its child.
    async fn lost(&mut self) -> Ending {
        let Some(status) = self.host.ended().await else { return Ending::Unknown };
        if let Some(leader) = self.leader {
            // It fails only with the runtime, when this program exits.
            let _ = tokio::task::spawn_blocking(move || members::end_session_of_the_dead(leader)).await;
        }
        Ending::WithGuardian(std::os::unix::process::ExitStatusExt::signal(&status))
    }
}

/// Where the watch runs.
#[derive(Debug)]
enum Host {
    /// Its end has no status.
    Thread,
    /// Reaped by the runtime when it is dropped.
    #[cfg(target_os = "linux")]
    Process(tokio::process::Child),
}

impl Host {
    /// Waits for its end, and returns the exit status of a process.
    async fn ended(&mut self) -> Option<ExitStatus> {
        match self {
            Self::Thread => None,
            #[cfg(target_os = "linux")]
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
        #[cfg(target_os = "linux")]
        GuardianKind::Process(executable) => process::command(executable, &program),
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
        #[cfg(target_os = "linux")]
        GuardianKind::Process(_) => {
            command.stdin(OwnedFd::from(theirs));
            Host::Process(tokio::process::Command::from(command).spawn()?)
        }
    };
    Ok(Prepared { ours, stdout: stdout.into(), stderr: stderr.into(), host })
}
