//! `isthmus ps`, `top` and `logs`: what operators see of a shared daemon.

use std::path::Path;
use std::process::{Output, Stdio};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::harness::daemon::socket_in;
use crate::harness::{Host, Outcome, PATIENCE, Protocol, Setup, json, on_one_protocol};

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isthmus"));
    command.args(arguments).arg("--socket").arg(socket_in(directory));
    command.env_clear().env(isthmus_platform::HOME, directory).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// What a command has printed.
async fn printed(host: &Host, arguments: &[&str]) -> String {
    let output: Output = command(host.directory(), arguments).output().await.expect("a process");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

on_one_protocol! {
    async fn sessions_and_processes_are_listed_with_what_they_do(protocol) {
        let host = Setup::sandbox(protocol).with_daemon().start().await.with_own_provider();
        let empty = printed(&host, &["ps"]).await;
        assert!(empty.contains("0 sessions, 0 provider processes, 0 calls in flight"), "{empty}");
        let session = host.session().await?;
        let (faulty, inputs) = (session.faulty(), json!({"mode": "hang"}));
        let listed = async {
            host.provider_is_in("ApplyResourceChange", 1).await;
            let listed = printed(&host, &["ps"]).await;
            session.cancel().await?;
            Ok::<_, crate::harness::Status>(listed)
        };
        let (created, listed) = tokio::join!(faulty.create(&inputs), listed);
        created.expect_err("it was cancelled");
        let listed = listed?;
        assert!(listed.contains("1 session, 1 provider process, 1 call in flight"), "{listed}");
        let mut rows = listed.lines().filter(|line| line.ends_with("  local/sandbox"));
        let mut cells = || -> Vec<&str> {
            let row = rows.next().unwrap_or_else(|| panic!("a process and a session: {listed}"));
            row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
        };
        let (process, session) = (cells(), cells());
        assert_eq!(process[0], host.provider_process().to_string(), "{listed}");
        assert!(process[2].ends_with("MB"), "{listed}");
        assert_eq!(process[4..], ["1", "1", "-", "local/sandbox"], "{listed}");
        assert_eq!(session[4..], ["1", "-", "local/sandbox"], "{listed}");
    }

    async fn the_log_has_failures_and_warnings_of_ones_own_without_secrets(protocol) {
        let host = Setup::sandbox(protocol).with("SANDBOX_ODD", "usable").with_daemon().start().await;
        let session = host.parameterized().await?;
        session.configure(&json!({"token": "secret-of-configuration"})).await?;
        let leak = session.resource("sandbox:index/leak:Leak", "leak");
        let inputs = |how: &str| json!({
            "how": how,
            "during": "create",
            "secret": "secret-of-property",
            "open": "shown secret-of-property secret-of-configuration",
        });
        leak.create(&inputs("warning")).await?;
        leak.create(&inputs("error")).await.expect_err("it fails as it is told");
        let lines = printed(&host, &["logs", "--no-follow"]).await;
        assert!(lines.contains(" warning session "), "{lines}");
        assert!(lines.contains(" error   session ") && lines.contains(": Create failed: "), "{lines}");
        assert!(lines.contains("is not what it takes"), "{lines}");
        assert!(!lines.contains("secret-of-"), "{lines}");
    }
}

#[tokio::test]
async fn further_lines_follow_until_the_daemon_ends() -> Outcome {
    let mut host = Setup::sandbox(Protocol::V6).with_daemon().start().await;
    let mut following = command(host.directory(), &["logs"]);
    let mut following = following.stdout(Stdio::piped()).spawn().expect("a process");
    let session = host.session().await?;
    session.faulty().create(&json!({"mode": "error"})).await.expect_err("it fails as it is told");
    let mut stdout = following.stdout.take().expect("a pipe");
    let mut text = Vec::new();
    let told = async {
        while !String::from_utf8_lossy(&text).contains("Create failed: ") {
            assert_ne!(stdout.read_buf(&mut text).await.expect("it can be read"), 0, "it ended");
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("the line comes");
    drop(session);
    host.daemon().signal(crate::harness::processes::Signal::TERM);
    host.daemon_mut().ended().await;
    let status = tokio::time::timeout(PATIENCE, following.wait()).await.expect("it ends").expect("a child");
    assert!(status.success(), "{status}");
    Ok(())
}

#[tokio::test]
async fn what_nothing_reads_any_more_is_not_followed() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).with_daemon().start().await;
    let mut following = command(host.directory(), &["logs"]);
    let mut following = following.stdout(Stdio::piped()).spawn().expect("a process");
    let session = host.session().await?;
    drop(following.stdout.take());
    let failing = async {
        loop {
            session.faulty().create(&json!({"mode": "error"})).await.expect_err("it fails as it is told");
        }
    };
    tokio::select! {
        ended = tokio::time::timeout(PATIENCE, following.wait()) => {
            let status = ended.expect("it ends").expect("a child");
            assert!(status.success(), "{status}");
        }
        () = failing => {}
    }
    Ok(())
}

#[tokio::test]
async fn top_prints_once_where_there_is_no_terminal() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).with_daemon().start().await;
    let _session = host.session().await?;
    let printed = printed(&host, &["top"]).await;
    assert!(printed.contains("local/sandbox") && !printed.contains('\u{1b}'), "{printed}");
    Ok(())
}

#[tokio::test]
async fn top_shows_rates_and_leaves_the_terminal_as_it_was() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).with_daemon().start().await;
    let session = host.session().await?;
    session.note().make(&json!({"title": "one"})).await?;
    let top = format!(
        "stty -g; '{}' top --socket '{}'; echo; stty -g",
        env!("CARGO_BIN_EXE_isthmus"),
        socket_in(host.directory()).display()
    );
    // A terminal of its own.
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &top, "/dev/null"]).env("TERM", "xterm");
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut terminal = terminal.spawn().expect("util-linux has it");
    let (mut keys, mut shown) =
        (terminal.stdin.take().expect("a pipe"), terminal.stdout.take().expect("a pipe"));
    let mut text = Vec::new();
    let watched = async {
        while !String::from_utf8_lossy(&text).contains("calls/s") {
            assert_ne!(shown.read_buf(&mut text).await.expect("it can be read"), 0, "it ended");
        }
        keys.write_all(b"q").await.expect("it reads keys");
        shown.read_to_end(&mut text).await.expect("it can be read")
    };
    tokio::time::timeout(PATIENCE, watched).await.expect("it shows rates, and ends with a key");
    drop(keys);
    let text = String::from_utf8(text).expect("text");
    let (before, rest) = text.split_once("\u{1b}[?1049h\u{1b}[?25l").expect("it takes another screen");
    let (screen, after) = rest.split_once("\u{1b}[?25h\u{1b}[?1049l").expect("it gives it back");
    assert!(screen.contains("local/sandbox") && screen.contains("CALLS/S"), "{screen}");
    assert_eq!(before.trim(), after.trim(), "the terminal has the modes of before");
    Ok(())
}

#[tokio::test]
async fn without_a_daemon_it_is_said_how_to_start_one() {
    let directory = tempfile::tempdir().expect("a directory");
    for arguments in [["ps"], ["top"], ["logs"]] {
        let output = command(directory.path(), &arguments).output().await.expect("a process");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("no daemon listens on") && said.contains("help: start a daemon with"),
            "{said}"
        );
        let mut elsewhere = Command::new(env!("CARGO_BIN_EXE_isthmus"));
        elsewhere
            .args(arguments)
            .env_clear()
            .env(isthmus_platform::HOME, directory.path())
            .stdin(Stdio::null());
        elsewhere.env("ISTHMUS_DAEMON", "https://daemon.example:7443");
        let said = elsewhere.output().await.expect("a process").stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("ISTHMUS_DAEMON names a daemon by its address"), "{said}");
    }
}
