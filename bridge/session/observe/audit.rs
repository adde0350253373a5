//! The audit log: who has changed, read or configured what, in lines of JSON.
//!
//! A call has two lines: one before it is made, and one with its outcome. Without the first, the call is refused: nothing
//! happens that is not on record, also where the daemon is killed in a call. A line has no value of a resource. It is one
//! write to a file that is opened for appending, so that lines of several daemons do not mix.
//!
//! A file that was renamed or removed, as by a program that rotates logs, is created anew by the next line.

use isthmus_platform::files::{
    self, FileExt as _, OpenFlags, OpenOptionsExt as _, Others, Protection, identity, identity_of,
    protection_of, set_mode_of_new,
};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use isthmus_common::permissions::PRIVATE_FILE;
use isthmus_common::require_regular;
use isthmus_platform::process::User;
use serde_json::{Map, Value, json};

use isthmus_context::timestamp::timestamp;

/// A failure to open or write the log.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("failed to open the audit log {path}, which ISTHMUS_AUDIT_LOG names", path = path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the audit log {path} belongs to another user, or others can read it\nhelp: run `{own}` and `{close}`",
        path = path.display(),
        own = files::help_to_own(path, *user),
        close = files::help_against_others(path, Others::Read)
    )]
    Shared { path: PathBuf, user: User },
    #[error("failed to write the audit log {path}, which ISTHMUS_AUDIT_LOG names", path = path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The log of a daemon.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    log: Mutex<Log>,
    /// The number of the next call.
    next: AtomicU64,
}

#[derive(Debug)]
struct Log {
    file: File,
    /// Whether the last line was not written as a whole, as on a full disk. The next one begins on a line of its own.
    is_broken: bool,
}

/// What a call is, as both of its lines say.
#[derive(Clone, Debug)]
pub(super) struct AuditEntry {
    /// Who makes it, such as `user:1000`.
    pub(super) identity: String,
    /// The session's number in this daemon.
    pub(super) session: u64,
    /// The method of the engine's call.
    pub(super) operation: String,
    /// The provider's source address and version, once it is chosen.
    pub(super) provider: Option<(String, String)>,
    /// The type token; empty if there is none.
    pub(super) resource_type: String,
    /// The resource's name in the program; empty if there is none.
    pub(super) resource_name: String,
}

/// How a call has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditOutcome {
    pub(super) outcome: &'static str,
    pub(super) elapsed: Duration,
}

impl AuditLog {
    /// Opens a log, which is created if it is missing.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let log = Mutex::new(open(path)?);
        Ok(Self { path: path.to_owned(), log, next: AtomicU64::new(1) })
    }

    /// Writes that a call is about to be made, and returns its number.
    pub(super) fn begin(&self, entry: &AuditEntry) -> Result<u64, AuditError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.write(line(number, entry, None))?;
        Ok(number)
    }

    /// Writes how a call has ended.
    pub(super) fn end(
        &self,
        number: u64,
        entry: &AuditEntry,
        outcome: AuditOutcome,
    ) -> Result<(), AuditError> {
        self.write(line(number, entry, Some(outcome)))
    }

    fn write(&self, line: String) -> Result<(), AuditError> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_at(&log.file, &self.path) {
            *log = open(&self.path)?;
        }
        let line = if log.is_broken { format!("\n{line}") } else { line };
        let written = log.file.write_all(line.as_bytes());
        log.is_broken = written.is_err();
        written.map_err(|source| AuditError::Write { path: self.path.clone(), source })
    }
}

fn open(path: &Path) -> Result<Log, AuditError> {
    let failed = |source| AuditError::Open { path: path.to_owned(), source };
    // A FIFO would be waited for.
    let flags = OpenFlags { no_waiting: true, ..OpenFlags::default() };
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(PRIVATE_FILE).flags(flags);
    let is_new = matches!(path.try_exists(), Ok(false));
    let file = options.open(path).map_err(failed)?;
    if is_new {
        set_mode_of_new(path, PRIVATE_FILE).map_err(failed)?;
    }
    let metadata = file.metadata().map_err(failed)?;
    require_regular(&metadata).map_err(failed)?;
    let user = User::current();
    let Protection { owner, mode } = protection_of(&file, &metadata).map_err(failed)?;
    if owner != user || mode & 0o077 != 0 {
        return Err(AuditError::Shared { path: path.to_owned(), user });
    }
    let mut last = [b'\n'];
    if let Some(end) = metadata.len().checked_sub(1) {
        file.read_exact_at(&mut last, end).map_err(failed)?;
    }
    Ok(Log { file, is_broken: last != [b'\n'] })
}

/// Whether an open file is still the one at a path.
fn is_at(file: &File, path: &Path) -> bool {
    let found = path.metadata().and_then(|found| identity(path, &found));
    matches!((identity_of(file), found), (Ok(open), Ok(found)) if open == found)
}

fn line(number: u64, entry: &AuditEntry, outcome: Option<AuditOutcome>) -> String {
    let mut object = Map::new();
    let mut add = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    add("time", json!(timestamp(SystemTime::now())));
    add("event", json!(if outcome.is_some() { "end" } else { "begin" }));
    add("daemon", json!(std::process::id()));
    add("call", json!(number));
    add("identity", json!(entry.identity));
    add("session", json!(entry.session));
    add("operation", json!(entry.operation));
    if let Some((address, version)) = &entry.provider {
        add("provider", json!(address));
        add("version", json!(version));
    }
    for (name, text) in [("type", &entry.resource_type), ("name", &entry.resource_name)] {
        if !text.is_empty() {
            add(name, json!(text));
        }
    }
    if let Some(AuditOutcome { outcome, elapsed }) = outcome {
        add("outcome", json!(outcome));
        add("milliseconds", json!(elapsed.as_secs_f64() * 1e3));
    }
    format!("{}\n", Value::Object(object))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn entry() -> AuditEntry {
        AuditEntry {
            identity: "user:1000".to_owned(),
            session: 3,
            operation: "Create".to_owned(),
            provider: Some(("local/sandbox".to_owned(), String::new())),
            resource_type: "sandbox:index/note:Note".to_owned(),
            resource_name: "a\n\"b\"".to_owned(),
        }
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).expect("it is there");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    #[test]
    fn a_call_is_two_lines_that_are_added_to_what_is_there() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("audit");
        let outcome = AuditOutcome { outcome: "OK", elapsed: Duration::from_millis(5) };
        for _ in 0..2 {
            let log = AuditLog::open(&path).expect("it can be created");
            let number = log.begin(&entry()).expect("written");
            log.end(number, &entry(), outcome).expect("written");
        }
        let lines = lines(&path);
        assert_eq!(lines.len(), 4);
        assert_eq!((&lines[0]["event"], &lines[1]["event"]), (&json!("begin"), &json!("end")));
        assert_eq!((&lines[0]["call"], &lines[0]["name"]), (&lines[1]["call"], &json!("a\n\"b\"")));
        assert_eq!((&lines[1]["outcome"], &lines[1]["milliseconds"]), (&json!("OK"), &json!(5.0)));
        assert_eq!(files::mode(&path.metadata().expect("it is there")) & 0o777, 0o600);
    }

    #[test]
    fn a_line_that_was_not_written_as_a_whole_does_not_spoil_the_next_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("audit");
        AuditLog::open(&path).expect("it can be created").begin(&entry()).expect("written");
        let whole = std::fs::read_to_string(&path).expect("it is there");
        std::fs::write(&path, &whole[..whole.len() / 2]).expect("it is ours");
        let log = AuditLog::open(&path).expect("it is there");
        log.begin(&entry()).expect("written");
        log.begin(&entry()).expect("written");
        let text = std::fs::read_to_string(&path).expect("it is there");
        let readable: Vec<_> = text.lines().map(|line| serde_json::from_str::<Value>(line).is_ok()).collect();
        assert_eq!(readable, [false, true, true], "{text}");
    }

    #[test]
    fn a_log_that_was_moved_away_is_created_anew() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, moved) = (directory.path().join("audit"), directory.path().join("audit.1"));
        let log = AuditLog::open(&path).expect("it can be created");
        log.begin(&entry()).expect("written");
        std::fs::rename(&path, &moved).expect("it can be moved");
        log.begin(&entry()).expect("written");
        assert_eq!((lines(&moved).len(), lines(&path).len()), (1, 1));
    }

    #[test]
    fn what_others_can_read_or_what_is_no_file_is_refused_and_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let shared = directory.path().join("shared");
        std::fs::write(&shared, "").expect("a new file");
        files::set_mode(&shared, 0o644).expect("it is ours");
        let error = AuditLog::open(&shared).expect_err("others can read it");
        assert!(error.to_string().contains(&files::help_against_others(&shared, Others::Read)), "{error}");
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "a pipe in a new directory");
        for path in [directory.path(), &directory.path().join("none/audit"), &pipe] {
            let error = AuditLog::open(path).expect_err("it cannot be written to");
            assert!(error.to_string().contains("ISTHMUS_AUDIT_LOG"), "{error}");
        }
    }
}
