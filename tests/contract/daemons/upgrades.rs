//! A daemon that is replaced by another one, or drained, while calls are in flight.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use crate::harness::processes::Signal;
use isthmus_proto::daemon::daemon_client::DaemonClient;
use isthmus_proto::daemon::{HandOverRequest, OpenRequest};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::harness::daemon::{Daemon, channel, socket_in};
use crate::harness::host::until;
use crate::harness::processes::{children, lives, signal};
use crate::harness::{Code, Host, Outcome, PATIENCE, Protocol, Session, Setup, json, on_one_protocol};
use crate::protocol::peers::{as_stranger, left_out};

const EXECUTABLE: &str = env!("CARGO_BIN_EXE_isthmus");

/// A host whose provider, which is a file of its own, makes changes once the gate is open.
async fn gated(setup: Setup) -> (Host, PathBuf) {
    let directory = Arc::new(tempfile::tempdir().expect("a directory"));
    let gate = directory.path().join("gate");
    let setup = setup.with_value("SANDBOX_GATE", gate.as_os_str()).within(&directory);
    (setup.with_daemon().start().await.with_own_provider(), gate)
}

fn open(gate: &Path) {
    std::fs::write(gate, "").expect("a new file");
}

/// The daemon of the directory is replaced, by the process that is returned.
async fn replace(directory: &Path) -> Daemon {
    Daemon::replacing(directory, &[]).await
}

/// A `--replace` that fails, and what it says.
async fn refused(socket: &Path) -> String {
    let mut command = Command::new(EXECUTABLE);
    command.arg("daemon").arg("--replace").arg("--socket").arg(socket).env_clear().env("HOME", "/nowhere");
    let output = command.stdin(Stdio::null()).output().await.expect("a process");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Notes that sessions make at the same time, by their titles.
fn make(
    sessions: &[Session],
    titles: impl Iterator<Item = String>,
) -> JoinSet<(String, Result<String, String>)> {
    let mut calls = JoinSet::new();
    for (number, title) in titles.enumerate() {
        let note = sessions[number % sessions.len()].resource("sandbox:index/note:Note", &title);
        calls.spawn(async move {
            let made = note.create(&json!({"title": &title})).await;
            (title, made.map(|made| made.id).map_err(|status| status.to_string()))
        });
    }
    calls
}

/// The titles of the objects that there are, in order.
fn titles(host: &Host) -> Vec<String> {
    let objects = host.objects();
    let mut titles: Vec<_> =
        objects.iter().map(|object| object["title"].as_str().expect("a title").to_owned()).collect();
    titles.sort();
    titles
}

on_one_protocol! {
    async fn a_daemon_that_gets_a_signal_lets_a_long_create_end_first(protocol) {
        let (mut host, gate) = gated(Setup::sandbox(protocol).with("ISTHMUS_STOP_GRACE_PERIOD", "0.2")).await;
        let session = host.session().await?;
        let mut calls = make(std::slice::from_ref(&session), ["long".to_owned()].into_iter());
        host.provider_is_in("ApplyResourceChange", 1).await;
        let provider = host.provider_process();
        host.daemon().signal(Signal::TERM);
        refuses_sessions(&host).await;
        assert!(lives(host.daemon().process()));
        open(&gate);
        let (_, made) = calls.join_next().await.expect("one call").expect("a caller does not panic");
        made.unwrap_or_else(|status| panic!("{status}"));
        host.daemon_mut().ended().await;
        assert_eq!(titles(&host), ["long"]);
        assert!(!lives(provider), "its provider has ended with it");
        assert!(!socket_in(host.directory()).exists());
    }

    async fn a_create_that_is_longer_than_the_drain_period_is_stopped(protocol) {
        let (mut host, _gate) = gated(Setup::sandbox(protocol).with("ISTHMUS_DRAIN_PERIOD", "0.2")).await;
        let session = host.session().await?;
        let mut calls = make(std::slice::from_ref(&session), ["long".to_owned()].into_iter());
        host.provider_is_in("ApplyResourceChange", 1).await;
        host.daemon().signal(Signal::TERM);
        let (_, made) = calls.join_next().await.expect("one call").expect("a caller does not panic");
        let status = made.expect_err("it was stopped");
        assert!(status.contains("waited for its gate until it was stopped"), "{status}");
        host.daemon_mut().ended().await;
    }

    async fn a_hundred_calls_in_flight_end_at_the_daemon_that_is_replaced_and_new_runs_are_served_by_the_other(protocol) {
        const PLUGINS: usize = 5;
        const CALLS: usize = 100;
        let (mut host, gate) = gated(Setup::sandbox(protocol)).await;
        let setup = Setup::sandbox(protocol).with_value("SANDBOX_GATE", gate.as_os_str());
        let mut plugins = Vec::new();
        let mut sessions = Vec::new();
        for _ in 0..PLUGINS {
            let plugin = setup.clone().with_daemon().beside(&host).start().await;
            sessions.push(plugin.session().await?);
            plugins.push(plugin);
        }
        let mut wanted: Vec<_> = (0..CALLS).map(|number| format!("note {number:03}")).collect();
        let mut calls = make(&sessions, wanted.iter().cloned());
        host.provider_is_in("ApplyResourceChange", CALLS).await;
        let provider = host.provider_process();

        let second = replace(host.directory()).await;
        host.daemon().said("replaced by process").await;
        assert!(second.stderr().contains(&format!("in place of process {}", host.daemon().process())));
        assert_eq!(host.objects().len(), 0, "all calls are in flight still");

        // A new run, and another call of an old one.
        let session = host.session().await?;
        let mut of_new = make(std::slice::from_ref(&session), ["of a new run".to_owned()].into_iter());
        let mut of_old = make(&sessions[..1], ["of an old run".to_owned()].into_iter());
        host.provider_is_in("ApplyResourceChange", CALLS + 2).await;
        assert_eq!(host.provider_processes().len(), 2);
        assert_eq!(children(host.daemon().process()).len(), 1);
        assert_eq!(children(second.process()).len(), 1, "the new run has a provider of the new daemon");

        open(&gate);
        let mut ids = Vec::new();
        for calls in [&mut calls, &mut of_new, &mut of_old] {
            while let Some(ended) = calls.join_next().await {
                let (title, made) = ended.expect("a caller does not panic");
                ids.push(made.unwrap_or_else(|status| panic!("{title}: {status}")));
            }
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), CALLS + 2);
        wanted.extend(["of a new run".to_owned(), "of an old run".to_owned()]);
        wanted.sort();
        assert_eq!(titles(&host), wanted, "each was made once");
        let applied = host.count("ApplyResourceChange");
        assert_eq!(applied, CALLS + 2);

        // The first daemon serves its sessions, and ends with the last of them, and its provider.
        assert!(lives(provider));
        assert!(lives(host.daemon().process()));
        drop(sessions);
        drop(plugins);
        host.daemon_mut().ended().await;
        assert!(!lives(provider));
        session.note().make(&json!({"title": "last"})).await?;
        assert!(socket_in(host.directory()).exists());
        drop(second.channel().await);
    }

    async fn what_a_session_remembers_is_there_after_its_daemon_was_replaced(protocol) {
        let host = Setup::sandbox(protocol).with_daemon().start().await;
        let session = host.session().await?;
        let note = session.note();
        let made = note.make(&json!({"title": "one"})).await?;
        let inputs = note.checked(&json!({"title": "two"})).await?;
        note.preview_update(&made, &inputs).await?;
        let _second = replace(host.directory()).await;
        let updated = note.update(&made, &inputs).await?;
        note.delete(&updated).await?;
        assert_eq!(host.provider_processes().len(), 1);
        assert!(host.engine.lines().iter().all(|line| !line.message.contains("daemon")), "{:?}", host.engine.lines());
    }

    async fn runs_that_begin_while_a_daemon_is_replaced_again_and_again_are_all_served(protocol) {
        let mut host = Setup::sandbox(protocol).with_daemon().start().await;
        let mut daemons = Vec::new();
        let runs = async {
            for number in 0..20 {
                let session = host.session().await?;
                let made = session.note().make(&json!({"title": format!("note {number}")})).await?;
                session.note().delete(&made).await?;
            }
            Ok::<_, tonic::Status>(())
        };
        let replaced = async {
            for _ in 0..5 {
                daemons.push(replace(host.directory()).await);
            }
        };
        let (ran, ()) = tokio::join!(runs, replaced);
        ran?;
        assert!(host.children().is_empty(), "no run has fallen back to its plugin");
        assert!(host.engine.lines().iter().all(|line| !line.message.contains("daemon")), "{:?}", host.engine.lines());
        // All but the last one end: their runs have ended.
        let last = daemons.pop().expect("the last one");
        for daemon in &mut daemons {
            daemon.ended().await;
        }
        host.daemon_mut().ended().await;
        drop(last.channel().await);
    }

    async fn a_replaced_daemon_that_is_killed_takes_only_its_calls_in_flight_with_it(protocol) {
        let (mut host, gate) = gated(Setup::sandbox(protocol)).await;
        let session = host.session().await?;
        let mut calls = make(std::slice::from_ref(&session), ["lost".to_owned()].into_iter());
        host.provider_is_in("ApplyResourceChange", 1).await;
        let second = replace(host.directory()).await;
        host.daemon_mut().kill().await;
        let (_, lost) = calls.join_next().await.expect("one call").expect("a caller does not panic");
        assert!(lost.expect_err("its daemon is gone").contains("isthmus recover"));
        open(&gate);
        // The run goes on at the new daemon.
        session.note().make(&json!({"title": "one"})).await?;
        assert_eq!(children(second.process()).len(), 1);
        assert!(host.children().is_empty());
    }

    async fn a_replaced_daemon_that_is_told_to_end_does_so_and_its_runs_go_on_at_the_other(protocol) {
        let mut host = Setup::sandbox(protocol).with_daemon().start().await;
        let session = host.session().await?;
        session.note().make(&json!({"title": "one"})).await?;
        let second = replace(host.directory()).await;
        host.daemon().signal(Signal::TERM);
        host.daemon_mut().ended().await;
        session.note().make(&json!({"title": "two"})).await?;
        assert_eq!(children(second.process()).len(), 1);
        assert_eq!(titles(&host), ["one", "two"]);
    }
}

#[tokio::test]
async fn without_a_daemon_it_starts_as_usual_and_several_at_once_are_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = replace(directory.path()).await;
    assert!(!first.stderr().contains("in place of"), "{}", first.stderr());
    let (second, third, fourth) =
        tokio::join!(replace(directory.path()), replace(directory.path()), replace(directory.path()));
    // One of them remains; without sessions, the others end at once.
    let mut daemons = vec![first, second, third, fourth];
    let remaining = || {
        let running: Vec<_> = daemons.iter().filter(|daemon| lives(daemon.process())).collect();
        (running.len() == 1).then(|| running[0].process())
    };
    let remaining = until("all but one to end", remaining).await;
    let socket = socket_in(directory.path());
    assert!(socket.exists());
    UnixStream::connect(&socket).expect("it is listened on");
    let entries = std::fs::read_dir(socket.parent().expect("a directory")).expect("it is there");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["daemon.sock", "daemon.sock.lock"]);
    // It owns the socket: there is no second daemon, and it leaves none behind.
    signal(remaining, Signal::TERM);
    for daemon in &mut daemons {
        daemon.ended().await;
    }
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_killed_daemon_that_had_replaced_another_one_leaves_a_socket_that_is_removed() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut first = replace(directory.path()).await;
    let mut second = replace(directory.path()).await;
    first.ended().await;
    second.kill().await;
    assert!(socket_in(directory.path()).exists());
    let third = replace(directory.path()).await;
    drop(third.channel().await);
}

#[tokio::test]
async fn the_socket_of_another_program_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("daemon.sock");
    let other = tokio::net::UnixListener::bind(&socket).expect("a new socket");
    let answering = tokio::spawn(async move {
        loop {
            let (mut stream, _) = other.accept().await.expect("a connection");
            // Whoever only looks whether it listens has gone.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let said = refused(&socket).await;
    assert!(said.contains("does not hand its socket over"), "{said}");
    UnixStream::connect(&socket).expect("it listens still");
    // Not even if a killed daemon had a socket of that inode.
    let found = std::fs::metadata(&socket).expect("it is there");
    let name = format!("socket of isthmus: device {}, inode {}\n", found.dev(), found.ino());
    let lock = directory.path().join("daemon.sock.lock");
    std::fs::write(&lock, name).expect("it is the test's own");
    let mut command = Command::new(EXECUTABLE);
    command
        .arg("daemon")
        .arg("--socket")
        .arg(&socket)
        .env_clear()
        .env("HOME", "/nowhere")
        .stdin(Stdio::null());
    let output = command.output().await.expect("a process");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is not a daemon's socket, so isthmus leaves it alone"), "{said}");
    UnixStream::connect(&socket).expect("it listens still");
    std::fs::remove_file(&lock).expect("it is there");
    answering.abort();
    answering.await.expect_err("it is aborted");
    // Nor is what it leaves taken for a daemon's.
    let said = refused(&socket).await;
    assert!(said.contains("is not a daemon's socket, so isthmus leaves it alone"), "{said}");
    assert!(socket.exists());
    std::fs::remove_file(&socket).expect("it is there");
    std::fs::write(&socket, "of another program").expect("a new file");
    let said = refused(&socket).await;
    assert!(said.contains("is not a daemon's socket, so isthmus leaves it alone"), "{said}");
    assert_eq!(std::fs::read_to_string(&socket).expect("it is there"), "of another program");
}

#[tokio::test]
async fn the_daemon_of_another_user_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("daemon.sock");
    let other = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let other = Arc::new(other.expect("a new socket"));
    rustix::net::bind(&*other, &SocketAddrUnix::new(&socket).expect("a short path")).expect("a new path");
    let listening = Arc::clone(&other);
    // Whoever listens is at the other end.
    if as_stranger(move || async move { rustix::net::listen(&*listening, 8) }).await.is_none() {
        return left_out("the daemon of another user");
    }
    let said = refused(&socket).await;
    assert!(said.contains("belongs to the user with uid 65534"), "{said}");
    UnixStream::connect(&socket).expect("it listens still");
}

#[tokio::test]
async fn a_successor_that_does_not_come_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = replace(directory.path()).await;
    let mut client = DaemonClient::new(daemon.channel().await);
    let status = client
        .hand_over(HandOverRequest { socket: "/nowhere".into() })
        .await
        .expect_err("none listens there");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    drop(daemon.channel().await);
}

#[tokio::test]
async fn a_daemon_that_dies_while_it_is_replaced_leaves_its_socket_to_its_successor() {
    for point in ["handover-asked", "handover-met", "handover-sent", "handover-taken"] {
        let directory = tempfile::tempdir().expect("a directory");
        let dies = [("FAIL_POINT".to_owned(), point.into())];
        let mut old =
            Daemon::start(EXECUTABLE.as_ref(), directory.path(), &dies).await.expect("none listens there");
        let new = replace(directory.path()).await;
        old.ended().await;
        // It serves, and is its socket's owner.
        let mut client = DaemonClient::new(new.channel().await);
        let request = OpenRequest { plugin_version: "1.4.0".to_owned(), ..OpenRequest::default() };
        client.open(request).await.unwrap_or_else(|status| panic!("{point}: {status}"));
        drop(client);
        let mut newer = replace(directory.path()).await;
        newer.signal(Signal::TERM);
        newer.ended().await;
        assert!(!socket_in(directory.path()).exists(), "{point}");
    }
}

#[tokio::test]
async fn a_successor_that_dies_before_it_has_taken_over_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut daemon = replace(directory.path()).await;
    let meeting = directory.path().join("meeting");
    let listener = tokio::net::UnixListener::bind(&meeting).expect("a new socket");
    let mut client = DaemonClient::new(daemon.channel().await);
    let path = std::os::unix::ffi::OsStrExt::as_bytes(meeting.as_os_str()).to_vec();
    let died = async {
        // It goes without a word, with what it was given.
        let (mut stream, _) = listener.accept().await.expect("the daemon connects");
        stream.read_u8().await.expect("the daemon sends");
    };
    let (answer, ()) = tokio::join!(client.hand_over(HandOverRequest { socket: path.into() }), died);
    let status = answer.expect_err("none has taken over");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("did not take over"), "{status}");
    // It listens, and is its socket's owner still.
    drop(daemon.channel().await);
    daemon.signal(Signal::TERM);
    daemon.ended().await;
    assert!(!socket_in(directory.path()).exists());
}

/// Waits until a daemon opens no session any more.
async fn refuses_sessions(host: &Host) {
    let refused = async {
        let request = OpenRequest { plugin_version: "1.4.0".to_owned(), ..OpenRequest::default() };
        while DaemonClient::new(channel(socket_in(host.directory())).await)
            .open(request.clone())
            .await
            .is_ok()
        {}
    };
    tokio::time::timeout(PATIENCE, refused).await.expect("it ends");
}

/// What a daemon says first when it ends: the drain period, and three times the grace period.
const STOPPING: &str = "STOPPING=1\nEXTEND_TIMEOUT_USEC=690000000\n";

/// A service manager: the socket that it has opened, and where it is told of a service's state.
struct ServiceManager {
    directory: tempfile::TempDir,
    listener: UnixListener,
    notified: UnixDatagram,
}

impl ServiceManager {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = socket_in(directory.path());
        std::fs::create_dir(socket.parent().expect("a directory")).expect("a new directory");
        let listener = UnixListener::bind(&socket).expect("a new socket");
        let notified = UnixDatagram::bind(directory.path().join("notify")).expect("a new socket");
        notified.set_read_timeout(Some(PATIENCE)).expect("it is ours");
        Self { directory, listener, notified }
    }

    fn variables(&self) -> Vec<(String, std::ffi::OsString)> {
        vec![("NOTIFY_SOCKET".to_owned(), self.directory.path().join("notify").into())]
    }

    async fn start(&self) -> Daemon {
        let listener = self.listener.try_clone().expect("a descriptor");
        Daemon::activated(listener.into(), self.directory.path(), &self.variables()).await
    }

    /// What a service has said next.
    fn notification(&self) -> String {
        let mut buffer = [0; 256];
        let length = self.notified.recv(&mut buffer).expect("a notification");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }
}

#[tokio::test]
async fn a_service_manager_passes_the_socket_and_a_restart_leaves_connections_in_its_queue() {
    let manager = ServiceManager::new();
    let mut first = manager.start().await;
    assert_eq!(manager.notification(), "READY=1\n");
    let socket = socket_in(manager.directory.path());
    drop(channel(socket.clone()).await);
    first.signal(Signal::TERM);
    assert_eq!(manager.notification(), STOPPING);
    first.ended().await;
    // The socket is the manager's, and is not removed.
    let waiting = UnixStream::connect(&socket).expect("it is listened on");
    let second = manager.start().await;
    assert_eq!(manager.notification(), "READY=1\n");
    drop(waiting);
    drop(second.channel().await);
}

#[tokio::test]
async fn a_daemon_with_the_socket_of_a_service_manager_is_replaced_as_others_are() {
    let manager = ServiceManager::new();
    let mut first = manager.start().await;
    assert_eq!(manager.notification(), "READY=1\n");
    let second = Daemon::replacing(manager.directory.path(), &manager.variables()).await;
    assert_eq!(manager.notification(), format!("MAINPID={}\nREADY=1\n", second.process()));
    first.ended().await;
    drop(second.channel().await);
    second.signal(Signal::TERM);
    // The first one, which has no say any more, has not said that the service ends.
    assert_eq!(manager.notification(), STOPPING);
}

#[tokio::test]
async fn nothing_of_the_service_manager_reaches_providers() -> Outcome {
    let manager = ServiceManager::new();
    let _daemon = manager.start().await;
    let host = Setup::sandbox(Protocol::V6)
        .with_value("ISTHMUS_DAEMON", socket_in(manager.directory.path()).as_os_str())
        .start()
        .await;
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    assert!(host.children().is_empty(), "the provider is the daemon's");
    let environment = std::fs::read(format!("/proc/{}/environ", host.provider_process())).expect("it runs");
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.contains("SANDBOX_DIR="), "{environment}");
    assert!(!environment.contains("NOTIFY_SOCKET") && !environment.contains("LISTEN_"), "{environment}");
    Ok(())
}

#[tokio::test]
async fn what_a_service_manager_passes_besides_one_listening_socket_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = async |stdin: OwnedFd, arguments: &str| {
        let mut command = Command::new("sh");
        let script =
            format!("exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" daemon {arguments}");
        command.arg("-c").arg(script).arg(EXECUTABLE).env_clear().env("HOME", directory.path());
        let output = command.stdin(stdin).output().await.expect("a process");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let file = std::fs::File::create(directory.path().join("file")).expect("a new file");
    let said = run(file.into(), "").await;
    assert!(said.contains("the socket of the service manager is refused"), "{said}");
    let (connected, _other) = UnixStream::pair().expect("two sockets");
    let said = run(connected.into(), "").await;
    assert!(said.contains("it accepts no connections"), "{said}");
    let listener = UnixListener::bind(directory.path().join("socket")).expect("a new socket");
    let said = run(listener.into(), "--replace").await;
    assert!(said.contains("leave them out of the unit"), "{said}");
}
