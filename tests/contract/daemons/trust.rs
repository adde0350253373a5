//! Whom a plugin gives its environment, and whom a daemon serves.

use std::path::PathBuf;

use isthmus_proto::daemon::OpenRequest;
use isthmus_proto::daemon::daemon_client::DaemonClient;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{
    ConfigureRequest, CreateRequest, DeleteRequest, ParameterizeRequest, ProviderHandshakeRequest,
};

use crate::harness::daemon::{Daemon, channel, socket_in};
use crate::harness::host::mode;
use crate::harness::{Code, Outcome, Protocol, Setup, json};
use crate::protocol::peers::Answers;
#[cfg(unix)]
use crate::protocol::peers::{STRANGER, as_stranger, assert_refused, left_out};

#[tokio::test]
async fn a_socket_in_a_directory_that_others_may_write_to_is_not_used() -> Outcome {
    let host = Setup::sandbox(Protocol::V6).with_daemon().start().await;
    let directory = socket_in(host.directory()).parent().expect("a directory").to_owned();
    isthmus_platform::files::set_mode(&directory, 0o777).expect("it is ours");
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    let lines = host.engine.lines();
    assert!(lines.iter().any(|line| line.message.contains("lets other users write to it")), "{lines:?}");
    assert_eq!(host.children().len(), 1, "the plugin has its own provider");
    Ok(())
}

#[tokio::test]
async fn a_socket_is_its_users_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let executable = env!("CARGO_BIN_EXE_isthmus").as_ref();
    let _daemon = Daemon::start(executable, directory.path(), &[]).await.expect("none listens there");
    let socket = socket_in(directory.path());
    assert_eq!(mode(&socket), 0o600);
    // On Windows, a new directory has what the one above it gives.
    #[cfg(unix)]
    assert_eq!(mode(socket.parent().expect("a directory")), 0o700);
}

#[cfg(unix)]
#[tokio::test]
async fn a_daemon_shows_no_secret_among_its_settings_to_processes_of_its_user() -> Outcome {
    const PASSPHRASE: &str = "correct horse battery staple";
    let variables = [("ISTHMUS_PASSPHRASE".to_owned(), PASSPHRASE.into())];
    let executable = env!("CARGO_BIN_EXE_isthmus").as_ref();
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(executable, directory.path(), &variables).await.expect("none listens there");
    let environment = std::fs::read(format!("/proc/{}/environ", daemon.process())).expect("it runs");
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.contains("ISTHMUS_HOME") && !environment.contains(PASSPHRASE), "{environment}");
    // It has the passphrase all the same: without one, it makes a key.
    let socket = socket_in(directory.path());
    let host = Setup::sandbox(Protocol::V6).with_value("ISTHMUS_DAEMON", socket.as_os_str()).start().await;
    host.session().await?.note().make(&json!({"title": "one"})).await?;
    assert!(host.children().is_empty(), "the daemon has served the run");
    let home = directory.path().join("isthmus");
    assert!(home.join("journal").exists() && !home.join("state.key").exists(), "{home:?}");

    // Of another user, since nothing is hidden from root: neither does the user itself read it.
    let directory = tempfile::tempdir().expect("a directory");
    if std::os::unix::fs::chown(directory.path(), Some(STRANGER), Some(STRANGER)).is_err() {
        left_out("the daemon of another user");
        return Ok(());
    }
    let starter = format!("setpriv --reuid={STRANGER} --regid={STRANGER} --clear-groups");
    let starter: Vec<String> = starter.split(' ').map(str::to_owned).collect();
    let daemon = Daemon::start_by(&starter, executable, directory.path(), &variables).await;
    let process = daemon.as_ref().expect("none listens there").process();
    let read = as_stranger(move || async move {
        let of = |name: &str| std::fs::read(format!("/proc/{process}/{name}")).map_err(|error| error.kind());
        (of("status").is_ok(), of("environ"))
    });
    let (is_there, environment) = read.await.expect("root may become another");
    assert!(is_there);
    assert_eq!(environment, Err(std::io::ErrorKind::PermissionDenied));
    Ok(())
}

/// Calls of a plugin, and of the engine whose calls it would pass on.
async fn calls(socket: PathBuf) -> Answers {
    let channel = channel(socket).await;
    let mut engine = ResourceProviderClient::new(channel.clone());
    let open = OpenRequest { plugin_version: "1.4.0".to_owned(), ..OpenRequest::default() };
    vec![
        ("Open", DaemonClient::new(channel).open(open).await.map(drop)),
        ("Handshake", engine.handshake(ProviderHandshakeRequest::default()).await.map(drop)),
        ("Parameterize", engine.parameterize(ParameterizeRequest::default()).await.map(drop)),
        ("Configure", engine.configure(ConfigureRequest::default()).await.map(drop)),
        ("Create", engine.create(CreateRequest::default()).await.map(drop)),
        ("Delete", engine.delete(DeleteRequest::default()).await.map(drop)),
        ("Cancel", engine.cancel(()).await.map(drop)),
    ]
}

#[cfg(unix)]
#[tokio::test]
async fn another_user_is_refused_even_where_the_socket_can_be_reached() {
    let directory = tempfile::tempdir().expect("a directory");
    let executable = env!("CARGO_BIN_EXE_isthmus").as_ref();
    let daemon = Daemon::start(executable, directory.path(), &[]).await.expect("none listens there");
    let socket = socket_in(directory.path());
    for path in [directory.path(), socket.parent().expect("a directory"), &socket] {
        isthmus_platform::files::set_mode(path, 0o777).expect("it is ours");
    }
    match as_stranger(move || calls(socket)).await {
        Some(answers) => assert_refused(&answers),
        None => left_out("the calls of another user"),
    }
    drop(daemon.channel().await);
}

#[tokio::test]
async fn a_connection_without_a_session_is_refused_for_each_call() {
    let directory = tempfile::tempdir().expect("a directory");
    let executable = env!("CARGO_BIN_EXE_isthmus").as_ref();
    let daemon = Daemon::start(executable, directory.path(), &[]).await.expect("none listens there");
    let channel = daemon.channel().await;
    let mut engine = ResourceProviderClient::new(channel.clone());
    let status = engine.get_plugin_info(()).await.expect_err("there is no session");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    let status = engine.create(CreateRequest::default()).await.expect_err("there is none");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    let mut plugin = DaemonClient::new(channel);
    let request = OpenRequest { plugin_version: "1.4.0".to_owned(), ..OpenRequest::default() };
    plugin.open(request.clone()).await.expect("the first one opens a session");
    let status = plugin.open(request).await.expect_err("there is one");
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    engine.get_plugin_info(()).await.expect("it has a session");
}

#[tokio::test]
async fn a_plugin_with_settings_that_the_daemon_refuses_opens_no_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let executable = env!("CARGO_BIN_EXE_isthmus").as_ref();
    let daemon = Daemon::start(executable, directory.path(), &[]).await.expect("none listens there");
    let variable =
        isthmus_proto::daemon::Variable { name: "ISTHMUS_OFFLINE".into(), value: "perhaps".into() };
    let request = OpenRequest {
        plugin_version: "1.4.0".to_owned(),
        environment: vec![variable],
        ..OpenRequest::default()
    };
    let status = DaemonClient::new(daemon.channel().await).open(request).await.expect_err("it is no boolean");
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    assert!(status.message().contains("ISTHMUS_OFFLINE"), "{status}");
}

#[tokio::test]
async fn the_daemons_own_settings_stay_with_the_plugin() -> Outcome {
    // The daemon has another key than the plugin, and is not told.
    let key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let host = Setup::sandbox(Protocol::V6).with_daemon().start().await;
    let plugin =
        Setup::sandbox(Protocol::V6).with("ISTHMUS_KEY", key).with_daemon().beside(&host).start().await;
    plugin.session().await?.note().make(&json!({"title": "one"})).await?;
    let environment = std::fs::read(format!("/proc/{}/environ", host.provider_process())).expect("it runs");
    assert!(!String::from_utf8_lossy(&environment).contains(key));
    Ok(())
}
