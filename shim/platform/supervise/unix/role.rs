//! The guardian process: `isthmus-guardian leave|kill PROGRAM [ARGUMENT …]`, with the socket at
//! standard input.
//!
//! It inherits the provider's environment, working directory, standard output and error from the
//! daemon, so these need not be sent. There is one for each provider: all its descendants are then
//! the provider's, and the exit of one guardian, or of one provider, affects no other.
//!
//! It has one thread and uses the standard library and the kernel only, to save memory.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{FileType, fstat};
use rustix::process::setsid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::super::program::{OtherSessions, Program};
use super::super::system;
use super::start::keep_descriptors_from_children;
use super::watch::{Wake, Watch, begin};

/// Program name of the role.
const NAME: &str = "isthmus-guardian";

/// Runs as a guardian, if the arguments request it; the first is the program's name.
///
/// Must come first in `main`: before any thread, and before anything expensive.
pub fn guardian_role(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    let name = arguments.next()?;
    if Path::new(&name).file_name()? != NAME {
        return None;
    }
    if let Some(code) = serve(arguments) {
        return Some(code);
    }
    refuse();
    Some(ExitCode::from(2))
}

#[expect(clippy::print_stderr, reason = "this is for people who have started it by hand")]
fn refuse() {
    eprintln!(
        "error: {NAME} was not started by isthmus: it is the parent process of a Terraform provider\n\
         help: run `isthmus --help` for the commands of isthmus"
    );
}

const LEAVE: &str = "leave";
const KILL: &str = "kill";

/// The command that starts `executable` as a guardian; the provider's arguments follow.
pub(super) fn command(executable: &Path, program: &Program) -> Command {
    let mut command = Command::new(executable);
    let other_sessions = match program.other_sessions {
        OtherSessions::Leave => LEAVE,
        OtherSessions::Kill => KILL,
    };
    command.arg0(NAME).arg(other_sessions).arg(&program.executable);
    command
}

/// `None` if it was not started by [`command`].
fn serve(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let other_sessions = match arguments.next()?.to_str()? {
        LEAVE => OtherSessions::Leave,
        KILL => OtherSessions::Kill,
        _ => return None,
    };
    let executable = arguments.next()?;
    let stdin = io::stdin();
    let is_socket = fstat(&stdin).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket);
    if !is_socket {
        return None;
    }
    let socket = UnixStream::from(stdin.as_fd().try_clone_to_owned().ok()?);
    let mut command = Command::new(executable);
    command.args(arguments).stdin(Stdio::null());
    // The daemon reports the exit status if this fails.
    Some(match guard(command, socket, other_sessions) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn guard(mut command: Command, socket: UnixStream, other_sessions: OtherSessions) -> io::Result<()> {
    // Leaves the daemon's process group and terminal. A new child leads no group, so this
    // succeeds.
    setsid()?;
    system::adopt_orphans()?;
    let signals = wake_by_signals()?;
    keep_descriptors_from_children();
    system::mark(&mut command);
    let Some(leader) = begin(command, &socket) else { return Ok(()) };
    release_inherited()?;
    system::set_own_name();
    Watch { leader, socket, is_cut: false, wake: Wake::Signals(signals), adopts: Some(other_sessions) }
        .run_to_completion();
    Ok(())
}

/// A stream that becomes readable whenever a child has exited.
///
/// Termination signals are ignored: at a shutdown every process gets them at once, and the
/// daemon must be able to stop its provider gracefully. The guardian exits after the daemon.
fn wake_by_signals() -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    receiver.set_nonblocking(true)?;
    for signal in [SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

/// Releases what only the provider needs: the pipes, which must close with it, and the working
/// directory.
fn release_inherited() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    std::env::set_current_dir("/")
}
