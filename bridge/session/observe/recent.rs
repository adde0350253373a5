//! The recent log lines of a daemon, for `isthmus logs`, and the calls that failed last, for its status page.
//!
//! A line may quote values of the resources that it is about. Secrets of the session are redacted before it comes here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;
use tonic::Code;

use super::observation::Observation;
use crate::authorization::Identity;
use crate::engine::Severity;

/// Most lines that are remembered, and their bytes.
const MOST_LINES: usize = 4000;
const MOST_BYTES: usize = 512 * 1024;

/// Most bytes of a line. The rest is in the log of the engine.
const LONGEST_LINE: usize = 4 * 1024;

/// A log line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its place in the order of all lines.
    number: u64,
    pub at: SystemTime,
    pub identity: Identity,
    /// The session that it is about; `None`: the daemon.
    pub session: Option<u64>,
    pub severity: Severity,
    pub text: String,
}

/// The last lines.
#[derive(Debug, Default)]
pub(super) struct RecentLines {
    lines: Mutex<Lines>,
    /// The number of the last line.
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Lines {
    next: u64,
    lines: VecDeque<Arc<Line>>,
    bytes: usize,
}

/// A reader of the lines.
#[derive(Debug)]
pub struct LineReader {
    seen: u64,
    last: watch::Receiver<u64>,
}

impl RecentLines {
    /// Adds a line. Lines for debugging are not remembered.
    pub(super) fn add(&self, identity: &Identity, session: Option<u64>, severity: Severity, text: &str) {
        if severity == Severity::Debug {
            return;
        }
        let text = text[..text.floor_char_boundary(LONGEST_LINE)].to_owned();
        let number = {
            let mut all = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            all.next += 1;
            let (number, at, identity) = (all.next, SystemTime::now(), identity.clone());
            all.add(Arc::new(Line { number, at, identity, session, severity, text }));
            number
        };
        self.last.send_replace(number);
    }

    /// A reader that begins with the oldest line.
    pub(super) fn reader(&self) -> LineReader {
        LineReader { seen: 0, last: self.last.subscribe() }
    }

    /// The lines that a reader has not seen, in their order.
    pub(super) fn unseen(&self, reader: &mut LineReader) -> Vec<Arc<Line>> {
        reader.last.borrow_and_update();
        let all = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let unseen = all.lines.iter().filter(|line| line.number > reader.seen).cloned().collect();
        reader.seen = all.next;
        unseen
    }
}

impl LineReader {
    /// Waits for a further line. Returns `false` if there will be none.
    pub async fn changed(&mut self) -> bool {
        self.last.changed().await.is_ok()
    }
}

impl Lines {
    fn add(&mut self, line: Arc<Line>) {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while self.lines.len() > MOST_LINES || self.bytes > MOST_BYTES {
            let Some(gone) = self.lines.pop_front() else { break };
            self.bytes -= gone.text.len();
        }
    }
}

/// Where the lines of a log are remembered, and its losses counted.
#[derive(Clone, Debug)]
pub struct LogTap {
    observation: Arc<Observation>,
    identity: Identity,
    session: Option<u64>,
}

impl LogTap {
    /// Of a session of an identity, or of the daemon.
    pub fn new(observation: Arc<Observation>, identity: Identity, session: Option<u64>) -> Self {
        Self { observation, identity, session }
    }

    /// A line was sent, in which secrets are redacted.
    pub fn line(&self, severity: Severity, text: &str) {
        self.observation.line(&self.identity, self.session, severity, text);
    }

    /// A line was dropped.
    pub fn dropped(&self) {
        self.observation.line_dropped();
    }
}

/// How many failed calls are remembered.
const REMEMBERED: usize = 50;

/// A call that failed: what, where and when, and no text, which may quote values.
#[derive(Clone, Debug)]
pub struct Failure {
    pub at: SystemTime,
    pub rpc: &'static str,
    /// The provider's label.
    pub provider: Arc<str>,
    pub code: Code,
}

/// The last failures.
#[derive(Debug, Default)]
pub(super) struct RecentFailures(Mutex<VecDeque<Failure>>);

impl RecentFailures {
    pub(super) fn add(&self, failure: Failure) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        all.push_back(failure);
    }

    /// The newest first.
    pub(super) fn list(&self) -> Vec<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use isthmus_platform::process::User;

    use super::*;

    fn texts(lines: &RecentLines, reader: &mut LineReader) -> Vec<String> {
        lines.unseen(reader).iter().map(|line| line.text.clone()).collect()
    }

    #[test]
    fn a_reader_sees_each_line_once_in_their_order() {
        let lines = RecentLines::default();
        for (user, text) in [(7, "one"), (8, "two")] {
            lines.add(&Identity::User(User::from_id(user)), None, Severity::Warning, text);
        }
        lines.add(&Identity::User(User::from_id(7)), None, Severity::Debug, "for debugging");
        let mut reader = lines.reader();
        assert_eq!(texts(&lines, &mut reader), ["one", "two"]);
        lines.add(&Identity::User(User::from_id(8)), None, Severity::Error, "three");
        assert_eq!(texts(&lines, &mut reader), ["three"]);
        assert!(texts(&lines, &mut reader).is_empty());
    }

    #[test]
    fn a_flood_takes_bounded_memory() {
        let lines = RecentLines::default();
        for _ in 0..MOST_LINES * 2 {
            lines.add(&Identity::User(User::from_id(8)), None, Severity::Warning, &"é".repeat(LONGEST_LINE));
        }
        let flood = texts(&lines, &mut lines.reader());
        assert!(flood.iter().map(String::len).sum::<usize>() <= MOST_BYTES);
        assert!(flood.iter().all(|text| text.len() <= LONGEST_LINE) && !flood.is_empty());
        for _ in 0..MOST_LINES * 2 {
            lines.add(&Identity::User(User::from_id(8)), None, Severity::Warning, "one");
        }
        assert_eq!(texts(&lines, &mut lines.reader()).len(), MOST_LINES);
    }

    #[test]
    fn the_newest_come_first_and_old_ones_are_forgotten() {
        let failures = RecentFailures::default();
        for rpc in ["Create"; REMEMBERED].into_iter().chain(["Read", "Delete"]) {
            let (at, provider, code) = (SystemTime::now(), "none".into(), Code::Unknown);
            failures.add(Failure { at, rpc, provider, code });
        }
        let listed: Vec<&str> = failures.list().iter().map(|failure| failure.rpc).collect();
        assert_eq!((listed.len(), &listed[..3]), (REMEMBERED, &["Delete", "Read", "Create"][..]));
    }
}
