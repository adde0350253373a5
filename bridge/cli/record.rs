//! `isthmus record`: runs a command with [`RECORD`] set, so that each plugin that it starts records its session.

use isthmus_platform::process::Ends;
use isthmus_platform::process::Signals;
use isthmus_platform::process::terminate;
use isthmus_platform::supervise::Ending;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use clap::Args;
use isthmus_common::counted;
use tokio::process::Command;

use super::output::{fail, inform, warn};
use super::runtime;
use isthmus_context::new_file::write_file;
use isthmus_context::settings::RECORD;
use isthmus_trace::recording::{MODE, RecordingError, count, header};

const EXAMPLES: &str = "\
Examples:
  isthmus record session.jsonl -- pulumi preview
  isthmus record session.jsonl -- pulumi up --yes
  isthmus replay session.jsonl

The exit code is the command's; 127 if it cannot be run, and 1 if isthmus cannot create the file.";

/// Exit code of a command that cannot be run, as shells have it.
const NOT_RUN: u8 = 127;

/// Exit code of a command that a signal ended, without the signal's number.
const SIGNALLED: i32 = 128;

#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error("{} exists, and a recording overwrites nothing\nhelp: name a file that does not exist", .0.display())]
    Exists(PathBuf),
    #[error("failed to create {}", file.display())]
    Create {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("failed to run {}", command.display())]
    Run {
        command: OsString,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Record a command's provider calls to a file.
///
/// Each isthmus plugin that the command starts appends the calls of its session on both sides: the engine's,
/// and those to the Terraform provider. isthmus replaces secrets. `isthmus replay` repeats the calls.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Record {
    /// File to create, in JSON lines; an existing one is not overwritten.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Command and its arguments, after `--`.
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

pub(super) fn run(record: &Record) -> ExitCode {
    runtime::run(async {
        match record.create() {
            Ok(file) => record.run(&file).await,
            Err(error) => fail(&isthmus_common::error_chain(&error)),
        }
    })
}

impl Record {
    /// Creates the file, and returns its path from any directory.
    fn create(&self) -> Result<PathBuf, RecordError> {
        let failed = |source| RecordError::Create { file: self.file.clone(), source };
        let file = std::path::absolute(&self.file).map_err(failed)?;
        match write_file(&file, header().as_bytes(), MODE, false) {
            Ok(()) => Ok(file),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(RecordError::Exists(self.file.clone()))
            }
            Err(source) => Err(failed(source)),
        }
    }

    async fn run(&self, file: &Path) -> ExitCode {
        let ended = match self.execute(file).await {
            Ok(ended) => ended,
            Err(error) => {
                fail(&isthmus_common::error_chain(&error));
                return ExitCode::from(NOT_RUN);
            }
        };
        match count(file) {
            Ok((0, _)) => warn(&format!(
                "{} has no call: the command has started no plugin of isthmus for today's engines",
                self.file.display()
            )),
            Ok((calls, sessions)) => {
                let (calls, sessions) = (counted(calls, "call"), counted(sessions, "session"));
                inform(&format!("{} has {calls} of {sessions}", self.file.display()));
            }
            Err(error) => warn(&isthmus_common::error_chain(&error)),
        }
        let code = match Ending::from(ended) {
            Ending::Code(code) => code,
            Ending::Signal(signal) => SIGNALLED + signal,
            Ending::WithGuardian(_) | Ending::Unknown => SIGNALLED,
        };
        ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
    }

    /// Runs the command to its end, whatever signals come meanwhile: a terminal sends an interrupt to the command as well,
    /// and a signal to end is passed on.
    async fn execute(&self, file: &Path) -> Result<ExitStatus, RecordError> {
        let [program, arguments @ ..] = self.command.as_slice() else { unreachable!("clap requires it") };
        let failed = |source| RecordError::Run { command: program.clone(), source };
        let mut signals = Signals::but_hangup();
        let mut child =
            Command::new(program).args(arguments).env(RECORD.name, file).spawn().map_err(failed)?;
        let id = child.id();
        loop {
            tokio::select! {
                ended = child.wait() => return ended.map_err(failed),
                end = signals.next() => {
                    if let (Ends::Terminate, Some(id)) = (end, id) {
                        terminate(id);
                    }
                }
            }
        }
    }
}
