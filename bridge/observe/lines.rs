//! The recent log lines of a daemon, for `isthmus logs`.
//!
//! A line may quote values of the resources that it is about, so each belongs to an identity, which sees it; root sees all. The
//! lines of one identity do not push out those of another. Secrets of the session are redacted before a line comes here.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;

use crate::authorization::Identity;
use crate::engine::Severity;

/// Most lines of a user.
const MOST_LINES: usize = 1000;

/// Most bytes of a user's lines.
const MOST_BYTES: usize = 128 * 1024;

/// Most bytes of a line. The rest is in the log of the engine.
const LONGEST_LINE: usize = 4 * 1024;

/// Most users whose lines are remembered: those that had the last ones.
const MOST_USERS: usize = 64;

/// A log line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its place in the order of all lines.
    number: u64,
    pub(crate) at: SystemTime,
    pub(crate) identity: Identity,
    /// The session that it is about; `None`: the daemon.
    pub(crate) session: Option<u64>,
    pub(crate) severity: Severity,
    pub(crate) text: String,
}

/// The last lines of each user.
#[derive(Debug, Default)]
pub(super) struct RecentLines {
    lines: Mutex<Lines>,
    /// The number of the last line.
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Lines {
    next: u64,
    of_users: HashMap<Identity, OfUser>,
}

#[derive(Debug, Default)]
struct OfUser {
    lines: VecDeque<Arc<Line>>,
    bytes: usize,
}

/// A reader of the lines that a user may see.
#[derive(Debug)]
pub(crate) struct LineReader {
    viewer: Identity,
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
            let line = Line { number, at, identity, session, severity, text };
            all.add(Arc::new(line));
            all.next
        };
        self.last.send_replace(number);
    }

    /// A reader that begins with the oldest line.
    pub(super) fn reader(&self, viewer: Identity) -> LineReader {
        LineReader { viewer, seen: 0, last: self.last.subscribe() }
    }

    /// The lines that a reader has not seen, in their order.
    pub(super) fn unseen(&self, reader: &mut LineReader) -> Vec<Arc<Line>> {
        reader.last.borrow_and_update();
        let all = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let visible = all.of_users.iter().filter(|(owner, _)| reader.viewer.may_see(owner));
        let unseen = visible.flat_map(|(_, of_user)| &of_user.lines).filter(|line| line.number > reader.seen);
        let mut unseen: Vec<Arc<Line>> = unseen.cloned().collect();
        unseen.sort_by_key(|line| line.number);
        reader.seen = all.next;
        unseen
    }
}

impl LineReader {
    /// Waits for a further line, of whichever user. Returns `false` if there will be none.
    pub(crate) async fn changed(&mut self) -> bool {
        self.last.changed().await.is_ok()
    }
}

impl Lines {
    fn add(&mut self, line: Arc<Line>) {
        if !self.of_users.contains_key(&line.identity) && self.of_users.len() >= MOST_USERS {
            let newest = |of_user: &OfUser| of_user.lines.back().map(|line| line.number);
            let oldest = self
                .of_users
                .iter()
                .min_by_key(|(_, of_user)| newest(of_user))
                .map(|(owner, _)| owner.clone());
            oldest.and_then(|owner| self.of_users.remove(&owner));
        }
        let of_user = self.of_users.entry(line.identity.clone()).or_default();
        of_user.bytes += line.text.len();
        of_user.lines.push_back(line);
        while of_user.lines.len() > MOST_LINES || of_user.bytes > MOST_BYTES {
            let Some(gone) = of_user.lines.pop_front() else { break };
            of_user.bytes -= gone.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &RecentLines, reader: &mut LineReader) -> Vec<String> {
        lines.unseen(reader).iter().map(|line| line.text.clone()).collect()
    }

    #[test]
    fn a_user_sees_its_own_lines_and_root_sees_all_in_their_order() {
        let lines = RecentLines::default();
        for (user, text) in [(7, "one"), (8, "two"), (7, "three")] {
            lines.add(&Identity::User(user), None, Severity::Warning, text);
        }
        lines.add(&Identity::User(7), None, Severity::Debug, "for debugging");
        let (mut seven, mut root, mut other) = (
            lines.reader(Identity::User(7)),
            lines.reader(Identity::User(0)),
            lines.reader(Identity::Token("a".into())),
        );
        assert_eq!(texts(&lines, &mut seven), ["one", "three"]);
        assert_eq!(texts(&lines, &mut root), ["one", "two", "three"]);
        assert!(texts(&lines, &mut other).is_empty());
        lines.add(&Identity::User(8), None, Severity::Error, "four");
        assert!(texts(&lines, &mut seven).is_empty());
        assert_eq!(texts(&lines, &mut root), ["four"]);
    }

    #[test]
    fn a_flood_of_one_user_takes_bounded_memory_and_no_lines_of_others() {
        let lines = RecentLines::default();
        lines.add(&Identity::User(7), None, Severity::Warning, "of seven");
        for _ in 0..MOST_LINES * 2 {
            lines.add(&Identity::User(8), None, Severity::Warning, &"é".repeat(LONGEST_LINE));
        }
        assert_eq!(texts(&lines, &mut lines.reader(Identity::User(7))), ["of seven"]);
        let flood = texts(&lines, &mut lines.reader(Identity::User(8)));
        assert!(flood.iter().map(String::len).sum::<usize>() <= MOST_BYTES);
        assert!(flood.iter().all(|text| text.len() <= LONGEST_LINE) && !flood.is_empty());
        for user in 100..100 + 2 * u32::try_from(MOST_USERS).expect("a small number") {
            lines.add(&Identity::User(user), None, Severity::Warning, "one");
        }
        let all = lines.lines.lock().expect("no test panics meanwhile");
        assert_eq!(all.of_users.len(), MOST_USERS);
    }
}
