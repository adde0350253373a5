//! The file that `TF_LOG_PATH` names: providers' log lines are appended to it instead of being
//! shown.
//!
//! As in Terraform, the variable has no effect alone: `TF_LOG` or `TF_LOG_PROVIDER` sets the level.
//! Several plugins may append to the same file, so each line is one write. The task that reads a
//! provider's pipes writes it, so a named pipe is never waited for and lines that it does not take
//! are lost.

use isthmus_platform::files::OpenFlags;
use isthmus_platform::files::OpenOptionsExt as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use isthmus_common::permissions::FILE;
use isthmus_provider::plugin::{Level, LogRecord};
use serde_json::json;

use crate::process_context::ProcessContext;
use isthmus_context::timestamp::timestamp;

/// Terraform's variable for the file.
const VARIABLE: &str = "TF_LOG_PATH";

/// A file for log lines. Clones share the file.
#[derive(Clone, Debug)]
pub(super) struct LogFile {
    file: Arc<File>,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    /// An object per line, with hclog's keys.
    Json,
}

#[derive(Debug, thiserror::Error)]
#[error("failed to write provider logs to {path} ({VARIABLE})", path = path.display())]
pub(super) struct LogFileError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

impl LogFile {
    /// Opens the file that the environment names, if any.
    pub(super) fn of(context: &ProcessContext, format: Format) -> Result<Option<Self>, LogFileError> {
        let path = context.environment().path(VARIABLE).map(|path| context.resolve(&path));
        path.map(|path| Self::open(&path, format)).transpose()
    }

    fn open(path: &Path, format: Format) -> Result<Self, LogFileError> {
        let flags = OpenFlags { no_waiting: true, ..OpenFlags::default() };
        let file = OpenOptions::new().create(true).append(true).mode(FILE).flags(flags).open(path);
        let file = file.map_err(|source| LogFileError { path: path.to_owned(), source })?;
        Ok(Self { file: Arc::new(file), format })
    }

    pub(super) fn write(&self, record: &LogRecord) {
        let now = timestamp(SystemTime::now());
        let mut line = match self.format {
            Format::Text => text(record, &now),
            Format::Json => json(record, &now),
        };
        line.push('\n');
        // A message about the failure would have to go to the same file.
        let _ = (&*self.file).write_all(line.as_bytes());
    }
}

fn text(record: &LogRecord, time: &str) -> String {
    let level = format!("[{}]", level(record.level).to_uppercase());
    let mut line = format!("{time} {level:<7} provider.terraform-provider-{}", record.provider);
    if let Some(module) = &record.module {
        line.push('.');
        line.push_str(module);
    }
    line.push_str(": ");
    line.push_str(&record.message);
    for (index, (name, value)) in record.fields.iter().enumerate() {
        let separator = if index == 0 { ": " } else { " " };
        if value.contains([' ', '"', '=', '\n']) || value.is_empty() {
            line.push_str(&format!("{separator}{name}={value:?}"));
        } else {
            line.push_str(&format!("{separator}{name}={value}"));
        }
    }
    // Continuation lines are indented, so that each record starts its own line.
    line.replace('\n', "\n  ")
}

fn json(record: &LogRecord, time: &str) -> String {
    let mut object = serde_json::Map::new();
    for (name, value) in &record.fields {
        object.insert(name.clone(), json!(value));
    }
    let module = match &record.module {
        Some(module) => format!("provider.terraform-provider-{}.{module}", record.provider),
        None => format!("provider.terraform-provider-{}", record.provider),
    };
    object.insert("@level".to_owned(), json!(level(record.level)));
    object.insert("@message".to_owned(), json!(record.message));
    object.insert("@module".to_owned(), json!(module));
    object.insert("@timestamp".to_owned(), json!(time));
    serde_json::Value::Object(object).to_string()
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use isthmus_provider::plugin::Origin;

    use super::*;

    fn record(message: &str) -> LogRecord {
        LogRecord {
            provider: Arc::from("random"),
            origin: Origin::Stderr,
            level: Level::Warn,
            message: message.to_owned(),
            module: Some("sdk.proto".to_owned()),
            fields: vec![
                ("tf_rpc".to_owned(), "Configure".to_owned()),
                ("tf_note".to_owned(), "two words".to_owned()),
            ],
        }
    }

    #[test]
    fn a_line_for_people_says_who_what_and_when() {
        assert_eq!(
            text(&record("hello\nworld"), "2026-01-02T03:04:05.678Z"),
            "2026-01-02T03:04:05.678Z [WARN]  provider.terraform-provider-random.sdk.proto: hello\n  world: \
             tf_rpc=Configure tf_note=\"two words\""
        );
    }

    #[test]
    fn a_line_for_programs_is_an_object() {
        let line = json(&record("hello\nworld"), "2026-01-02T03:04:05.678Z");
        assert_eq!(
            line,
            r#"{"@level":"warn","@message":"hello\nworld","@module":"provider.terraform-provider-random.sdk.proto","#
                .to_owned()
                + r#""@timestamp":"2026-01-02T03:04:05.678Z","tf_note":"two words","tf_rpc":"Configure"}"#
        );
    }

    #[test]
    fn lines_are_added_to_what_is_there() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        std::fs::write(&path, "before\n").expect("a file");
        for message in ["one", "two"] {
            LogFile::open(&path, Format::Text).expect("it is ours").write(&record(message));
        }
        let written = std::fs::read_to_string(&path).expect("it is there");
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!((lines.len(), lines[0]), (3, "before"));
        assert!(lines[1].contains(": one") && lines[2].contains(": two"), "{written}");
    }

    #[test]
    fn what_cannot_be_written_to_is_an_error_and_is_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "a pipe in a new directory");
        for path in [directory.path(), &directory.path().join("none/log"), &pipe] {
            let error = LogFile::open(path, Format::Text).expect_err("it cannot be written to");
            assert!(error.to_string().contains("TF_LOG_PATH"), "{error}");
        }
    }
}
