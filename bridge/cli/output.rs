//! Standard output and standard error: the only place that writes to them. Colours, and how a command ended.
//!
//! A reader that closes standard output early (`isthmus state list | head`) is no failure: the rest
//! is dropped, and the command completes with its own exit code, so that `verify | head` fails
//! where `verify` does. One that would print for ever ends. Other failures of standard output, such as a full disk, are reported once
//! and result in a non-zero exit code.
//!
//! Failures of standard error are ignored: there is no other place to report them to.
//!
//! Errors, warnings and notes quote registries, providers and files of others, so they are escaped
//! here. Of standard output, only its writers know what is such a text, and what is a program's input.

#![expect(clippy::disallowed_methods, reason = "it is what the others have to use")]

use isthmus_platform::terminal::is_discarded;
use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use isthmus_common::{HELP, output_last, printable, shortened};

use isthmus_context::error_code::ErrorCode;

/// The exit code of a usage error, as clap's.
pub(crate) const USAGE_ERROR: u8 = 2;

/// Characters of an error, and of its help, that are shown: some quote files, registries and providers at any length.
const LONGEST: usize = 16 << 10;

/// Whether notes and progress are printed, and whether details are.
static QUIET: AtomicBool = AtomicBool::new(false);
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// The first failure of standard output.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

/// Sets by the options of the command what is printed besides its result.
pub(super) fn set_verbosity(quiet: bool, verbose: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
    VERBOSE.store(verbose, Ordering::Relaxed);
}

/// Whether notes and progress are left out.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

pub(crate) fn print(text: &str) {
    write(text.as_bytes());
}

pub(crate) fn write(bytes: &[u8]) {
    if FAILURE.get().is_none() {
        note(write_now(bytes));
    }
}

/// Writes bytes to standard output that another program waits for.
///
/// # Errors
/// If nothing can read them.
pub(crate) fn announce(bytes: &[u8]) -> io::Result<()> {
    if is_discarded()? {
        // The standard library opens /dev/null in place of a closed descriptor.
        return Err(io::Error::other("it is closed, or /dev/null"));
    }
    write_now(bytes)
}

/// Whether standard output has failed, so that a command that only prints has nothing to do any more.
pub(crate) fn is_failed() -> bool {
    FAILURE.get().is_some()
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Shows clap's output: help or version on request, or a usage error.
pub(crate) fn show(message: &clap::Error) -> ExitCode {
    let printed = message.print();
    if !message.use_stderr() {
        note(printed.and_then(|()| io::stdout().flush()));
    }
    ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(USAGE_ERROR))
}

/// The final exit code of a command that ended with `code`.
pub(crate) fn finish(code: ExitCode) -> ExitCode {
    match FAILURE.get() {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let failed = fail(&format!("failed to write to standard output: {error}"));
            if code == ExitCode::SUCCESS { failed } else { code }
        }
        Some(_) | None => code,
    }
}

pub(crate) fn fail(reason: &str) -> ExitCode {
    write_note("error", reason);
    ExitCode::FAILURE
}

/// The same of a failure whose kind has a page.
pub(crate) fn fail_with(reason: &str, code: ErrorCode) -> ExitCode {
    fail(&isthmus_common::with_help(reason.to_owned(), [code.reference()]))
}

/// The same where the kind may have a page.
pub(crate) fn fail_as(reason: &str, code: Option<ErrorCode>) -> ExitCode {
    match code {
        Some(code) => fail_with(reason, code),
        None => fail(reason),
    }
}

pub(crate) fn warn(text: &str) {
    write_note("warning", text);
}

/// Writes a note to standard error, unless the user wants none.
pub(crate) fn inform(text: &str) {
    if !is_quiet() {
        write_note("note", text);
    }
}

/// Writes what a command does to standard error, if the user wants to know.
pub(crate) fn detail(text: impl FnOnce() -> String) {
    if VERBOSE.load(Ordering::Relaxed) {
        write_note("detail", &text());
    }
}

fn write_note(kind: &str, text: &str) {
    let ordered = output_last(text);
    let text = if matches!(ordered, Cow::Owned(_)) { ordered.trim_end() } else { text };
    // The advice is behind what an error quotes.
    let (text, help) = text.split_at(text.find(HELP).unwrap_or(text.len()));
    let (text, help) = (shortened(text, LONGEST), shortened(help, LONGEST));
    write_to_stderr(&printable(&format!("{kind}: {text}{help}\n")));
}

pub(crate) fn write_to_stderr(text: &str) {
    let mut error = io::stderr().lock();
    let _ = error.write_all(text.as_bytes()).and_then(|()| error.flush());
}

fn note(written: io::Result<()>) {
    if let Err(error) = written {
        let _ = FAILURE.set(error);
    }
}

fn write_now(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Adds a similar path to the error about a missing file.
pub(super) fn explain_missing(file: &Path, error: io::Error) -> io::Error {
    match isthmus_provider::plugin::similar_path(file).filter(|_| error.kind() == io::ErrorKind::NotFound) {
        Some(similar) => {
            io::Error::new(error.kind(), format!("{error}; did you mean {}?", similar.display()))
        }
        None => error,
    }
}

/// How a command that works on many things ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Something was not done or is wrong, as reported.
    Incomplete,
}

impl Outcome {
    pub(super) fn of(is_whole: bool) -> Self {
        if is_whole { Self::Done } else { Self::Incomplete }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Incomplete => Self::FAILURE,
        }
    }
}

/// How a word is shown on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Good,
    Warning,
    Error,
}

/// A word in a style, for standard output.
pub(super) fn styled(word: &str, style: Style) -> Cow<'_, str> {
    if is_coloured() { painted(word, style) } else { Cow::Borrowed(word) }
}

/// `NO_COLOR` with any value turns colours off (<https://no-color.org>), and so does `TERM=dumb`. Help and usage errors obey
/// the same variables: clap's own writer does.
fn is_coloured() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

fn painted(word: &str, style: Style) -> Cow<'_, str> {
    let code = match style {
        Style::Plain => return Cow::Borrowed(word),
        Style::Good => "32",
        Style::Warning => "33",
        Style::Error => "1;31",
    };
    Cow::Owned(format!("\x1b[{code}m{word}\x1b[0m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_ended_behind_the_word() {
        assert_eq!(painted("FAULT", Style::Error), "\x1b[1;31mFAULT\x1b[0m");
        assert_eq!(painted("skipped", Style::Plain), "skipped");
    }
}
