//! Standard output and standard error: the only place that writes to them.
//!
//! A reader of standard output that has read enough (`isthmus state list | head`) is no failure: the rest is dropped, the command
//! completes its work, and its exit code reports the result of that. So nothing is left half done, and `verify | head` fails where
//! `verify` does. Anything else that keeps standard output from being written, such as a full disk, is an error, which is reported once
//! and ends in a non-zero exit code.
//!
//! What standard error does not take is lost: there is no other place to report it to.

#![expect(clippy::disallowed_methods, reason = "it is what the others have to use")]

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

/// The exit code of a usage error, as clap's.
pub(crate) const USAGE_ERROR: u8 = 2;

/// The first failure of standard output. The process has one standard output, so it is one for the process.
static FAILURE: OnceLock<io::Error> = OnceLock::new();

/// Writes text to standard output.
pub(crate) fn print(text: &str) {
    write(text.as_bytes());
}

/// Writes bytes to standard output.
pub(crate) fn write(bytes: &[u8]) {
    if FAILURE.get().is_none() {
        note(write_now(bytes));
    }
}

/// Writes bytes to standard output that another program waits for.
///
/// # Errors
/// When nothing can read them.
pub(crate) fn announce(bytes: &[u8]) -> io::Result<()> {
    if is_nowhere()? {
        // The standard library opens it in the place of what was closed.
        return Err(io::Error::other("it is closed, or /dev/null"));
    }
    write_now(bytes)
}

/// Shows what clap has to say: help and the version, which were asked for, or what is wrong with the arguments.
pub(crate) fn show(message: &clap::Error) -> ExitCode {
    let printed = message.print();
    if !message.use_stderr() {
        note(printed.and_then(|()| io::stdout().flush()));
    }
    ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(USAGE_ERROR))
}

/// The exit code of a command that ended with `code`, now that its output is complete.
pub(crate) fn finish(code: ExitCode) -> ExitCode {
    match FAILURE.get() {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let failed = fail(&format!("failed to write to standard output: {error}"));
            if code == ExitCode::SUCCESS { failed } else { code }
        }
        Some(_) | None => code,
    }
}

/// Writes an error to standard error.
pub(crate) fn fail(reason: &str) -> ExitCode {
    tell(&format!("error: {reason}\n"));
    ExitCode::FAILURE
}

/// Writes a warning to standard error.
pub(crate) fn warn(text: &str) {
    tell(&format!("warning: {text}\n"));
}

/// Writes something to standard error that is neither an error nor a warning.
pub(crate) fn inform(text: &str) {
    tell(&format!("note: {text}\n"));
}

/// Writes to standard error.
pub(crate) fn tell(text: &str) {
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

/// Whether standard output is the device that forgets everything.
fn is_nowhere() -> io::Result<bool> {
    let (out, null) = (rustix::fs::fstat(io::stdout())?, rustix::fs::stat("/dev/null")?);
    let is_device = rustix::fs::FileType::from_raw_mode(out.st_mode) == rustix::fs::FileType::CharacterDevice;
    Ok(is_device && out.st_rdev == null.st_rdev)
}
