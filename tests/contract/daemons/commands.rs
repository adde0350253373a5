//! `isthmus daemon` as a command: one for each socket, and nothing of others is removed.

use std::process::Stdio;

use crate::harness::processes::Signal;
use isthmus_platform::local::LONGEST_PATH;
use tokio::process::Command;

use crate::harness::daemon::{Daemon, socket_in};

/// Runs a daemon that cannot start, and returns what it says.
async fn refused(directory: &std::path::Path) -> String {
    let socket = socket_in(directory);
    let mut command = Command::new(env!("CARGO_BIN_EXE_isthmus"));
    command.arg("daemon").arg("--socket").arg(&socket).env_clear().env(isthmus_platform::HOME, directory);
    let output = command.stdin(Stdio::null()).output().await.expect("a process");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn there_is_one_daemon_for_a_socket() {
    let directory = tempfile::tempdir().expect("a directory");
    let executable = env!("CARGO_BIN_EXE_isthmus").as_ref();
    let first = Daemon::start(executable, directory.path(), &[]).await.expect("none listens there");
    let said = refused(directory.path()).await;
    assert!(said.contains("another daemon listens on"), "{said}");
    // The first one is not disturbed.
    drop(first.channel().await);
}

#[tokio::test]
async fn a_socket_that_a_killed_daemon_has_left_is_replaced_and_a_clean_end_leaves_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let executable = env!("CARGO_BIN_EXE_isthmus").as_ref();
    let mut first = Daemon::start(executable, directory.path(), &[]).await.expect("none listens there");
    first.kill().await;
    assert!(socket_in(directory.path()).exists());
    let mut second = Daemon::start(executable, directory.path(), &[]).await.expect("none listens there");
    drop(second.channel().await);
    second.signal(Signal::TERM);
    second.ended().await;
    assert!(!socket_in(directory.path()).exists());
}

#[tokio::test]
async fn what_no_daemon_has_left_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = socket_in(directory.path());
    std::fs::create_dir_all(socket.parent().expect("a directory")).expect("a new directory");
    std::fs::write(&socket, "of another program").expect("a new file");
    let said = refused(directory.path()).await;
    assert!(said.contains("is not a daemon's socket, so isthmus leaves it alone"), "{said}");
    assert_eq!(std::fs::read_to_string(&socket).expect("it is there"), "of another program");
    std::fs::remove_file(&socket).expect("it is there");

    // Another program's, which listens; and the one that it leaves.
    #[cfg(unix)]
    {
        let other = std::os::unix::net::UnixListener::bind(&socket).expect("a new socket");
        for _ in 0..2 {
            let said = refused(directory.path()).await;
            assert!(said.contains("is not a daemon's socket, so isthmus leaves it alone"), "{said}");
        }
        std::os::unix::net::UnixStream::connect(&socket).expect("it listens still");
        drop(other);
        assert!(refused(directory.path()).await.contains("leaves it alone"));
        assert!(socket.exists());
        std::fs::remove_file(&socket).expect("it is there");
    }

    // Nor is a lock file of another program written to.
    let lock = socket.with_extension("sock.lock");
    std::fs::write(&lock, "1234\n").expect("a file in a directory of this test's own");
    assert!(refused(directory.path()).await.contains("is not a daemon's lock file"));
    assert_eq!(std::fs::read_to_string(&lock).expect("it is there"), "1234\n");
}

#[tokio::test]
async fn a_path_that_no_socket_can_have_is_refused_with_the_limit() {
    let directory = tempfile::tempdir().expect("a directory");
    let long = directory.path().join("x".repeat(LONGEST_PATH));
    let said = refused(&long).await;
    assert!(said.contains(&format!("at most {LONGEST_PATH} are possible")), "{said}");
}
