//! The plugin: opens a port, prints its number, serves, and ends when the engine is done.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::daemon::Daemon;
use crate::engine::{Engine, EngineLog, Generation, LogLine, Severity};
use crate::package::mapping;
use crate::serve::{Listener, ServeError};
use crate::settings;

/// The version that packages know this plugin by when it does not run from a plugin folder: that of the newest Go bridge, so
/// that a machine without this program falls back to a version that exists.
pub(super) const PLUGIN_VERSION: semver::Version = semver::Version::new(1, 1, 3);

/// The flags of engines that have a value, which may be the next word: those of Go's logging, and where traces go.
const FLAGS_WITH_VALUE: [&str; 8] =
    ["log_backtrace_at", "log_dir", "log_link", "logbuflevel", "stderrthreshold", "tracing", "v", "vmodule"];

const USAGE: &str = "\
Usage: pulumi-resource-terraform-provider [flags] [ENGINE ADDRESS]

A resource plugin that a Pulumi engine starts. Without an address it waits for an engine to attach.

  -version              print the version of the plugin
  -get-provider-info    print the plugin's mapping of Terraform's names, as it is before a provider is chosen
  -help                 show this text

The flags that engines pass for logging and tracing are accepted and have no effect.";

/// What the program was asked for on the command line.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    /// To serve an engine, at this address if it has one already.
    Serve(Option<String>),
    Version,
    ProviderInfo,
    Help,
}

impl Request {
    /// Engines put flags of their own logging and tracing before the address; those are accepted and have no effect.
    fn parse(words: &[OsString]) -> Self {
        let mut engine = None;
        let mut words = words.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            // Go programs take flags with one hyphen or two.
            let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
                engine = Some(word.into_owned());
                continue;
            };
            match flag {
                "version" => return Self::Version,
                "get-provider-info" => return Self::ProviderInfo,
                "help" | "h" => return Self::Help,
                flag if FLAGS_WITH_VALUE.contains(&flag) => drop(words.next()),
                _ => {}
            }
        }
        Self::Serve(engine)
    }
}

pub(super) fn run(words: &[OsString]) -> ExitCode {
    let engine = match Request::parse(words) {
        Request::Serve(engine) => engine,
        // With a `v`, as the Go bridge prints it.
        Request::Version => return print(&format!("v{}", plugin_version())),
        Request::ProviderInfo => return print(&mapping::base_document(&plugin_version().to_string())),
        Request::Help => return print(USAGE),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the runtime cannot be started: {error}")),
    };
    runtime.block_on(serve(engine))
}

async fn serve(address: Option<String>) -> ExitCode {
    let engine = match address {
        None => None,
        Some(address) => match Engine::new(&address, Generation::Today) {
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
/// the pipe that it holds at our standard input), and lets calls under way come to an end; after the grace they are told what is
/// known of them by then. A second reason ends everything at once:
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
    let overdue = async {
        told.cancelled().await;
        tokio::time::sleep(daemon.grace()).await;
        daemon.break_off().await;
        // Giving the answers, and ending, is the server's part.
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        served = served => served.map(|()| ExitCode::SUCCESS),
        never = overdue => match never {},
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

    fn parse(words: &[&str]) -> Request {
        Request::parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_engine_is_found_behind_flags_of_its_own() {
        let engine = Request::Serve(Some("127.0.0.1:4000".into()));
        for words in [
            &["127.0.0.1:4000"][..],
            &["--logtostderr", "-v=9", "--tracing", "file:/tmp/x", "127.0.0.1:4000"],
            &["-v", "9", "-stderrthreshold", "0", "-tracing=x", "127.0.0.1:4000"],
            &["127.0.0.1:4000", "--alsologtostderr", "-log_dir", "/tmp"],
        ] {
            assert_eq!(parse(words), engine, "{words:?}");
        }
        assert_eq!(parse(&[]), Request::Serve(None));
        assert_eq!(parse(&["-v"]), Request::Serve(None));
    }

    #[test]
    fn what_is_only_printed_may_be_asked_for_with_one_hyphen_or_two() {
        for hyphens in ["-", "--"] {
            let asked = |flag: &str| parse(&["-tracing", "x", &format!("{hyphens}{flag}")]);
            assert_eq!(asked("version"), Request::Version);
            assert_eq!(asked("get-provider-info"), Request::ProviderInfo);
            assert_eq!(asked("help"), Request::Help);
        }
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
