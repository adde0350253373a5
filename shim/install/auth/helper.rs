//! Runs credentials helpers with limits of time and output.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

/// Timeout; a helper may query another server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Limit of output.
const LONGEST: u64 = 1 << 20;

/// The result of a helper.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) succeeded: bool,
    pub(super) output: Vec<u8>,
    complaint: Vec<u8>,
}

impl Finished {
    /// Its standard error, for an error.
    pub(super) fn complaint(&self) -> String {
        const SHOWN: usize = 1000;
        let text = String::from_utf8_lossy(&self.complaint);
        let text: String = text.trim().chars().take(SHOWN).collect();
        if text.is_empty() { "it does not say why".to_owned() } else { text }
    }
}

/// Runs a program until it exits. Fails with the reason if it does not start, exceeds the timeout,
/// or writes too much.
pub(super) async fn run<'a>(
    program: &Path,
    arguments: impl IntoIterator<Item = &'a str>,
    input: &str,
) -> Result<Finished, String> {
    run_within(PATIENCE, program, arguments, input).await
}

async fn run_within<'a>(
    patience: Duration,
    program: &Path,
    arguments: impl IntoIterator<Item = &'a str>,
    input: &str,
) -> Result<Finished, String> {
    let mut command = tokio::process::Command::new(program);
    for name in isthmus_common::own_variables() {
        command.env_remove(name);
    }
    let running = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = running.map_err(|error| format!("{} does not start: {error}", program.display()))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let finish = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // It need not read its input.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            Ok(())
        };
        let ((), output, complaint) = tokio::try_join!(write, read(stdout), read(stderr))?;
        let status = child.wait().await.map_err(|error| error.to_string())?;
        Ok(Finished { succeeded: status.success(), output, complaint })
    };
    let finished = tokio::time::timeout(patience, finish).await;
    let finished =
        finished.unwrap_or_else(|_| Err(format!("it did not end within {} s", patience.as_secs())));
    finished.map_err(|reason: String| format!("{}: {reason}", program.display()))
}

async fn read(stream: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let Some(stream) = stream else { return Ok(bytes) };
    stream.take(LONGEST + 1).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("it says more than {LONGEST} bytes"));
    }
    Ok(bytes)
}

/// Whether a helper may have this name, which becomes a part of a file's name.
pub(crate) fn is_program_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, input: &str) -> Result<Finished, String> {
        run(Path::new("/bin/sh"), ["-c", script], input).await
    }

    #[tokio::test]
    async fn a_program_is_told_something_and_answers() {
        let finished = shell("cat; echo why >&2; exit 1", "input").await.expect("it ends");
        assert_eq!((finished.succeeded, finished.output.as_slice()), (false, b"input".as_slice()));
        assert_eq!(finished.complaint(), "why");
        // A program that reads nothing is not waited for.
        let finished = shell("exec <&-; true", &"x".repeat(1 << 20)).await.expect("it ends");
        assert_eq!((finished.succeeded, finished.complaint().as_str()), (true, "it does not say why"));
    }

    #[tokio::test]
    async fn a_program_that_floods_is_ended() {
        let error = shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", "").await;
        assert_eq!(error.map(drop), Err("/bin/sh: it says more than 1048576 bytes".to_owned()));
        let missing = run(Path::new("/nowhere/x"), [], "").await.expect_err("it is not there");
        assert!(missing.starts_with("/nowhere/x does not start: "), "{missing}");
    }

    #[tokio::test]
    async fn a_program_that_hangs_is_ended() {
        let error = run_within(Duration::ZERO, Path::new("/bin/sh"), ["-c", "exec sleep 1000"], "").await;
        assert_eq!(error.map(drop), Err("/bin/sh: it did not end within 0 s".to_owned()));
    }
}
