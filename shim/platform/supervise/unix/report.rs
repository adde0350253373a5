//! The reports of a guardian to the daemon: a line for each event.

use rustix::process::Pid;

use super::super::ending::Ending;
use super::super::program::OtherSession;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The provider is running.
    Started(Pid),
    /// The start failed with this error number.
    Refused(i32),
    /// The provider has exited.
    Ended(Ending),
    /// A process of the provider is in another session.
    OtherSession(OtherSession),
}

impl Report {
    /// The line, with its line feed.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Started(id) => format!("started {}\n", id.as_raw_nonzero()),
            Self::Refused(number) => format!("refused {number}\n"),
            Self::Ended(Ending::Code(code)) => format!("exited {code}\n"),
            Self::Ended(Ending::Signal(number)) => format!("killed {number}\n"),
            Self::Ended(Ending::Unknown | Ending::WithGuardian(_)) => "ended\n".to_owned(),
            Self::OtherSession(OtherSession { process, command, killed }) => {
                let word = if *killed { "ended-session" } else { "other-session" };
                // Processes choose their names.
                format!("{word} {process} {}\n", command.escape_debug())
            }
        }
    }

    /// Parses a line without its line feed; `None` if it is invalid.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "started" => Self::Started(Pid::from_raw(rest.parse().ok()?)?),
            "refused" => Self::Refused(rest.parse().ok()?),
            "exited" => Self::Ended(Ending::Code(rest.parse().ok()?)),
            "killed" => Self::Ended(Ending::Signal(rest.parse().ok()?)),
            "ended" => Self::Ended(Ending::Unknown),
            "other-session" | "ended-session" => {
                let (process, command) = rest.split_once(' ')?;
                Self::OtherSession(OtherSession {
                    process: process.parse().ok()?,
                    command: command.to_owned(),
                    killed: word == "ended-session",
                })
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_is_read_as_it_was_written() {
        let other = OtherSession { process: 7, command: "ssh agent".to_owned(), killed: false };
        let reports = [
            Report::Started(Pid::from_raw(12).expect("not 0")),
            Report::Refused(2),
            Report::Ended(Ending::Code(1)),
            Report::Ended(Ending::Signal(9)),
            Report::Ended(Ending::Unknown),
            Report::OtherSession(OtherSession { killed: true, ..other.clone() }),
            Report::OtherSession(other),
        ];
        for report in reports {
            let line = report.line();
            let read = Report::parse(line.strip_suffix('\n').expect("a whole line"));
            assert_eq!(read, Some(report), "{line:?}");
        }
    }

    #[test]
    fn a_name_with_line_breaks_stays_on_its_line() {
        let command = "a\nexited 0\n".to_owned();
        let line = Report::OtherSession(OtherSession { process: 7, command, killed: false }).line();
        assert_eq!(line.matches('\n').count(), 1, "{line:?}");
    }

    #[test]
    fn what_is_no_report_is_not_taken_for_one() {
        for line in ["", "started", "started 0", "started -", "exited", "other-session 7", "hello 1"] {
            assert_eq!(Report::parse(line), None, "{line:?}");
        }
    }
}
