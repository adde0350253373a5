//! Supervision of a child process: reads its output, waits for its exit, cleans up.
//!
//! Dropping a [`Supervision`] kills the process group and ends all tasks.

use std::sync::Arc;
use std::time::Duration;

use isthmus_platform::supervise::{ChildProcess, Ending, OtherSession, Reports, Spawned};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::error::End;
use super::log_level::Level;
use super::logs::{Logs, Origin};
use super::process::Exit;
use super::socket_directory::SocketDirectory;

/// A child and its tasks.
#[derive(Debug)]
pub(super) struct Supervision {
    // Dropped in this order: the process first, so that nothing waits for it.
    process: Owned,
    exit: watch::Receiver<Option<Exit>>,
    readers: Readers,
    _supervisor: AbortOnDropHandle<()>,
    _readers_end: DropGuard,
}

/// Tasks that read output; they end with the provider, or when this is dropped.
#[derive(Clone, Debug)]
pub(super) struct Readers {
    tracker: TaskTracker,
    end: CancellationToken,
}

impl Readers {
    pub(super) fn new() -> (Self, DropGuard) {
        let end = CancellationToken::new();
        (Self { tracker: TaskTracker::new(), end: end.clone() }, end.drop_guard())
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let end = self.end.clone();
        self.tracker.spawn(async move {
            end.run_until_cancelled(task).await;
        });
    }
}

impl Supervision {
    /// Starts supervision. The receiver gets the first line of output; if there is none, its sender
    /// is dropped.
    pub(super) fn start(
        child: Spawned,
        sockets: Option<SocketDirectory>,
        logs: &Logs,
    ) -> (Self, oneshot::Receiver<Vec<u8>>) {
        let Spawned { process, reports, stdout, stderr } = child;
        let process = Arc::new(process);
        let (readers, readers_end) = Readers::new();
        let (first_line, first_line_receiver) = oneshot::channel();
        let (exit_sender, exit) = watch::channel(None);

        let reader = logs.clone();
        readers.spawn(async move {
            let first = |line: &[u8]| first_line.send(line.to_vec()).is_ok();
            reader.drain(Origin::Stdout, stdout, Some(first)).await;
        });
        let reader = logs.clone();
        readers.spawn(async move { reader.drain(Origin::Stderr, stderr, None::<fn(&[u8]) -> bool>).await });

        let supervisor = tokio::spawn(supervise(
            Arc::clone(&process),
            reports,
            sockets,
            readers.clone(),
            logs.clone(),
            exit_sender,
        ));
        let supervision = Self {
            process: Owned(process),
            exit,
            readers,
            _supervisor: AbortOnDropHandle::new(supervisor),
            _readers_end: readers_end,
        };
        (supervision, first_line_receiver)
    }

    /// The exit, if it has exited.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// Waits for the exit.
    pub(super) async fn exited(&self) -> Exit {
        published(&self.exit).await
    }

    /// Waits for the exit; kills the process after `stop_grace_period`.
    pub(super) async fn end_within(&self, stop_grace_period: Duration) -> End {
        if let Ok(exit) = timeout(stop_grace_period, self.exited()).await {
            return End { exit, killed: false };
        }
        self.process.0.kill();
        End { exit: self.exited().await, killed: true }
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        self.process.0.id()
    }

    /// For further readers of output.
    pub(super) fn readers(&self) -> &Readers {
        &self.readers
    }
}

/// Waits until an exit is published.
pub(super) async fn published(exit: &watch::Receiver<Option<Exit>>) -> Exit {
    let mut exit = exit.clone();
    match exit.wait_for(Option::is_some).await.as_deref() {
        Ok(Some(exit)) => exit.clone(),
        // The publisher is dropped early only with the whole runtime.
        Ok(None) | Err(_) => Exit { ending: Ending::Unknown, last_lines: Vec::new(), panic: None },
    }
}

/// Kills on drop, without waiting for the task that shares the process.
#[derive(Debug)]
struct Owned(Arc<ChildProcess>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// How long to wait for output and reports after the exit. They arrive at once, unless a descendant
/// in another session keeps the pipes open.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

async fn supervise(
    process: Arc<ChildProcess>,
    mut reports: Reports,
    sockets: Option<SocketDirectory>,
    readers: Readers,
    logs: Logs,
    exit: watch::Sender<Option<Exit>>,
) {
    let ending = reports.ended().await;
    process.note_end();
    readers.tracker.close();
    let last_reports = async {
        while let Some(other) = reports.other_session().await {
            logs.note(Level::Warn, describe(&other));
        }
    };
    // After a timeout the last lines are those that arrived in time.
    let _ = timeout(LAST_OUTPUT, async { tokio::join!(readers.tracker.wait(), last_reports) }).await;
    readers.end.cancel();
    drop(sockets);
    exit.send_replace(Some(Exit::new(ending, logs.last_words())));
}

/// The warning about a process in another session.
fn describe(other: &OtherSession) -> String {
    let OtherSession { process, command, killed } = other;
    if *killed {
        format!("the provider had put process {process} ({command}) into another session; it was killed")
    } else {
        format!("the provider has left process {process} ({command}) running in another session")
    }
}
