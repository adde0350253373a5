//! Providers' log lines on their way to the engine.

use isthmus_provider::CallObserver;
use isthmus_provider::plugin::{Level, LogRecord, LogSink, Origin};

use super::Calls;
use super::log_file::{Format, LogFile};
use super::rpc_log::RpcLog;
use crate::engine::{EngineLog, LogLine, Severity};
use crate::settings::Settings;
use crate::settings::foreign::{LOG_VARIABLES, LogLevel};

/// A sink that hands a provider's lines to the engine. They are for debugging, unless the user asked for them by one of
/// [`LOG_VARIABLES`]: then those of that level and above are shown as what they are, or go to a [`LogFile`] if there is one.
pub(super) fn sink(log: EngineLog, calls: Calls) -> LogSink {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let asked = LOG_VARIABLES.iter().find_map(set).unwrap_or_default();
    let wanted = level(&asked);
    let file = wanted.and_then(|_| open_file(&asked, &log));
    // Providers trace every step of every call; without a wish for it, those lines are not even taken apart.
    let least = wanted.unwrap_or(Level::Debug).min(Level::Debug);
    let secrets = log.secrets().clone();
    let sink = LogSink::from_level(least, move |record| {
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

fn open_file(asked: &str, log: &EngineLog) -> Option<LogFile> {
    let format = if asked.eq_ignore_ascii_case("json") { Format::Json } else { Format::Text };
    LogFile::of_environment(format).unwrap_or_else(|error| {
        let message = isthmus_common::error_chain(&error);
        log.send(LogLine { severity: Severity::Warning, message, urn: String::new() });
        None
    })
}

/// An observer that logs every call of a provider, where [`LOG_CALLS`](crate::settings::LOG_CALLS) asks for it. Such a line starts with
/// [`CALL_MARK`].
///
/// It also writes down what is said in each call, where [`RpcLog`] is asked for.
pub(super) fn observer(settings: &Settings, log: EngineLog, calls: Calls) -> CallObserver {
    let observer = match RpcLog::from_environment(log.clone()) {
        Some(rpc_log) => CallObserver::default().with_messages(move |messages| rpc_log.write(messages)),
        None => CallObserver::default(),
    };
    if !settings.log_calls {
        return observer;
    }
    observer.with_reports(move |report| {
        let outcome = if report.answered { "" } else { ", without an answer" };
        let milliseconds = report.elapsed.as_secs_f64() * 1e3;
        let message = format!("{CALL_MARK}{} {milliseconds:.2} ms{outcome}", report.operation);
        let urn = calls.only_urn().map(|urn| urn.to_string()).unwrap_or_default();
        log.send(LogLine { severity: Severity::Debug, message, urn });
    })
}

/// What the line about a provider's call starts with.
pub(crate) const CALL_MARK: &str = "terraform: ";

fn severity(record: &LogRecord, wanted: Option<Level>) -> Severity {
    // Reports about a provider's process are independent of the level for the provider's own lines.
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

/// The level from which on lines are wanted. A value that names none has no effect, of which the user is warned at the start.
fn level(text: &str) -> Option<Level> {
    match LogLevel::parse(text)? {
        LogLevel::Off => None,
        LogLevel::From(level) => Some(level),
    }
}

fn text(record: &LogRecord) -> String {
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
