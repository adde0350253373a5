//! The exit of a provider process, as errors show it.

use std::fmt;

use isthmus_common::{OutputKind, counted, output_block};
use isthmus_platform::supervise::Ending;

use super::logs::LastWords;

/// The exit of a provider process, and its last output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub ending: Ending,
    /// Its last lines of output, oldest first, truncated and escaped.
    pub last_lines: Vec<String>,
    /// The beginning of a panic's trace.
    pub panic: Option<String>,
}

/// The ending, followed by a block of the trace, or else of the last lines.
impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.ending, self.last_words())
    }
}

impl Exit {
    pub(super) fn new(ending: Ending, last_words: LastWords) -> Self {
        Self { ending, last_lines: last_words.lines, panic: last_words.panic }
    }

    /// Whether a panic ended it: some programs print traces, and go on.
    pub(crate) fn is_panic(&self) -> bool {
        // The runtime of Go exits with 2, or aborts where `GOTRACEBACK` is `crash`.
        self.panic.is_some() && (self.ending == Ending::Code(2) || self.ending.is_abort())
    }

    /// The block of the last output; empty if there was none.
    pub(super) fn last_words(&self) -> String {
        let (kind, lines) = match &self.panic {
            Some(trace) => (OutputKind::Panic, shown_trace(trace)),
            None => (OutputKind::LastLines, shown_end(&self.last_lines)),
        };
        output_block(kind, lines.iter().map(String::as_str))
    }
}

/// Of a panic: the beginning of its message, and of the goroutine that panicked, which comes first.
fn shown_trace(trace: &str) -> Vec<String> {
    let lines: Vec<&str> = trace.trim_end().lines().collect();
    let goroutine = lines.iter().position(|line| line.starts_with("goroutine ")).unwrap_or(lines.len());
    let (message, goroutines) = lines.split_at(goroutine);
    let frames = goroutines.iter().take_while(|line| !line.trim().is_empty()).count();
    let (panicked, _) = goroutines.split_at(frames);
    let mut shown = shown_beginning(message, SHOWN_MESSAGE_LINES);
    shown.extend(shown_beginning(panicked, SHOWN_FRAME_LINES));
    shown
}

/// The first lines, and how many there are besides.
fn shown_beginning(lines: &[&str], most: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(most).map(|line| shown_line(line)).collect();
    if lines.len() > most {
        shown.push(format!("… {}", counted(lines.len() - most, "more line")));
    }
    shown
}

/// The last lines.
fn shown_end(lines: &[String]) -> Vec<String> {
    let before = lines.len().saturating_sub(SHOWN_LAST_LINES);
    lines[before..].iter().map(|line| shown_line(line)).collect()
}

fn shown_line(line: &str) -> String {
    match line.floor_char_boundary(SHOWN_LINE_BYTES) {
        end if end < line.len() => format!("{}…", &line[..end]),
        _ => line.to_owned(),
    }
}

// Limits of what an error quotes, which is a part of a status (`bridge/services/serve/bounded.rs`); the log has
// all of it.
const SHOWN_MESSAGE_LINES: usize = 8;
const SHOWN_FRAME_LINES: usize = 12;
const SHOWN_LAST_LINES: usize = 12;
const SHOWN_LINE_BYTES: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_tells_how_it_ended_and_what_was_said_last() {
        let exit = Exit {
            ending: Ending::Code(1),
            last_lines: vec!["cannot read".into(), "giving up".into()],
            panic: None,
        };
        assert_eq!(
            exit.to_string(),
            "exit status 1\nlast output of the provider:\n    cannot read\n    giving up\n"
        );
        let killed = Exit { ending: Ending::Signal(9), last_lines: Vec::new(), panic: None };
        assert_eq!(killed.to_string(), "signal 9 (SIGKILL)");
    }

    #[test]
    fn a_panic_is_shown_instead_of_what_came_before() {
        let exit = Exit {
            ending: Ending::Code(2),
            last_lines: vec!["starting".into()],
            panic: Some("panic: boom\n\ngoroutine 1 [running]:\n".into()),
        };
        assert_eq!(
            exit.to_string(),
            "exit status 2\npanic of the provider:\n    panic: boom\n    \n    goroutine 1 [running]:\n"
        );
    }

    #[test]
    fn of_a_panic_the_message_and_the_first_goroutine_are_shown() {
        let frames = |of: &str| -> String {
            (0..30).map(|at| format!("main.{of}{at}(...)\n\t/src/main.go:{at} +0x1d\n")).collect()
        };
        let trace = format!(
            "panic: {}\n{}\ngoroutine 7 [running]:\n{}\ngoroutine 1 [select]:\n{}",
            "é".repeat(1000),
            "of the message\n".repeat(20),
            frames("first"),
            frames("other")
        );
        let exit = Exit { ending: Ending::Code(2), last_lines: Vec::new(), panic: Some(trace) };
        let text = exit.to_string();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), SHOWN_MESSAGE_LINES + 1 + SHOWN_FRAME_LINES + 1, "{text}");
        assert_eq!(lines[0], format!("    panic: {}…", "é".repeat(116)));
        assert_eq!(lines[SHOWN_MESSAGE_LINES], "    … 14 more lines");
        assert_eq!(
            lines[SHOWN_MESSAGE_LINES + 1..][..2],
            ["    goroutine 7 [running]:", "    main.first0(...)"]
        );
        assert_eq!(lines[lines.len() - 1], "    … 49 more lines");
        assert!(!text.contains("goroutine 1 "), "{text}");
        // A panic without a trace, and one of a short one.
        for (panic, shown) in [
            ("panic: boom\n", "\npanic of the provider:\n    panic: boom\n"),
            (
                "fatal error: x\n\ngoroutine 1 [running]:\nmain.main()\n\ngoroutine 2 [select]:\nmain.x()\n",
                "\npanic of the provider:\n    fatal error: x\n    \n    goroutine 1 [running]:\n    main.main()\n",
            ),
        ] {
            let exit = Exit { ending: Ending::Code(2), last_lines: Vec::new(), panic: Some(panic.into()) };
            assert_eq!(exit.last_words(), shown);
        }
    }

    #[test]
    fn what_is_shown_of_the_last_lines_is_bounded() {
        let last_lines: Vec<String> = (0..20).map(|at| format!("{at} {}", "x".repeat(1000))).collect();
        let exit = Exit { ending: Ending::Code(1), last_lines, panic: None };
        let text = exit.to_string();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), SHOWN_LAST_LINES);
        assert!(lines[0].starts_with("    8 xxx") && lines[11].starts_with("    19 xxx"), "{text}");
        assert!(lines.iter().all(|line| line.ends_with('…') && line.len() < SHOWN_LINE_BYTES + 10), "{text}");
    }
}
