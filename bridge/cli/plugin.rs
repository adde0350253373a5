//! The plugin: opens a port, prints its number, serves, and ends when the engine is done.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::open_files;
use super::output::{self, fail, print};
use super::runtime;
use super::starter::Starter;
use crate::daemon::Daemon;
use crate::engine::{Engine, EngineLog, Generation, LogLine, Severity};
use crate::package::mapping;
use crate::serve::{Listener, ServeError};
use crate::settings::Settings;

/// The version that packages know this plugin by when it does not run from a plugin directory: that of the newest Go bridge, so
/// that a machine without this program falls back to a version that exists.
pub(crate) const PLUGIN_VERSION: semver::Version = semver::Version::new(1, 1, 3);

/// The flags of engines that have a value, which may be the next argument: those of Go's logging, and where traces go.
const FLAGS_WITH_VALUE: [&str; 8] =
    ["log_backtrace_at", "log_dir", "log_link", "logbuflevel", "stderrthreshold", "tracing", "v", "vmodule"];

const USAGE: &str = "\
Usage: pulumi-resource-terraform-provider [flags] [ENGINE ADDRESS]

A resource plugin that a Pulumi engine starts. Without an address it waits for an engine to attach.

  -version              print the version of the plugin
  -get-provider-info    print the plugin's mapping of Terraform's names, as it is before a provider is chosen
  -help                 show this text

The flags that engines pass for logging and tracing are accepted and have no effect.";

/// The port cannot be reported.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the port to standard output")]
pub(crate) struct PortError(#[source] std::io::Error);

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
    fn parse(arguments: &[OsString]) -> Self {
        let mut engine = None;
        let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            // Go programs take flags with one hyphen or two.
            let Some(flag) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
                engine = Some(argument.into_owned());
                continue;
            };
            match flag {
                "version" => return Self::Version,
                "get-provider-info" => return Self::ProviderInfo,
                "help" | "h" => return Self::Help,
                flag if FLAGS_WITH_VALUE.contains(&flag) => drop(arguments.next()),
                _ => {}
            }
        }
        Self::Serve(engine)
    }
}

fn shown(text: &str) -> ExitCode {
    print(&format!("{text}\n"));
    ExitCode::SUCCESS
}

pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let starter = Starter::note();
    let engine = match Request::parse(arguments) {
        Request::Serve(engine) => engine,
        // With a `v`, as the Go bridge prints it.
        Request::Version => return shown(&format!("v{}", plugin_version())),
        Request::ProviderInfo => return shown(&mapping::base_document(&plugin_version().to_string())),
        Request::Help => return shown(USAGE),
    };
    if let Err(error) = open_files::ensure() {
        return fail(&isthmus_common::error_chain(&error));
    }
    runtime::run(serve(engine, starter))
}

async fn serve(address: Option<String>, starter: Starter) -> ExitCode {
    let engine = match address {
        None => None,
        Some(address) => match Engine::new(&address, Generation::Today) {
            Ok(engine) => Some(engine),
            Err(error) => return fail(&isthmus_common::error_chain(&error)),
        },
    };
    // Without an address, it waits for engines to attach, and outlives the process that has started it.
    let engine_process = engine.is_some().then_some(starter);
    let log = EngineLog::start(engine);
    let listener = match Listener::open().await {
        Ok(listener) => listener,
        Err(error) => return fail(&isthmus_common::error_chain(&error)),
    };
    let send = |severity, message| log.send(LogLine { severity, message, urn: String::new() });
    let configured = Settings::from_environment();
    match &configured {
        Ok(settings) => {
            settings.warnings.iter().for_each(|warning| send(Severity::Warning, warning.clone()));
        }
        // Started by hand, for an engine to attach to: its terminal is read first.
        Err(invalid) if engine_process.is_none() => send(Severity::Error, invalid.to_string()),
        Err(_) => {}
    }
    let daemon = Daemon::new(log, plugin_version(), configured);
    if let Err(error) = announce(listener.port()) {
        return fail(&isthmus_common::error_chain(&error));
    }
    match serve_until_told(listener, &daemon, engine_process).await {
        Ok(code) => code,
        Err(error) => fail(&isthmus_common::error_chain(&error)),
    }
}

/// How long the answers to calls that were broken off may take to be sent.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Serves until there is a reason to end (a signal, or the end of the engine that started us, which is seen by the end of its
/// process, or by the closing of the pipe that it holds at our standard input), and lets calls under way come to an end; after the grace they are told what is
/// known of them by then. A second reason ends everything at once:
/// a provider may never answer, and whoever says it twice does not want to wait. Providers end with this process.
pub(crate) async fn serve_until_told(
    listener: Listener,
    daemon: &Arc<Daemon>,
    engine_process: Option<Starter>,
) -> Result<ExitCode, ServeError> {
    // Before the first connection is served, so that no signal ends the process by itself. The same streams serve for the first
    // and the second signal: one that comes in between is queued in them.
    let mut signals = Signals::new();
    let told = CancellationToken::new();
    let ended = async {
        told.cancelled().await;
        // Calls under way are given the chance to end by themselves; the server then waits for them.
        daemon.cancel().await;
    };
    let overdue = async {
        told.cancelled().await;
        tokio::time::sleep(daemon.stop_grace_period()).await;
        daemon.break_off().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    let served = async {
        let served = tokio::select! {
            served = listener.serve(Arc::clone(daemon), ended) => served,
            // What is still connected does not listen any more: it is cut off.
            () = overdue => Ok(()),
        };
        daemon.finish().await;
        served
    };
    let told_twice = async {
        tokio::select! {
            () = signals.next() => {}
            () = engine_ended(engine_process) => {}
        }
        told.cancel();
        signals.next().await;
    };
    tokio::select! {
        served = served => served.map(|()| ExitCode::SUCCESS),
        () = told_twice => Ok(fail("second signal: calls in progress were interrupted")),
    }
}

/// The signals that ask a program to end; one for which no handler could be set ends the process by itself.
///
/// The end of a terminal (SIGHUP) is one of them, unless the engine runs under `nohup`: then it is ignored here as well.
struct Signals([Option<Signal>; 3]);

impl Signals {
    fn new() -> Self {
        let hangup = SignalKind::hangup();
        let hangup = if is_ignored(hangup) { None } else { signal(hangup).ok() };
        let [interrupt, terminate] =
            [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
        Self([interrupt, terminate, hangup])
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            () = next(interrupt) => {}
            () = next(terminate) => {}
            () = next(hangup) => {}
        }
    }
}

/// Whether this process was started with a signal ignored. Only Linux shows that without unsafe code.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

/// Waits for a signal.
async fn next(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}

/// Waits for the end of the engine that has started this program; there may be none.
async fn engine_ended(process: Option<Starter>) {
    let Some(process) = process else { return std::future::pending().await };
    tokio::select! {
        () = process.ended() => {}
        () = stdin_ended(), if stdin_is_a_pipe() => {}
    }
}

/// Reads standard input, to which an engine never writes, to its end.
async fn stdin_ended() {
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

/// The version of the directory `resource-terraform-provider-vX` that the program runs from, or [`PLUGIN_VERSION`].
pub(crate) fn plugin_version() -> semver::Version {
    std::env::current_exe().ok().and_then(|program| version_of_folder(&program)).unwrap_or(PLUGIN_VERSION)
}

fn version_of_folder(program: &Path) -> Option<semver::Version> {
    let folder = program.parent()?.file_name()?.to_str()?;
    semver::Version::parse(folder.strip_prefix("resource-terraform-provider-v")?).ok()
}

/// Reports the port to the engine, which reads it from standard output.
pub(crate) fn announce(port: u16) -> Result<(), PortError> {
    output::announce(format!("{port}\n").as_bytes()).map_err(PortError)
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
