//! The plugin: opens a port, prints its number, serves, and ends when the engine is done.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::daemon::Daemon;
use crate::engine::{Engine, EngineLog, Generation, LogLine, Severity};
use crate::serve::{Listener, ServeError};
use crate::settings;

/// The version that packages know this plugin by when it does not run from a plugin folder: that of the newest Go bridge, so
/// that a machine without this program falls back to a version that exists.
const PLUGIN_VERSION: semver::Version = semver::Version::new(1, 1, 3);

/// What an engine said on the command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    engine: Option<String>,
    version: bool,
}

impl Arguments {
    /// Engines put flags of their own logging and tracing before the address; those are accepted and have no effect.
    fn parse(words: &[OsString]) -> Self {
        let mut arguments = Self::default();
        let mut words = words.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            match &*word {
                "-version" | "--version" => arguments.version = true,
                // Its value is the next word.
                "-tracing" | "--tracing" => drop(words.next()),
                flag if flag.starts_with('-') => {}
                address => arguments.engine = Some(address.to_owned()),
            }
        }
        arguments
    }
}

pub(super) fn run(words: &[OsString]) -> ExitCode {
    let arguments = Arguments::parse(words);
    if arguments.version {
        return print(&plugin_version().to_string());
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the runtime cannot be started: {error}")),
    };
    runtime.block_on(serve(arguments))
}

async fn serve(arguments: Arguments) -> ExitCode {
    let engine = match &arguments.engine {
        None => None,
        Some(address) => match Engine::new(address, Generation::Today) {
            Ok(engine) => Some(engine),
            Err(error) => return fail(&error.to_string()),
        },
    };
    let was_started_by_engine = engine.is_some();
    let log = EngineLog::start(engine);
    for message in settings::warnings(std::env::vars_os().map(|(name, _)| name)) {
        log.send(LogLine { severity: Severity::Warning, message, urn: String::new() });
    }
    let daemon = Daemon::new(log, plugin_version());
    let listener = match Listener::open().await {
        Ok(listener) => listener,
        Err(error) => return fail(&error.to_string()),
    };
    if print(&listener.port().to_string()) == ExitCode::FAILURE {
        return ExitCode::FAILURE;
    }
    match serve_until_told(listener, &daemon, was_started_by_engine).await {
        Ok(code) => code,
        Err(error) => fail(&error.to_string()),
    }
}

/// Serves until there is a reason to end (a signal, or the end of the engine that started us, which is seen by the closing of
/// the pipe that it holds at our standard input), and lets calls under way come to an end. A second reason ends everything at once:
/// a provider may never answer, and whoever says it twice does not want to wait. Providers end with this process.
pub(super) async fn serve_until_told(
    listener: Listener,
    daemon: &Arc<Daemon>,
    was_started_by_engine: bool,
) -> Result<ExitCode, ServeError> {
    let told = CancellationToken::new();
    let ended = async {
        told.cancelled().await;
        // Calls under way are given the chance to end by themselves; the server then waits for them.
        daemon.cancel().await;
    };
    let served = async {
        let served = listener.serve(Arc::clone(daemon), ended).await;
        daemon.finish().await;
        served
    };
    let told_twice = async {
        // One pair of streams for both times: a signal that comes in between is kept in them.
        let mut signals = (signal(SignalKind::interrupt()).ok(), signal(SignalKind::terminate()).ok());
        tokio::select! {
            () = next(&mut signals.0) => {}
            () = next(&mut signals.1) => {}
            () = engine_ended(), if was_started_by_engine && stdin_is_a_pipe() => {}
        }
        told.cancel();
        tokio::select! {
            () = next(&mut signals.0) => {}
            () = next(&mut signals.1) => {}
        }
    };
    tokio::select! {
        served = served => served.map(|()| ExitCode::SUCCESS),
        () = told_twice => Ok(fail("told twice to end, so calls under way were broken off")),
    }
}

/// Waits for a signal. One for which no handler could be set ends the process by itself.
async fn next(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}

/// Reads standard input, to which an engine never writes, to its end.
async fn engine_ended() {
    let (sender, ended) = tokio::sync::oneshot::channel();
    // A thread of its own, because a read of standard input cannot be cancelled and would hold up the runtime's end.
    std::thread::spawn(move || {
        // However it ends, there is nobody left to read from.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = sender.send(());
    });
    // An error means that the thread is gone, which is an end as well.
    let _ = ended.await;
}

fn stdin_is_a_pipe() -> bool {
    rustix::fs::fstat(std::io::stdin())
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo)
}

/// The version of the folder `resource-terraform-provider-vX` that the program runs from, or [`PLUGIN_VERSION`].
pub(super) fn plugin_version() -> semver::Version {
    std::env::current_exe().ok().and_then(|program| version_of_folder(&program)).unwrap_or(PLUGIN_VERSION)
}

fn version_of_folder(program: &Path) -> Option<semver::Version> {
    let folder = program.parent()?.file_name()?.to_str()?;
    semver::Version::parse(folder.strip_prefix("resource-terraform-provider-v")?).ok()
}

#[expect(clippy::print_stdout, reason = "an engine reads the port from standard output")]
pub(super) fn print(line: &str) -> ExitCode {
    println!("{line}");
    match std::io::stdout().flush() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the engine shows what a plugin that fails to start has on standard error"
)]
pub(super) fn fail(reason: &str) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Arguments {
        Arguments::parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_engine_is_found_behind_flags_of_its_own() {
        let wanted = Arguments { engine: Some("127.0.0.1:4000".into()), version: false };
        assert_eq!(parse(&["127.0.0.1:4000"]), wanted);
        assert_eq!(parse(&["--logtostderr", "-v=9", "--tracing", "file:/tmp/x", "127.0.0.1:4000"]), wanted);
        assert_eq!(parse(&[]), Arguments::default());
    }

    #[test]
    fn the_version_is_that_of_the_plugin_folder() {
        let version = |path| version_of_folder(Path::new(path));
        assert_eq!(
            version(
                "/home/.pulumi/plugins/resource-terraform-provider-v1.2.0/pulumi-resource-terraform-provider"
            ),
            Some(semver::Version::new(1, 2, 0))
        );
        assert_eq!(version("/usr/bin/pulumi-resource-terraform-provider"), None);
    }
}
