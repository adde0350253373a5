//! Runs one command to its end, two at a time in all, and never for ever.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::processes::within;

/// How many commands run at once, however many threads the test runner has. One is four processes or more.
const AT_ONCE: usize = 2;

/// When a command counts as hanging. The slowest take two seconds on an idle machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A command that runs, in a process group of its own.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    _turn: Turn,
}

impl Running {
    /// Starts `command` as soon as there is room, with what it prints going to `stdout` and `stderr`: files, because a pipe
    /// would be kept open by any process that outlives the command.
    pub(crate) fn start(command: &mut Command, stdout: &Path, stderr: &Path) -> Self {
        let turn = Turn::wait();
        let create =
            |path: &Path| File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let child = command
            .stdin(std::process::Stdio::null())
            .stdout(create(stdout))
            .stderr(create(stderr))
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        Self { child, _turn: turn }
    }

    /// Sends `signal` to the command alone, not to what it has started.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the command was not waited for yet");
    }

    fn pid(&self) -> Pid {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("an id that the system gave")
    }

    /// Waits for the end. Nothing if it had to be killed because it took longer than [`LIMIT`].
    pub(crate) fn finish(self) -> Option<ExitStatus> {
        self.finish_within(LIMIT)
    }

    /// Waits for the end. Nothing if it had to be killed because it took longer than `limit`.
    pub(crate) fn finish_within(mut self, limit: Duration) -> Option<ExitStatus> {
        within(limit, || self.child.try_wait().expect("a child of ours can be waited for"))
    }
}

impl Drop for Running {
    /// Ends the command and its group, unless they have ended.
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        // The group bears the number of its first process, and may be gone with it.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// One of the [`AT_ONCE`] places, given back when dropped.
#[derive(Debug)]
struct Turn;

static TAKEN: Mutex<usize> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

impl Turn {
    fn wait() -> Self {
        let taken = GIVEN_BACK.wait_while(taken(), |taken| *taken >= AT_ONCE);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *taken() -= 1;
        GIVEN_BACK.notify_one();
    }
}

/// A failed test does not spoil the count for the others.
fn taken() -> MutexGuard<'static, usize> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}
