//! The log lines of a daemon, as text.

use std::time::{Duration, UNIX_EPOCH};

use isthmus_proto::daemon::LogLine;
use isthmus_proto::daemon::log_line::Severity;

use super::client::{Client, ClientError};
use crate::cli::output::{is_failed, print};
use isthmus_context::timestamp::timestamp;

/// Prints the recent lines, and follows further ones until the daemon ends, or nothing reads them.
pub(super) async fn follow(client: &mut Client, follow: bool) -> Result<(), ClientError> {
    let mut lines = client.logs(follow).await?;
    loop {
        match lines.message().await {
            Ok(Some(line)) => {
                print(&text(&line));
                if is_failed() {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(status) => return Err(ClientError::Refused(Box::new(status))),
        }
    }
}

/// Continuation lines are indented, so that each begins with its time.
fn text(line: &LogLine) -> String {
    let time = timestamp(UNIX_EPOCH + Duration::from_millis(line.time_milliseconds));
    let severity = match line.severity() {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let about = line.session.map_or_else(|| "daemon".to_owned(), |number| format!("session {number}"));
    let text = isthmus_common::printable(line.text.trim_end()).replace('\n', "\n  ");
    let identity = isthmus_common::printable(&line.identity);
    format!("{time} {severity:<7} {about} ({identity}): {text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_begins_with_its_time_and_cannot_command_the_terminal() {
        let line = LogLine {
            time_milliseconds: 951_782_399_999,
            severity: Severity::Warning.into(),
            identity: "user:1000".to_owned(),
            session: Some(3),
            text: "one\ntwo\u{1b}[2J\n".to_owned(),
        };
        let text = text(&line);
        assert!(
            text.starts_with("2000-02-28T23:59:59.999Z warning session 3 (user:1000): one\n  two"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}') && text.ends_with('\n'), "{text}");
    }
}
