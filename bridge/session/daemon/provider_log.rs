//! Log lines and calls of providers, forwarded to the engine.

use isthmus_provider::CallObserver;
use isthmus_provider::plugin::{LOG_VARIABLES, Level, LogLevel, LogRecord, LogSink, Origin};
use tonic::Code;

use super::Calls;
use super::log_file::{Format, LogFile};
use super::rpc_log::RpcLog;
use crate::engine::{EngineLog, LogLine, Severity};
use crate::process_context::ProcessContext;
use isthmus_trace::recording;

/// Returns a sink that forwards a provider's lines to the engine at debug severity. If one of
/// [`LOG_VARIABLES`] sets a level, lines of that level and above keep their severity, or go to a
/// [`LogFile`] if there is one.
pub(super) fn sink(context: &ProcessContext, log: EngineLog, calls: Calls) -> LogSink {
    let requested =
        LOG_VARIABLES.iter().find_map(|name| context.environment().text(name)).unwrap_or_default();
    let wanted = level(requested);
    let file = wanted.and_then(|_| open_file(context, requested, &log));
    let secrets = log.secrets().clone();
    let sink = LogSink::from_level(LogLevel::lowest(context.environment()), move |record| {
        let mut severity = severity(&record, wanted);
        if let Some(file) = file.as_ref().filter(|_| wanted.is_some_and(|wanted| record.level >= wanted)) {
            file.write(&record);
            if record.origin != Origin::Host {
                severity = Severity::Debug;
            }
        }
        let urn = calls.only_urn().map(|urn| urn.to_string()).unwrap_or_default();
        log.send(LogLine { severity, message: text(&record), urn });
    });
    sink.redacting(secrets)
}

fn open_file(context: &ProcessContext, requested: &str, log: &EngineLog) -> Option<LogFile> {
    let format = if requested.eq_ignore_ascii_case("json") { Format::Json } else { Format::Text };
    LogFile::of(context, format).unwrap_or_else(|error| {
        let message = isthmus_common::error_chain(&error);
        log.warn(message);
        None
    })
}

/// Returns an observer that counts the calls of a provider, in a shared daemon; logs each of them, if
/// [`LOG_CALLS`](isthmus_context::settings::LOG_CALLS) is set, in lines that start with [`CALL_MARK`]; and
/// writes the [`RpcLog`] and the recording, if these are configured.
pub(super) fn observer(context: &ProcessContext, log: EngineLog, calls: Calls) -> CallObserver {
    let (rpc_log, is_recorded) = (RpcLog::of(context, log.clone()), context.recording().is_some());
    let mut observer = CallObserver::default();
    if rpc_log.is_some() || is_recorded {
        observer = observer.with_messages(move |messages| {
            if let Some(rpc_log) = &rpc_log {
                rpc_log.write(messages);
            }
            if is_recorded {
                recording::capture(messages);
            }
        });
    }
    let (observed, is_logged) = (calls.observed().cloned(), context.settings().log_calls);
    if observed.is_none() && !is_logged {
        return observer;
    }
    observer.with_reports(move |report| {
        if let Some(observed) = &observed {
            observed.called(report);
        }
        if !is_logged {
            return;
        }
        let outcome = if report.code == Code::Ok { "" } else { ", without an answer" };
        let milliseconds = report.elapsed.as_secs_f64() * 1e3;
        let message = format!("{CALL_MARK}{} {milliseconds:.2} ms{outcome}", report.operation);
        let urn = calls.only_urn().map(|urn| urn.to_string()).unwrap_or_default();
        log.send(LogLine { severity: Severity::Debug, message, urn });
    })
}

/// Prefix of the line about a provider's call.
pub const CALL_MARK: &str = "terraform: ";

pub(super) fn severity(record: &LogRecord, wanted: Option<Level>) -> Severity {
    // The configured level is about the provider's own lines, not reports about its process.
    let wanted = if record.origin == Origin::Host { Some(Level::Warn) } else { wanted };
    if wanted.is_none_or(|wanted| record.level < wanted) {
        return Severity::Debug;
    }
    match record.level {
        Level::Error => Severity::Error,
        Level::Warn => Severity::Warning,
        Level::Info | Level::Debug | Level::Trace => Severity::Info,
    }
}

/// The lowest level to show. The settings warn of a value that is not a level.
fn level(text: &str) -> Option<Level> {
    match LogLevel::parse(text)? {
        LogLevel::Off => None,
        LogLevel::From(level) => Some(level),
    }
}

pub(super) fn text(record: &LogRecord) -> String {
    let mut text = format!("[{}] {}", record.provider, record.message);
    if record.origin == Origin::Stderr {
        for (name, value) in &record.fields {
            text.push_str(&format!(" {name}={value}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn record(level: Level) -> LogRecord {
        LogRecord {
            provider: Arc::from("random"),
            origin: Origin::Stderr,
            level,
            message: "hello".to_owned(),
            module: None,
            fields: vec![("tf_rpc".to_owned(), "Configure".to_owned())],
        }
    }

    #[test]
    fn lines_are_for_debugging_unless_they_are_asked_for() {
        assert_eq!(severity(&record(Level::Error), None), Severity::Debug);
        assert_eq!(severity(&record(Level::Warn), level("info")), Severity::Warning);
        assert_eq!(severity(&record(Level::Debug), level("info")), Severity::Debug);
        assert_eq!(severity(&record(Level::Trace), level("trace")), Severity::Info);
        assert_eq!(severity(&record(Level::Info), level("nonsense")), Severity::Debug);
    }

    #[test]
    fn what_is_said_about_a_provider_is_never_for_debugging_only() {
        let record = LogRecord { origin: Origin::Host, ..record(Level::Warn) };
        assert_eq!(severity(&record, None), Severity::Warning);
        assert_eq!(severity(&record, level("error")), Severity::Warning);
    }

    #[test]
    fn a_line_names_its_provider_and_keeps_its_fields() {
        assert_eq!(text(&record(Level::Info)), "[random] hello tf_rpc=Configure");
    }
}
