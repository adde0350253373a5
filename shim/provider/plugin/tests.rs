//! Real processes, correct and faulty: shell scripts in a directory per test.

mod peer;

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use rustix::process::Signal;
use tempfile::TempDir;

use super::*;
use peer::{Manner, Peer, companion, number};

/// A directory of scripts, and the log of their output.
struct Workshop {
    directory: TempDir,
    records: Arc<Mutex<Vec<LogRecord>>>,
}

impl Workshop {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory for a test");
        Self { directory, records: Arc::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn file(&self, name: &str, content: &[u8], mode: u32) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("the directory can be written to");
        isthmus_platform::files::set_mode(&path, mode).expect("the file is ours");
        path
    }

    fn script(&self, name: &str, body: &str) -> PathBuf {
        self.file(name, format!("#!/bin/sh\n{body}").as_bytes(), 0o755)
    }

    fn sink(&self) -> LogSink {
        let records = Arc::clone(&self.records);
        LogSink::new(move |record| records.lock().expect("not poisoned").push(record))
    }

    fn heard(&self, origin: Origin, message: &str) -> bool {
        let records = self.records.lock().expect("not poisoned");
        records.iter().any(|record| record.origin == origin && record.message == message)
    }

    async fn launch(&self, executable: impl Into<PathBuf>) -> Result<Plugin, LaunchError> {
        Plugin::launch(LaunchSpec::new("peer", executable), self.sink()).await
    }

    async fn fails(&self, executable: impl Into<PathBuf>) -> LaunchError {
        self.launch(executable).await.expect_err("this is no provider")
    }
}

/// Waits for a condition, and panics with `what` on a timeout.
async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process has exited, reaped or not.
fn gone(process: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{process}/stat")) {
        Err(_) => true,
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
    }
}

/// The socket directory in the environment of a running provider.
fn socket_directory(process: u32) -> PathBuf {
    let environment = std::fs::read(format!("/proc/{process}/environ")).expect("the process is ours");
    let text = String::from_utf8_lossy(&environment).into_owned();
    let value = text.split('\0').find_map(|variable| variable.strip_prefix("PLUGIN_UNIX_SOCKET_DIR="));
    value.expect("every provider gets one").into()
}

fn assert_mentions(error: &LaunchError, expected: &[&str]) {
    let text = error.to_string();
    for part in expected {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

#[tokio::test]
async fn what_is_no_executable_is_refused_by_path_and_reason() {
    let workshop = Workshop::new();
    let cases = [
        (workshop.path("absent"), "does not exist"),
        (workshop.directory.path().to_owned(), "is a directory"),
        (workshop.file("plain", b"#!/bin/sh\n", 0o644), "is not executable"),
        (workshop.file("page", b"<!DOCTYPE html><p>Not found</p>", 0o755), "is a web page"),
        (workshop.file("noise", b"\x00\x01\x02", 0o755), r#"begins with "\u{0}\u{1}\u{2}""#),
        (workshop.file("orphan", b"#!/nowhere/interpreter\n", 0o755), "its interpreter does not"),
    ];
    for (path, reason) in cases {
        let error = workshop.fails(&path).await;
        assert_mentions(&error, &[&path.display().to_string(), reason]);
        assert!(error.exit().is_none(), "nothing was started: {error}");
    }
}

#[tokio::test]
async fn a_missing_working_directory_is_not_taken_for_a_missing_file() {
    let workshop = Workshop::new();
    let mut spec = LaunchSpec::new("peer", workshop.script("provider", "exit 0\n"));
    spec.working_directory = Some(workshop.path("absent"));
    let error = Plugin::launch(spec, workshop.sink()).await.expect_err("there is no such directory");
    assert!(matches!(error.problem(), LaunchProblem::WorkingDirectory { .. }), "{error}");
    assert!(error.source().is_some(), "the system's reason is kept");
}

#[tokio::test]
async fn a_file_that_is_still_being_written_is_tried_again_and_then_named_as_busy() {
    let workshop = Workshop::new();
    let path = workshop.path("provider");
    std::fs::copy("/bin/true", &path).expect("a program to copy");
    let writer = std::fs::OpenOptions::new().append(true).open(&path).expect("it is ours");
    let error = workshop.fails(&path).await;
    drop(writer);
    assert!(matches!(error.problem(), LaunchProblem::Busy(_)), "{error}");
    assert_mentions(&workshop.fails(&path).await, &["exit status 0"]);
}

#[tokio::test]
async fn programs_that_are_no_providers_are_reported_with_their_exit() {
    let workshop = Workshop::new();
    for program in ["/bin/true", "/bin/cat"] {
        let error = workshop.fails(program).await;
        assert!(matches!(error.problem(), LaunchProblem::EndedEarly), "{error}");
        assert_mentions(&error, &[program, "handshake line", "exit status 0"]);
    }
}

#[tokio::test]
async fn a_provider_that_fails_at_once_is_quoted() {
    let workshop = Workshop::new();
    let script = workshop.script("provider", "echo 'no licence found' >&2\nexit 3\n");
    let error = workshop.fails(script).await;
    assert!(matches!(error.problem(), LaunchProblem::EndedEarly), "{error}");
    assert_mentions(&error, &["exit status 3", "no licence found"]);
}

#[tokio::test]
async fn garbage_is_shown_with_the_end_and_the_last_lines() {
    let workshop = Workshop::new();
    let script = workshop.script("tool", "echo 'Usage: tool [options]'\necho 'bad option' >&2\nexit 64\n");
    let error = workshop.fails(&script).await;
    let path = script.display().to_string();
    assert_mentions(&error, &[&path, "Usage: tool [options]", "exit status 64", "bad option"]);
}

#[tokio::test]
async fn a_provider_of_another_protocol_is_told_both_sides_versions() {
    let workshop = Workshop::new();
    let script = workshop.script("provider", "echo '1|4|unix|/tmp/a|grpc|'\nsleep 1000\n");
    let error = workshop.fails(script).await;
    assert_mentions(&error, &["offers version 4", "speaks versions 5 and 6"]);
}

#[tokio::test]
async fn a_provider_that_does_not_take_up_tls_is_refused() {
    let workshop = Workshop::new();
    let script = workshop.script("provider", "echo '1|5|unix|/tmp/a|grpc|'\nsleep 1000\n");
    let error = workshop.fails(script).await;
    assert!(
        matches!(error.problem(), LaunchProblem::Handshake(HandshakeError::CertificateMissing)),
        "{error}"
    );
}

#[tokio::test]
async fn a_provider_that_says_nothing_is_killed_with_all_that_it_started() {
    let workshop = Workshop::new();
    let script = workshop
        .script("provider", "sleep 1000 & echo $! > \"$0.helper\"\necho half >&2\nprintf '1|6|unix'\nwait\n");
    let mut spec = LaunchSpec::new("peer", &script);
    spec.start_timeout = Duration::from_millis(500);
    let error = Plugin::launch(spec, workshop.sink()).await.expect_err("it says nothing");
    assert!(matches!(error.problem(), LaunchProblem::Silent { .. }), "{error}");
    assert_mentions(&error, &["within 0.5 s", "was killed then", "half", "1|6|unix"]);
    let helper = number(&companion(&script, "helper"));
    until("its helper is gone", || gone(helper)).await;
}

#[tokio::test]
async fn a_provider_that_closes_its_output_is_not_waited_for() {
    let workshop = Workshop::new();
    let script = workshop.script("provider", "exec >&-\nexec sleep 1000\n");
    let error = workshop.fails(script).await;
    assert!(matches!(error.problem(), LaunchProblem::OutputClosed), "{error}");
}

#[tokio::test]
async fn a_provider_that_exits_after_its_handshake_is_reported_with_its_exit() {
    let workshop = Workshop::new();
    let line = format!("1|6|unix|{}|grpc|", workshop.path("nobody.sock").display());
    let script = workshop.script("provider", &format!("echo '{line}'\necho 'cannot bind' >&2\nexit 5\n"));
    let mut spec = LaunchSpec::new("peer", script);
    spec.mutual_tls = false;
    let error = Plugin::launch(spec, workshop.sink()).await.expect_err("nobody listens");
    assert!(matches!(error.problem(), LaunchProblem::Connection(_)), "{error}");
    assert_mentions(&error, &["nobody.sock", "exit status 5", "cannot bind"]);
}

#[tokio::test]
async fn a_flood_of_output_neither_blocks_the_provider_nor_fills_the_memory() {
    let workshop = Workshop::new();
    // One endless line and many short ones; the pipe holds 64 KiB, so the handshake arrives only if
    // all is read.
    let script = workshop.script(
        "provider",
        "head -c 3000000 /dev/zero >&2\necho >&2\nyes flood | head -n 200000 >&2\necho last words >&2\n\
         echo '1|9|unix|/tmp/a|grpc|'\nexit 7\n",
    );
    let sizes = Arc::new(Mutex::new((0usize, 0usize)));
    let counted = Arc::clone(&sizes);
    let sink = LogSink::new(move |record| {
        let mut sizes = counted.lock().expect("not poisoned");
        *sizes = (sizes.0 + 1, sizes.1.max(record.message.len()));
    });
    let error = Plugin::launch(LaunchSpec::new("peer", script), sink).await.expect_err("version 9");
    assert_mentions(&error, &["offers version 9", "exit status 7", "last words"]);
    assert!(error.exit().is_some_and(|exit| exit.last_lines.len() <= 20), "{error}");
    let (count, longest) = *sizes.lock().expect("not poisoned");
    assert!(count > 200_000 && longest <= 64 * 1024, "{count} records, the longest of {longest} bytes");
}

#[tokio::test]
async fn a_provider_is_reached_by_mutual_tls_and_ends_when_asked_to() {
    let workshop = Workshop::new();
    let peer = Peer::start(&workshop, Manner::Honest);
    let plugin = workshop.launch(&peer.script).await.expect("an honest provider");
    assert_eq!(plugin.protocol(), ProtocolVersion::V6);
    assert_eq!(plugin.process_id(), Some(peer.process()));
    assert_eq!(plugin.health().await.expect("it answers"), Health::Serving);
    assert_eq!(plugin.exit(), None);
    until("its log is heard", || workshop.heard(Origin::Stderr, "starting")).await;
    until("its prints are heard", || workshop.heard(Origin::Printed, "printed by the provider")).await;
    let (process, directory) = (peer.process(), socket_directory(peer.process()));
    assert!(directory.is_dir());

    tokio::join!(plugin.shutdown(), plugin.shutdown());
    assert_eq!(plugin.exit().map(|exit| exit.ending), Some(Ending::Code(0)));
    let last_lines = plugin.exited().await.last_lines;
    for line in ["starting", "printed by the provider"] {
        assert!(last_lines.iter().any(|last| last == line), "{line:?} is not among {last_lines:?}");
    }
    assert_eq!(plugin.process_id(), None);
    assert!(gone(process) && !directory.exists());
    let asked = peer.asked_to_end();
    plugin.shutdown().await;
    assert_eq!(peer.asked_to_end(), asked, "a provider that has ended is not asked again");
    let helper = peer.helper();
    until("what it started is gone", || gone(helper)).await;
}

#[tokio::test]
async fn a_provider_without_tls_is_reached_when_that_was_chosen() {
    let workshop = Workshop::new();
    let peer = Peer::start(&workshop, Manner::Plain);
    let mut spec = LaunchSpec::new("peer", &peer.script);
    spec.mutual_tls = false;
    let plugin = Plugin::launch(spec, workshop.sink()).await.expect("an honest provider");
    assert_eq!(plugin.health().await.expect("it answers"), Health::Serving);
    let sent = std::fs::read(companion(&peer.script, "client")).expect("the script keeps what it got");
    assert!(sent.is_empty(), "no certificate is passed when TLS is off");
}

#[tokio::test]
async fn another_certificate_than_the_announced_one_is_refused() {
    let workshop = Workshop::new();
    let peer = Peer::start(&workshop, Manner::Impostor);
    let error = workshop.fails(&peer.script).await;
    assert!(matches!(error.problem(), LaunchProblem::Connection(_)), "{error}");
    let process = peer.process();
    assert!(gone(process), "the process is left running");
}

#[tokio::test]
async fn a_provider_that_does_not_end_when_asked_is_killed_with_all_that_it_started() {
    let workshop = Workshop::new();
    let peer = Peer::start(&workshop, Manner::Stubborn);
    let mut spec = LaunchSpec::new("peer", &peer.script);
    spec.mutual_tls = false;
    let plugin = Plugin::launch(spec, workshop.sink()).await.expect("it starts well");
    plugin.shutdown().await;
    assert_eq!(peer.asked_to_end(), 1);
    assert_eq!(plugin.exit().map(|exit| exit.ending), Some(Ending::Signal(9)));
    let helper = peer.helper();
    until("what it started is gone", || gone(helper)).await;
}

#[tokio::test]
async fn a_panic_is_noticed_and_its_trace_is_kept() {
    let workshop = Workshop::new();
    let peer = Peer::start(&workshop, Manner::Honest);
    let plugin = workshop.launch(&peer.script).await.expect("it starts well");
    peer.panic();
    let exit = plugin.exited().await;
    assert_eq!(exit.ending, Ending::Code(2));
    assert_eq!(exit.panic.as_deref(), Some("panic: boom\n\ngoroutine 1 [running]:\n"));
    assert_eq!(plugin.exit(), Some(exit));
}

#[tokio::test]
async fn dropping_a_plugin_kills_its_process_and_removes_its_directory() {
    let workshop = Workshop::new();
    let peer = Peer::start(&workshop, Manner::Honest);
    let plugin = workshop.launch(&peer.script).await.expect("it starts well");
    let (process, helper, directory) = (peer.process(), peer.helper(), socket_directory(peer.process()));
    drop(plugin);
    until("both processes are gone", || gone(process) && gone(helper)).await;
    until("the directory is gone", || !directory.exists()).await;
    let entry = format!("/proc/{process}");
    until("no zombie is left", || !Path::new(&entry).exists()).await;
}

#[tokio::test]
async fn a_cancelled_launch_leaves_nothing_behind() {
    let workshop = Workshop::new();
    let script =
        workshop.script("provider", "echo $$ > \"$0.new\"\nmv \"$0.new\" \"$0.pid\"\nexec sleep 1000\n");
    let started = companion(&script, "pid");
    tokio::select! {
        outcome = workshop.launch(&script) => panic!("it says nothing, and yet: {outcome:?}"),
        () = until("it has started", || started.exists()) => {}
    }
    let process = number(&started);
    until("it is gone", || gone(process)).await;
}

/// Runs twice: as the test, and, with a variable that names the script, as the daemon to be killed.
#[tokio::test]
async fn a_provider_dies_with_a_daemon_that_is_killed() {
    const ROLE: &str = "ISTHMUS_TEST_KILLED_DAEMON";
    if let Some(script) = std::env::var_os(ROLE) {
        let outcome =
            Plugin::launch(LaunchSpec::new("peer", PathBuf::from(script)), LogSink::discard()).await;
        panic!("the script says nothing, and yet: {outcome:?}");
    }
    let workshop = Workshop::new();
    let script =
        workshop.script("provider", "echo $$ > \"$0.new\"\nmv \"$0.new\" \"$0.pid\"\nexec sleep 1000\n");
    let mut daemon = Command::new(std::env::current_exe().expect("tests have an executable"))
        .args(["--exact", "plugin::tests::a_provider_dies_with_a_daemon_that_is_killed"])
        .env(ROLE, &script)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tests can start themselves");
    let started = companion(&script, "pid");
    until("the daemon has started its provider", || started.exists()).await;
    let provider = number(&started);
    assert!(!gone(provider));
    daemon.kill().expect("the daemon is ours");
    daemon.wait().expect("the daemon is ours");
    until("the provider is gone", || gone(provider)).await;
}

/// A provider that was started by another program: the server of a fake provider, and a process as
/// its owner.
fn reattachment(peer: &Peer, process: &std::process::Child, test: bool) -> ReattachConfig {
    ReattachConfig {
        protocol: ProtocolVersion::V5,
        process_id: Some(process.id()),
        test,
        address: Address::Unix(peer.socket.clone()),
    }
}

fn bystander() -> std::process::Child {
    Command::new("sleep").arg("1000").spawn().expect("every system has sleep")
}

#[tokio::test]
async fn a_provider_under_test_is_reattached_to_and_left_alone() {
    let workshop = Workshop::new();
    let peer = Peer::start(&workshop, Manner::Stubborn);
    let mut owner = bystander();
    let config = reattachment(&peer, &owner, true);
    let plugin = Plugin::reattach("peer", config, workshop.sink()).await.expect("it listens");
    assert_eq!((plugin.protocol(), plugin.process_id()), (ProtocolVersion::V5, Some(owner.id())));
    plugin.shutdown().await;
    assert_eq!(peer.asked_to_end(), 0);
    assert!(!gone(owner.id()), "its owner was killed");

    owner.kill().expect("it is ours");
    owner.wait().expect("it is ours");
    assert_eq!(plugin.exited().await.ending, Ending::Unknown);
    assert_eq!(plugin.process_id(), None);
}

#[tokio::test]
async fn a_reattached_provider_that_is_not_under_test_is_asked_to_end_and_then_killed() {
    let workshop = Workshop::new();
    let peer = Peer::start(&workshop, Manner::Stubborn);
    let mut owner = bystander();
    let config = reattachment(&peer, &owner, false);
    let plugin = Plugin::reattach("peer", config, workshop.sink()).await.expect("it listens");
    plugin.shutdown().await;
    assert_eq!(peer.asked_to_end(), 1);
    let status = owner.wait().expect("it is ours");
    assert_eq!(Ending::from(status), Ending::Signal(Signal::KILL.as_raw()));
}

#[tokio::test]
async fn an_unreachable_reattachment_is_reported_with_its_address() {
    let workshop = Workshop::new();
    let config = ReattachConfig {
        protocol: ProtocolVersion::V5,
        process_id: None,
        test: true,
        address: Address::Unix(workshop.path("nobody.sock")),
    };
    let error = Plugin::reattach("peer", config, workshop.sink()).await.expect_err("nobody listens");
    assert_mentions(&error, &["cannot reattach to the provider peer", "nobody.sock"]);
}
