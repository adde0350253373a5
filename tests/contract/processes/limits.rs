//! Limits of processes: open files too few, few, and all in use; and no core dumps.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use crate::harness::engine::{Line, Severity};
use crate::harness::{PATIENCE, Setup, json, on_one_protocol};

/// The plugin under one of its names, started by a shell that sets a limit first.
fn limited(directory: &Path, limit: &str, name: &str) -> Command {
    let program: PathBuf = directory.join(name);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_isthmus"), &program).expect("a link");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")])
        .arg(program)
        .env_clear()
        .env("HOME", directory)
        .stdin(Stdio::null());
    command
}

/// The soft limit of a process.
fn soft_limit(process: u32, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/limits")).expect("limits");
    let limit = text.lines().find_map(|line| line.strip_prefix(name)).expect("the limit");
    limit.split_whitespace().next().and_then(|word| word.parse().ok())
}

#[test]
fn a_limit_that_is_too_low_ends_the_plugin_with_the_reason() {
    for name in ["pulumi-resource-terraform-provider", "lumi-resource-sandbox"] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = limited(directory.path(), "ulimit -n 20", name);
        let output = command.arg("127.0.0.1:1").output().expect("a shell");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{name} prints no port: {stderr}");
        for part in ["the limit of open files is 20, and at least 64 are needed", "help: ", "ulimit -n 1024"]
        {
            assert!(stderr.contains(part), "{name}: {part:?} is not in: {stderr}");
        }
    }
}

#[test]
fn a_low_soft_limit_is_raised() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = limited(directory.path(), "ulimit -S -n 20", "pulumi-resource-terraform-provider");
    let mut process = command.stdout(Stdio::piped()).spawn().expect("a shell");
    let mut port = String::new();
    let read = BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut port);
    let limit = soft_limit(process.id(), "Max open files");
    process.kill().expect("it runs");
    process.wait().expect("its end");
    read.expect("its output can be read");
    assert!(port.trim().parse::<u16>().is_ok(), "it serves: {port:?}");
    let own = getrlimit(Resource::Nofile);
    assert_eq!(limit, Some(own.maximum.unwrap_or(4096).min(4096)));
}

on_one_protocol! {
    async fn neither_the_daemon_nor_a_provider_leaves_a_core_dump(protocol) {
        let setup = Setup::sandbox(protocol).after("ulimit -S -c \"$(ulimit -H -c)\"");
        let (host, session) = setup.session().await?;
        session.note().make(&json!({"title": "Hello"})).await?;
        for process in [host.process(), host.provider_process()] {
            assert_eq!(soft_limit(process, "Max core file size"), Some(0), "of process {process}");
        }
    }

    async fn a_limit_of_file_sizes_is_like_a_full_disk(protocol) {
        // The schema is larger, and so are the entries of a journal together.
        let setup = Setup::sandbox(protocol).without_a_record().after("ulimit -f 8");
        let (host, session) = setup.session().await?;
        let is_reported = |line: &Line| line.severity == Severity::Warning && line.message.contains("File too large");
        for number in 0..100 {
            session.note().make(&json!({"title": format!("number {number}")})).await?;
            if host.engine.lines().iter().any(is_reported) {
                break;
            }
        }
        assert!(host.engine.lines().iter().any(is_reported), "{:?}", host.engine.lines());
    }

    async fn a_limit_that_is_reached_delays_connections_and_is_reported(host, session: sandbox) {
        let set_limit = |limit| {
            let process = Pid::from_raw(i32::try_from(host.process()).expect("a process id"));
            prlimit(process, Resource::Nofile, limit).expect("a limit that is allowed")
        };
        let before = set_limit(Rlimit { current: Some(3), maximum: getrlimit(Resource::Nofile).maximum });
        // The system accepts it, and the daemon cannot.
        let channel = host.channel().await;
        let asking = tokio::spawn(async move { ResourceProviderClient::new(channel).get_plugin_info(()).await });
        // There is no descriptor for a connection to the engine's log either.
        let report = "failed to accept a connection: Too many open files";
        host.prints(report).await;
        // Whoever has a connection is served meanwhile.
        session.plugin_version().await?;
        assert!(!asking.is_finished());
        set_limit(before);
        let info = tokio::time::timeout(PATIENCE, asking).await.expect("it is accepted now").expect("the call");
        assert!(!info?.into_inner().version.is_empty());
        let stderr = host.stderr();
        assert!(stderr.matches(report).count() == 1 && stderr.contains("ulimit -n"), "{stderr}");
    }
}
