//! Runs a program for its answer, for a moment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use isthmus_common::Environment;

/// How long a program may take: the first start of the Pulumi CLI reads a hundred megabytes from the disk.
const PATIENCE: Duration = Duration::from_secs(20);

/// The standard output of a program that ends by itself, whatever its exit code.
///
/// # Errors
/// Why it did not end or start.
pub(super) async fn output_of(program: &Path, argument: &str) -> Result<String, String> {
    let mut command = tokio::process::Command::new(program);
    for name in isthmus_common::own_variables() {
        command.env_remove(name);
    }
    command.arg(argument).env("PULUMI_SKIP_UPDATE_CHECK", "true");
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let ended = ended.map_err(|_| format!("it did not end within {} s", PATIENCE.as_secs()))?;
    let output = ended.map_err(|error| format!("it does not start: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The files of this name in the directories of `PATH` that this user may execute, in their order. Blocks on the file system.
pub(super) fn on_path(environment: &Environment, name: &str) -> Vec<PathBuf> {
    let path = environment.value("PATH").unwrap_or(OsStr::new("")).to_owned();
    let files = std::env::split_paths(&path).map(|directory| directory.join(name));
    files.filter(|file| is_executable(file)).collect()
}

/// Whether it is a file that this user may execute. Blocks on the file system.
pub(super) fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}
