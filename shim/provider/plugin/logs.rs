//! Output of a provider outside of its protocol: log records, prints, and panic traces.
//!
//! A provider writes to pipes of fixed size, and blocks if they are not read. So its output is read
//! as long as it runs, parsed line by line, and passed to a [`LogSink`]. Memory is bounded: the
//! last few lines are stored for the message about its exit, and the beginning of a panic's trace.
//!
//! Providers log with hclog: one JSON object a line on standard error. The level of other lines is
//! derived from their beginning, as in go-plugin.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_common::is_misleading;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::lines::{LONGEST_PIECE, Lines, Piece};
use super::log_level::{Level, LogLevel};
use isthmus_known_secrets::KnownSecrets;

/// Origin of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Standard error of the process.
    Stderr,
    /// Standard output of the process after the handshake line.
    Stdout,
    /// Prints of the provider's code, which go-plugin redirects to a stream.
    Printed,
    /// This library, about the process.
    Host,
    /// This library, about a response, as logged by Terraform.
    Core,
}

/// A log record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// The provider's name.
    pub provider: Arc<str>,
    /// Its origin.
    pub origin: Origin,
    /// Its level.
    pub level: Level,
    /// The text, with any characters.
    pub message: String,
    /// The component of the provider, e.g. `sdk.proto`.
    pub module: Option<String>,
    /// Further fields by name; values other than strings are JSON.
    pub fields: Vec<(String, String)>,
}

impl LogRecord {
    fn redact(&mut self, secrets: &KnownSecrets) {
        secrets.redact_in_place(&mut self.message);
        // Keys of maps may be secret as well, and are logged as names of fields.
        for text in self.fields.iter_mut().flat_map(|(name, value)| [name, value]).chain(&mut self.module) {
            secrets.redact_in_place(text);
        }
    }
}

/// Receiver of records. Cheap to clone; called from the tasks that read the pipes, so it must not
/// block.
#[derive(Clone)]
pub struct LogSink {
    receive: Arc<dyn Fn(LogRecord) + Send + Sync>,
    least: LogLevel,
    secrets: KnownSecrets,
}

impl LogSink {
    /// A sink that calls `receive` for every record, on any thread.
    pub fn new(receive: impl Fn(LogRecord) + Send + Sync + 'static) -> Self {
        Self::from_level(LogLevel::From(Level::Trace), receive)
    }

    /// A sink for records of at least this level, and for lines without a level. Older SDKs write dozens of records for
    /// each call, whatever their environment says; unwanted ones are not parsed.
    pub fn from_level(least: LogLevel, receive: impl Fn(LogRecord) + Send + Sync + 'static) -> Self {
        Self { receive: Arc::new(receive), least, secrets: KnownSecrets::default() }
    }

    /// The same sink with redaction of these secrets, which are recorded by the provider that logs
    /// to it.
    #[must_use]
    pub fn redacting(self, secrets: KnownSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// A sink that discards all records.
    pub fn discard() -> Self {
        Self::from_level(LogLevel::Off, drop)
    }
}

impl fmt::Debug for LogSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LogSink").field("least", &self.least).finish_non_exhaustive()
    }
}

/// Parses, remembers and passes on the records of one process.
#[derive(Clone, Debug)]
pub(super) struct Logs {
    provider: Arc<str>,
    sink: LogSink,
    recent: Arc<Mutex<RecentOutput>>,
}

/// Last output of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LastWords {
    /// The last lines, oldest first, escaped.
    pub(super) lines: Vec<String>,
    /// The beginning of a panic's trace.
    pub(super) panic: Option<String>,
}

impl Logs {
    pub(super) fn new(provider: Arc<str>, sink: LogSink) -> Self {
        Self { provider, sink, recent: Arc::default() }
    }

    /// Reads to the end. The first line is offered to `first`, if given; if it returns `false`, the
    /// line is logged.
    pub(super) async fn drain(
        &self,
        origin: Origin,
        mut reader: impl AsyncRead + Unpin,
        mut first: Option<impl FnOnce(&[u8]) -> bool>,
    ) {
        let mut reading = Reading::new(self.clone(), origin);
        let mut lines = Lines::default();
        let mut buffer = vec![0; READ_BUFFER];
        let mut each = |piece: Piece<'_>| {
            let taken = first.take().is_some_and(|take| take(piece.bytes));
            if !taken {
                reading.piece(piece);
            }
        };
        loop {
            match reader.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(count) => lines.push(&buffer[..count], &mut each),
            }
            // A flood of lines can be read all the time, and calls go on beside it.
            tokio::task::yield_now().await;
        }
        lines.finish(each);
    }

    /// Passes on a note about the process.
    pub(super) fn note(&self, level: Level, message: String) {
        self.log(Origin::Host, level, message);
    }

    pub(super) fn secrets(&self) -> &KnownSecrets {
        &self.sink.secrets
    }

    pub(super) fn log(&self, origin: Origin, level: Level, message: String) {
        if self.sink.least.includes(level) {
            let provider = Arc::clone(&self.provider);
            let (module, fields) = (None, Vec::new());
            (self.sink.receive)(LogRecord { provider, origin, level, message, module, fields });
        }
    }

    /// The last output so far; complete when every pipe has ended.
    pub(super) fn last_words(&self) -> LastWords {
        let recent = self.recent();
        LastWords { lines: recent.tail.iter().cloned().collect(), panic: recent.panic.clone() }
    }

    fn recent(&self) -> std::sync::MutexGuard<'_, RecentOutput> {
        // Every update leaves a valid state, also after a panic elsewhere.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// State of reading one stream: after a panic every line belongs to its trace.
#[derive(Debug)]
pub(super) struct Reading {
    logs: Logs,
    origin: Origin,
    panicking: bool,
    /// The end of the last piece of an incomplete line, where a secret may begin.
    held: String,
    /// The rest of the line is part of a secret.
    hiding: bool,
}

impl Reading {
    pub(super) fn new(logs: Logs, origin: Origin) -> Self {
        Self { logs, origin, panicking: false, held: String::new(), hiding: false }
    }

    /// Parses, remembers and passes on a line. Pieces of a long line are cut outside of secrets.
    pub(super) fn piece(&mut self, piece: Piece<'_>) {
        if piece.whole {
            return self.line(piece);
        }
        let mut text = std::mem::take(&mut self.held);
        if !self.hiding {
            text.push_str(&String::from_utf8_lossy(piece.bytes));
        }
        if piece.ends {
            self.hiding = false;
        } else {
            let cut = self.logs.sink.secrets.cut(&text);
            if cut == 0 && text.len() > 2 * LONGEST_PIECE {
                self.hiding = true;
            } else {
                self.held = text.split_off(cut);
            }
        }
        if !text.is_empty() {
            self.line(Piece { bytes: text.as_bytes(), ..piece });
        }
    }

    fn line(&mut self, piece: Piece<'_>) {
        let is_log = self.origin == Origin::Stderr && piece.whole;
        let level =
            if is_log { hclog_level(piece.bytes).or_else(|| Some(prefix(piece.bytes)?.0)) } else { None };
        if level.is_some_and(|level| level < Level::Info && !self.logs.sink.least.includes(level)) {
            return;
        }
        let structured = level.and_then(|level| self.hclog(level, piece.bytes));
        let (mut record, detail) = match structured {
            Some(record) => {
                let detail = record.level < Level::Info;
                (record, detail)
            }
            None => self.plain(piece),
        };
        // Before truncation, which would prevent finding secrets.
        record.redact(&self.logs.sink.secrets);
        if self.panicking && record.level == Level::Error {
            self.logs.recent().remember_panic(&record.message);
        } else if !detail && !record.message.trim().is_empty() {
            self.logs.recent().remember(&record);
        }
        // What is no log line is seldom and may matter, such as a panic.
        if level.is_none_or(|level| self.logs.sink.least.includes(level)) {
            (self.logs.sink.receive)(record);
        }
    }

    /// The record of a line that is not hclog's, and whether error texts omit it.
    ///
    /// They omit debug records, and pieces of long lines: there are thousands of them, and they
    /// quote requests. Lines without a level are often the cause of an exit.
    fn plain(&mut self, piece: Piece<'_>) -> (LogRecord, bool) {
        let text = String::from_utf8_lossy(piece.bytes);
        if self.origin == Origin::Stderr && piece.whole {
            if PANIC_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) {
                self.panicking = true;
            }
            if let Some((level, length)) = prefix(text.as_bytes()) {
                return (self.record(level, text[length..].trim_start().to_owned()), level < Level::Info);
            }
        }
        let level = if self.panicking { Level::Error } else { Level::Debug };
        (self.record(level, text.into_owned()), !piece.whole)
    }

    /// The record of a line of hclog.
    fn hclog(&self, level: Level, line: &[u8]) -> Option<LogRecord> {
        let mut entries: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(line).ok()?;
        let message = text_of(entries.remove("@message")?);
        entries.remove("@level");
        entries.remove("@timestamp");
        let module = entries.remove("@module").map(text_of);
        let fields = entries.into_iter().map(|(name, value)| (name, text_of(value))).collect();
        Some(LogRecord { module, fields, ..self.record(level, message) })
    }

    fn record(&self, level: Level, message: String) -> LogRecord {
        LogRecord {
            provider: Arc::clone(&self.logs.provider),
            origin: self.origin,
            level,
            message,
            module: None,
            fields: Vec::new(),
        }
    }
}

/// The last output of all streams of a process, in order of arrival.
#[derive(Debug, Default)]
struct RecentOutput {
    tail: VecDeque<String>,
    panic: Option<String>,
}

impl RecentOutput {
    fn remember(&mut self, record: &LogRecord) {
        if self.tail.len() == REMEMBERED_LINES {
            self.tail.pop_front();
        }
        let mut line = fit_to_show(&record.message, REMEMBERED_LINE_BYTES);
        for (name, value) in record.fields.iter().filter(|(name, _)| !name.starts_with('@')) {
            if line.len() < REMEMBERED_LINE_BYTES {
                line.push_str(&format!(" {}={}", fit_to_show(name, 100), fit_to_show(value, 300)));
            }
        }
        self.tail.push_back(line);
    }

    fn remember_panic(&mut self, line: &str) {
        let trace = self.panic.get_or_insert_default();
        if trace.len() < REMEMBERED_PANIC_BYTES {
            trace.push_str(&fit_to_show(line, REMEMBERED_PANIC_BYTES - trace.len()));
            trace.push('\n');
        }
    }
}

/// Some dozen lines, which are passed on at a time.
const READ_BUFFER: usize = 4 * 1024;
const REMEMBERED_LINES: usize = 20;
const REMEMBERED_LINE_BYTES: usize = 1000;
const REMEMBERED_PANIC_BYTES: usize = 32 * 1024;
/// Beginnings of the Go runtime's panic messages.
const PANIC_BEGINNINGS: [&str; 2] = ["panic: ", "fatal error: "];
/// The form of the time in a line of Go's `log`.
const TIME: &[u8] = b"0000/00/00 00:00:00 ";
/// Level prefixes of Go programs that do not use hclog.
const PREFIXES: [(&str, Level); 5] = [
    ("[TRACE]", Level::Trace),
    ("[DEBUG]", Level::Debug),
    ("[INFO]", Level::Info),
    ("[WARN]", Level::Warn),
    ("[ERROR]", Level::Error),
];

/// The level in the prefix of a line, and the length of the prefix, which is ASCII. Go's `log` writes the time before it.
fn prefix(line: &[u8]) -> Option<(Level, usize)> {
    let is_time = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    let is_stamped = line.len() > TIME.len() && line.iter().zip(TIME).all(is_time);
    let start = if is_stamped { TIME.len() } else { 0 };
    PREFIXES.iter().find_map(|(prefix, level)| {
        line[start..].starts_with(prefix.as_bytes()).then_some((*level, start + prefix.len()))
    })
}

/// The level in a line of hclog's JSON, without building the record; `None` for other lines.
fn hclog_level(line: &[u8]) -> Option<Level> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(rename = "@level", borrow, default)]
        level: Cow<'a, str>,
        #[serde(rename = "@message")]
        _message: IgnoredAny,
    }
    if line.first() != Some(&b'{') {
        return None;
    }
    let head: Head<'_> = serde_json::from_slice(line).ok()?;
    Some(match &*head.level {
        "trace" => Level::Trace,
        "info" => Level::Info,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Debug,
    })
}

fn text_of(value: serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Truncates a text and escapes misleading characters.
fn fit_to_show(text: &str, most_bytes: usize) -> String {
    let mut shown = String::new();
    for character in text.chars() {
        if shown.len() >= most_bytes {
            shown.push('…');
            break;
        }
        match character {
            '\t' => shown.push('\t'),
            misleading if is_misleading(misleading) => shown.extend(misleading.escape_default()),
            other => shown.push(other),
        }
    }
    shown
}

#[cfg(test)]
mod tests;
