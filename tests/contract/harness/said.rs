//! What a command has said.

use std::process::{Command, Output};

/// The exit code of a command, and what it has printed.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")).into()
    }

    /// All of it, when it went well.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Its output, when it went well.
    #[track_caller]
    pub(crate) fn well(self) -> String {
        self.succeeded().stdout
    }

    /// What it has said of a failure.
    #[track_caller]
    pub(crate) fn failed(self) -> String {
        assert_eq!(self.code, 1, "{}\n{}", self.stdout, self.stderr);
        self.stdout + &self.stderr
    }
}

impl Said {
    /// With paths as everywhere but on Windows, for texts that name many.
    pub(crate) fn portable(self) -> Self {
        Self { code: self.code, stdout: portable(self.stdout), stderr: portable(self.stderr) }
    }
}

/// A text with paths as everywhere but on Windows.
pub(crate) fn portable(text: String) -> String {
    if isthmus_platform::IS_WINDOWS { text.replace('\\', "/").replace(".exe", "") } else { text }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
