//! Ordered delivery of log lines to the user; those that cannot be delivered go to standard error.
//!
//! Each message is a call of the engine. Debug lines wait up to a tenth of a second for others, and are one message then,
//! about a resource if none of them is about another. Other lines are sent at once, after debug lines that came before them.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use isthmus_common::{counted, output_last, printable};
use isthmus_known_secrets::KnownSecrets;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::client::{Engine, Generation};
use crate::observe::LogTap;

/// Capacity of the queue. If a provider logs faster than the engine accepts, further lines are
/// dropped and counted, so that memory is bounded.
const CAPACITY: usize = 4096;

/// How long a debug line may wait for others to be sent with it.
const WINDOW: Duration = Duration::from_millis(100);

/// Length of a message from which on no line is joined to it.
const LONGEST_JOINED: usize = 64 * 1024;

#[derive(Clone, Debug)]
pub struct LogLine {
    pub severity: Severity,
    pub message: String,
    /// The resource that it is about; may be empty.
    pub urn: String,
}

/// The queue of one engine's log. Clones share the queue.
#[derive(Clone, Debug)]
pub struct EngineLog {
    queue: mpsc::Sender<Item>,
    lost: Arc<AtomicU64>,
    secrets: KnownSecrets,
    /// Remembers lines and counts losses, in a shared daemon.
    tap: Option<LogTap>,
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
    pub fn start(engine: Option<Engine>) -> Self {
        let (queue, lines) = mpsc::channel(CAPACITY);
        let lost = Arc::new(AtomicU64::new(0));
        tokio::spawn(deliver(engine, lines, Arc::clone(&lost)));
        Self { queue, lost, secrets: KnownSecrets::default(), tap: None }
    }

    /// Redacts these secrets in every line.
    #[must_use]
    pub(crate) fn redacting(self, secrets: KnownSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// Remembers lines, and counts losses.
    #[must_use]
    pub(crate) fn tapped(self, tap: Option<LogTap>) -> Self {
        Self { tap, ..self }
    }

    /// The secrets to redact.
    pub fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Sends a warning that concerns no resource.
    pub fn warn(&self, message: String) {
        self.send(LogLine { severity: Severity::Warning, message, urn: String::new() });
    }

    /// Enqueues a line, without waiting.
    pub fn send(&self, mut line: LogLine) {
        self.secrets.redact_in_place(&mut line.message);
        if let Cow::Owned(ordered) = output_last(&line.message) {
            line.message = ordered.trim_end().to_owned();
        }
        if let Cow::Owned(shown) = printable(&line.message) {
            line.message = shown;
        }
        if let Some(tap) = &self.tap {
            tap.line(line.severity, &line.message);
        }
        if self.queue.try_send(Item::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            if let Some(tap) = &self.tap {
                tap.dropped();
            }
        }
    }

    /// Waits until all earlier lines are delivered or dropped. A call with warnings does so before it returns,
    /// because the engine may end the plugin then. Returns whether none was lost, earlier ones included.
    pub async fn flush(&self) -> bool {
        let (done, delivered) = oneshot::channel();
        // An error means that delivery has ended.
        self.queue.send(Item::Flush(done)).await.is_ok() && delivered.await.unwrap_or(false)
    }
}

async fn deliver(engine: Option<Engine>, mut lines: mpsc::Receiver<Item>, lost: Arc<AtomicU64>) {
    let mut delivery = Delivery { engine, is_whole: true };
    let mut waiting = Waiting::default();
    loop {
        let item = match waiting.until {
            Some(until) => tokio::time::timeout_at(until, lines.recv()).await,
            None => Ok(lines.recv().await),
        };
        match item {
            Ok(Some(Item::Line(line))) if line.severity == Severity::Debug => {
                if let Some(full) = waiting.add(line) {
                    delivery.line(&full).await;
                }
            }
            Ok(Some(Item::Line(line))) => {
                delivery.waiting(&mut waiting).await;
                delivery.line(&line).await;
            }
            Ok(Some(Item::Flush(done))) => {
                delivery.waiting(&mut waiting).await;
                // The caller may have been cancelled.
                let _ = done.send(delivery.is_whole);
            }
            Ok(None) => return delivery.waiting(&mut waiting).await,
            Err(_) => delivery.waiting(&mut waiting).await,
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let lost = counted(lost, "log line");
            let message = format!("{lost} dropped, because they came faster than they could be shown");
            delivery.line(&LogLine { severity: Severity::Warning, message, urn: String::new() }).await;
            delivery.is_whole = false;
        }
    }
}

/// Debug lines of the last [`WINDOW`], as one message: a provider may log dozens for each call, and each message to the
/// engine is a call.
#[derive(Debug, Default)]
struct Waiting {
    joined: Option<LogLine>,
    /// Lines are about several resources, so the message is about none.
    is_of_several: bool,
    until: Option<Instant>,
}

impl Waiting {
    /// Adds a line. Returns the message before it if that is long enough.
    fn add(&mut self, line: LogLine) -> Option<LogLine> {
        let full = self.joined.take_if(|joined| joined.message.len() + line.message.len() > LONGEST_JOINED);
        match &mut self.joined {
            Some(joined) => {
                joined.message.push('\n');
                joined.message.push_str(&line.message);
                if joined.urn.is_empty() && !self.is_of_several {
                    joined.urn = line.urn;
                } else if !line.urn.is_empty() && joined.urn != line.urn {
                    self.is_of_several = true;
                    joined.urn.clear();
                }
            }
            None => {
                self.is_of_several = false;
                self.joined = Some(line);
            }
        }
        self.until.get_or_insert_with(|| Instant::now() + WINDOW);
        full
    }
}

#[derive(Debug)]
struct Delivery {
    engine: Option<Engine>,
    /// Every line so far has arrived.
    is_whole: bool,
}

impl Delivery {
    async fn waiting(&mut self, waiting: &mut Waiting) {
        if let Waiting { joined: Some(line), .. } = std::mem::take(waiting) {
            self.line(&line).await;
        }
    }

    async fn line(&mut self, line: &LogLine) {
        self.is_whole &= deliver_line(&mut self.engine, line).await;
    }
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
            // Nor is that of a shared daemon, whose stderr is not the user's.
            Err(_) if connected.generation() == Generation::Lumi || connected.is_offered() => return false,
            // It refused this line, and takes others.
            Err(error) if !Engine::is_gone(&error) => {
                write_to_stderr(Severity::Warning, &error.to_string());
                is_delivered = false;
            }
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

/// How severe a log line is. The numbers are those of both engines' `LogSeverity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Shown for debugging only.
    Debug = 0,
    Info = 1,
    Warning = 2,
    /// Accompanies a call that fails.
    Error = 3,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_about_the_one_resource_that_its_lines_are_about() {
        for (urns, expected) in [(&["", "a", "", "a"][..], "a"), (&["a", "b", "", "a"], ""), (&["", ""], "")]
        {
            let mut waiting = Waiting::default();
            for urn in urns {
                let line =
                    LogLine { severity: Severity::Debug, message: "x".to_owned(), urn: (*urn).to_owned() };
                assert!(waiting.add(line).is_none());
            }
            let joined = waiting.joined.expect("there are lines");
            assert_eq!((joined.urn.as_str(), joined.message.lines().count()), (expected, urns.len()));
        }
    }
}
