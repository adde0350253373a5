//! Runs a program for its answer, for a moment.

use isthmus_platform::files::require_executable;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use isthmus_common::Environment;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How long a program may take: the first start of the Pulumi CLI reads a hundred megabytes from the disk.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most that is read of an output. A program that prints more is another one than it is taken for.
const LONGEST_OUTPUT: u64 = 64 * 1024;

/// The most of a failed program's error output that is shown, in characters.
const LONGEST_REASON: usize = 200;

/// The standard output of a program that ends by itself, at most [`LONGEST_OUTPUT`] bytes of it. One that fails may print its answer
/// all the same.
///
/// # Errors
/// Why it did not start or end, or how it failed without an answer.
pub(super) async fn output_of(program: &Path, argument: &str) -> Result<String, String> {
    let mut command = tokio::process::Command::new(program);
    for name in isthmus_common::own_variables() {
        command.env_remove(name);
    }
    command.arg(argument).env("PULUMI_SKIP_UPDATE_CHECK", "true");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("it does not start: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let run = async { tokio::join!(beginning(stdout), beginning(stderr), child.wait()) };
    let ended = tokio::time::timeout(PATIENCE, run).await;
    let (stdout, stderr, status) =
        ended.map_err(|_| format!("it did not end within {} s", PATIENCE.as_secs()))?;
    let status = status.map_err(|error| format!("it cannot be waited for: {error}"))?;
    if status.success() || !stdout.trim().is_empty() {
        return Ok(stdout);
    }
    let reason = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    let reason: String = reason.trim().chars().take(LONGEST_REASON).collect();
    Err(format!("`{} {argument}` fails with {status}: {reason}", program.display()))
}

/// The beginning of an output. The rest is not read, so that a program that prints without end is stopped by its closed pipe.
async fn beginning(output: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        // An error is an end too.
        let _ = output.take(LONGEST_OUTPUT).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The files of this name in the directories of `PATH` that this user may execute, in their order. Blocks on the file system.
pub(super) fn on_path(environment: &Environment, name: &str) -> Vec<PathBuf> {
    let path = environment.value("PATH").unwrap_or(OsStr::new("")).to_owned();
    let files = std::env::split_paths(&path).map(|directory| directory.join(name));
    files.filter(|file| is_executable(file)).collect()
}

/// Whether it is a file that this user may execute. Blocks on the file system.
pub(super) fn is_executable(file: &Path) -> bool {
    file.is_file() && require_executable(file).is_ok()
}
