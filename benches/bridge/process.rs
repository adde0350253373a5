//! The process of a bridge, started the way engines start plugins: in a process group of its own, with the engine's
//! address as its argument and a standard input that is never written to.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::task::AbortOnDropHandle;

use super::BridgeSpec;

/// How many of its last lines are kept for the message about a failure.
const REMEMBERED_LINES: usize = 20;
/// An engine waits without end; here, somebody waits for the harness.
const PORT_TIMEOUT: Duration = Duration::from_secs(60);

/// A running bridge, and its group. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Pid,
    id: u32,
    _stdin: Option<ChildStdin>,
    stdout: Option<Lines<BufReader<ChildStdout>>>,
    last_words: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<AbortOnDropHandle<()>>,
}

impl Process {
    /// Starts a program with these arguments, in the environment of a bridge.
    pub(super) fn start(executable: &Path, arguments: &[&OsStr], spec: &BridgeSpec) -> anyhow::Result<Self> {
        let mut command = Command::new(executable);
        command.args(arguments).current_dir(&spec.home).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Settings of whoever runs the harness would be measured along: logs, caches, attached providers.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["TF_", "ISTHMUS_", "PULUMI_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command.env("PULUMI_HOME", &spec.home).env("PULUMI_PROJECT", "isthmus").env("PULUMI_CONFIG", "{}");
        command.env("ISTHMUS_OFFLINE", "true");
        command.envs(spec.variables.iter().map(|(name, value)| (name, value)));
        let mut child =
            command.spawn().with_context(|| format!("{} cannot be started", executable.display()))?;
        let id = child.id().context("the process has no number")?;
        let group =
            i32::try_from(id).ok().and_then(Pid::from_raw).context("a process number out of range")?;
        let last_words = Arc::default();
        let stderr = child.stderr.take().context("the process has no standard error")?;
        let readers = vec![drain(BufReader::new(stderr).lines(), &last_words)];
        let stdout = child.stdout.take().map(|stdout| BufReader::new(stdout).lines());
        let stdin = child.stdin.take();
        Ok(Self { child, group, id, _stdin: stdin, stdout, last_words, readers })
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Reads the line that announces the port. What it prints afterwards is read for as long as it lives.
    pub(super) async fn port(&mut self) -> anyhow::Result<u16> {
        let mut stdout = self.stdout.take().context("the port was read already")?;
        let line = match tokio::time::timeout(PORT_TIMEOUT, stdout.next_line()).await {
            Ok(Ok(Some(line))) => line,
            Ok(Ok(None)) => bail!("it ended without announcing a port"),
            Ok(Err(error)) => return Err(error).context("its output cannot be read"),
            Err(_) => bail!("no port was announced within {} s", PORT_TIMEOUT.as_secs()),
        };
        self.readers.push(drain(stdout, &self.last_words));
        line.trim().parse().map_err(|_| anyhow!("a port was expected on its first line, not {line:?}"))
    }

    /// Sends SIGINT to the group, as engines do.
    pub(super) fn interrupt(&self) {
        // A group that is gone already has ended well before its time, which the wait below finds out.
        let _ = kill_process_group(self.group, Signal::INT);
    }

    /// Whether it ends within this time.
    pub(super) async fn ended_within(&mut self, time: Duration) -> bool {
        tokio::time::timeout(time, self.child.wait()).await.is_ok()
    }

    /// Ends it by force, without its children, if it has not ended.
    pub(super) async fn kill(&mut self) {
        // It can only fail because it is gone.
        let _ = self.child.kill().await;
    }

    /// Adds the last lines of its output to an error.
    pub(super) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let lines = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return error;
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        anyhow!("{error:#}\nIts last output was:\n  {}", lines.join("\n  "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After an orderly end there is nobody left to be killed.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

fn drain<Reader>(
    mut lines: Lines<BufReader<Reader>>,
    last_words: &Arc<Mutex<VecDeque<String>>>,
) -> AbortOnDropHandle<()>
where
    Reader: AsyncRead + Unpin + Send + 'static,
{
    let last_words = Arc::clone(last_words);
    AbortOnDropHandle::new(tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            let mut last_words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
            if last_words.len() == REMEMBERED_LINES {
                last_words.pop_front();
            }
            last_words.push_back(line);
        }
    }))
}
