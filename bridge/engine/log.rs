//! Ordered delivery of log lines to the user; those that cannot be delivered go to standard error.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_common::printable;
use isthmus_provider::KnownSecrets;
use tokio::sync::{mpsc, oneshot};

use super::client::{Engine, Generation};
use super::severity::Severity;

/// Capacity of the queue. If a provider logs faster than the engine accepts, further lines are
/// dropped and counted, so that memory is bounded.
const CAPACITY: usize = 4096;

/// Maximum length of a message of joined lines.
const LONGEST_JOINED: usize = 16 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct LogLine {
    pub severity: Severity,
    pub message: String,
    /// The resource that it is about; may be empty.
    pub urn: String,
}

/// The queue of one engine's log. Clones share the queue.
#[derive(Clone, Debug)]
pub(crate) struct EngineLog {
    queue: mpsc::Sender<Item>,
    lost: Arc<AtomicU64>,
    secrets: KnownSecrets,
}

#[derive(Debug)]
enum Item {
    Line(LogLine),
    /// Answered with whether nothing was lost so far.
    Flush(oneshot::Sender<bool>),
}

impl EngineLog {
    /// Starts delivery to `engine`, or to stderr without one. Delivery ends when the last clone is
    /// dropped.
    pub(crate) fn start(engine: Option<Engine>) -> Self {
        let (queue, lines) = mpsc::channel(CAPACITY);
        let lost = Arc::new(AtomicU64::new(0));
        tokio::spawn(deliver(engine, lines, Arc::clone(&lost)));
        Self { queue, lost, secrets: KnownSecrets::default() }
    }

    /// Redacts these secrets in every line.
    #[must_use]
    pub(crate) fn redacting(self, secrets: KnownSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// The secrets to redact.
    pub(crate) fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Enqueues a line, without waiting.
    pub(crate) fn send(&self, mut line: LogLine) {
        self.secrets.redact_in_place(&mut line.message);
        if let Cow::Owned(shown) = printable(&line.message) {
            line.message = shown;
        }
        if self.queue.try_send(Item::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all earlier lines are delivered or dropped. A call does so before it returns,
    /// because the engine may end the plugin then. Returns whether none was lost, earlier ones included.
    pub(crate) async fn flush(&self) -> bool {
        let (done, delivered) = oneshot::channel();
        // An error means that delivery has ended.
        self.queue.send(Item::Flush(done)).await.is_ok() && delivered.await.unwrap_or(false)
    }
}

async fn deliver(engine: Option<Engine>, mut lines: mpsc::Receiver<Item>, lost: Arc<AtomicU64>) {
    let mut engine = engine;
    let mut is_whole = true;
    let mut next = lines.recv().await;
    while let Some(item) = next.take() {
        match item {
            Item::Flush(done) => {
                // The caller may have been cancelled.
                let _ = done.send(is_whole);
            }
            Item::Line(mut line) => {
                next = join_waiting(&mut line, &mut lines);
                is_whole &= deliver_line(&mut engine, &line).await;
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let message =
                format!("{lost} log lines were dropped, because they came faster than they could be shown");
            let line = LogLine { severity: Severity::Warning, message, urn: String::new() };
            deliver_line(&mut engine, &line).await;
            is_whole = false;
        }
        if next.is_none() {
            next = lines.recv().await;
        }
    }
}

/// Joins subsequent debug lines about the same resource to a debug line: providers log half a dozen
/// per call, and each message to the engine is a call. Returns the first item that does not belong
/// to it.
fn join_waiting(line: &mut LogLine, lines: &mut mpsc::Receiver<Item>) -> Option<Item> {
    while line.severity == Severity::Debug && line.message.len() < LONGEST_JOINED {
        match lines.try_recv().ok()? {
            Item::Line(more) if more.severity == Severity::Debug && more.urn == line.urn => {
                line.message.push('\n');
                line.message.push_str(&more.message);
            }
            other => return Some(other),
        }
    }
    None
}

/// Returns whether the line arrived: without an engine, at stderr.
async fn deliver_line(engine: &mut Option<Engine>, line: &LogLine) -> bool {
    let mut is_delivered = true;
    if let Some(connected) = engine {
        match connected.log(line.severity, &line.message, &line.urn).await {
            Ok(()) => return true,
            // It will not come back: the engine outlives its plugins, and retrying for each line
            // would slow every call. The legacy engine shows stderr as errors, so nothing is
            // written there for it.
            Err(_) if connected.generation() == Generation::Lumi => return false,
            Err(error) => {
                write_to_stderr(Severity::Warning, &format!("{error}; log lines go to stderr from here on"));
                *engine = None;
                is_delivered = false;
            }
        }
    }
    write_to_stderr(line.severity, &line.message);
    is_delivered
}

fn write_to_stderr(severity: Severity, message: &str) {
    if severity > Severity::Debug {
        let line = format!("{}: {message}\n", format!("{severity:?}").to_lowercase());
        // There is no other place for it.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
