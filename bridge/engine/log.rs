//! Lines on their way to the user, in order.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_provider::KnownSecrets;
use tokio::sync::{mpsc, oneshot};

use super::{Engine, Generation};

/// How many lines may wait. A provider that logs faster than the engine takes it loses the rest, and the user is told how
/// many; memory must not grow with what a provider prints.
const CAPACITY: usize = 4096;

/// How long a message of joined lines may become before the next is begun.
const LONGEST_JOINED: usize = 16 * 1024;

/// How a line is shown. The numbers are those of both engines' `LogSeverity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Only when debugging.
    Debug = 0,
    /// As it is.
    Info = 1,
    /// As a warning.
    Warning = 2,
    /// As an error; accompanies a call that fails.
    Error = 3,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct LogLine {
    /// How it is shown.
    pub severity: Severity,
    /// What it says.
    pub message: String,
    /// The resource that it is about; may be empty.
    pub urn: String,
}

/// The way to one engine's log. Cloning it shares the way.
#[derive(Clone, Debug)]
pub(crate) struct EngineLog {
    queue: mpsc::Sender<Item>,
    lost: Arc<AtomicU64>,
    secrets: KnownSecrets,
}

#[derive(Debug)]
enum Item {
    Line(LogLine),
    Flush(oneshot::Sender<()>),
}

impl EngineLog {
    /// Starts to deliver to `engine`, or to stderr where there is none. Delivery ends when the last clone is dropped.
    pub(crate) fn start(engine: Option<Engine>) -> Self {
        let (queue, lines) = mpsc::channel(CAPACITY);
        let lost = Arc::new(AtomicU64::new(0));
        tokio::spawn(deliver(engine, lines, Arc::clone(&lost)));
        Self { queue, lost, secrets: KnownSecrets::default() }
    }

    /// The same way for a session whose secrets these are: they are redacted in every line.
    #[must_use]
    pub(crate) fn redacting(self, secrets: KnownSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// What is redacted.
    pub(crate) fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Puts a line into the queue, without waiting.
    pub(crate) fn send(&self, mut line: LogLine) {
        self.secrets.redact_in_place(&mut line.message);
        if self.queue.try_send(Item::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything that was put into the queue before is delivered (or given up). A call does so before it
    /// answers, because the engine may end the plugin after the answer.
    pub(crate) async fn flush(&self) {
        let (done, delivered) = oneshot::channel();
        if self.queue.send(Item::Flush(done)).await.is_ok() {
            // An error means that delivery has ended, and with it the wait.
            let _ = delivered.await;
        }
    }
}

async fn deliver(engine: Option<Engine>, mut lines: mpsc::Receiver<Item>, lost: Arc<AtomicU64>) {
    let mut engine = engine;
    let mut next = lines.recv().await;
    while let Some(item) = next.take() {
        match item {
            Item::Flush(done) => {
                // Nobody may be waiting any more.
                let _ = done.send(());
            }
            Item::Line(mut line) => {
                next = join_waiting(&mut line, &mut lines);
                deliver_line(&mut engine, &line).await;
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let message =
                format!("{lost} log lines were dropped, because they came faster than they could be shown");
            deliver_line(&mut engine, &LogLine { severity: Severity::Warning, message, urn: String::new() })
                .await;
        }
        if next.is_none() {
            next = lines.recv().await;
        }
    }
}

/// Adds to a line for debugging those that wait behind it and are about the same resource: providers have half a dozen to
/// say in every call, and each message to the engine is a call of its own. Returns the first that does not belong to it.
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

async fn deliver_line(engine: &mut Option<Engine>, line: &LogLine) {
    if let Some(connected) = engine {
        match connected.log(line.severity, &line.message, &line.urn).await {
            Ok(()) => return,
            // It will not come back: the engine outlives its plugins. Trying again for each line would slow every call.
            // The legacy engine shows every line on stderr as an error, so nothing goes there in its presence.
            Err(_) if connected.generation() == Generation::Lumi => return,
            Err(error) => {
                write_to_stderr(Severity::Warning, &format!("{error}; log lines go to stderr from here on"));
                *engine = None;
            }
        }
    }
    write_to_stderr(line.severity, &line.message);
}

fn write_to_stderr(severity: Severity, message: &str) {
    if severity > Severity::Debug {
        let line = format!("{}: {message}\n", format!("{severity:?}").to_lowercase());
        // What it does not take is lost: there is no other place for it, and calls must go on.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
