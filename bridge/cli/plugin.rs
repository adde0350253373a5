//! The plugin: opens a port, prints its number, and serves until the engine ends it.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::limits;
use super::output::{self, fail, print};
use super::runtime;
use isthmus_context::settings::{InvalidSettings, RECORD, Settings};
use isthmus_package::mapping;
use isthmus_platform::process::{Signals, Starter, standard_input_ended};
use isthmus_services::attach::Relay;
use isthmus_services::serve::{Listener, StatusPort};
use isthmus_session::daemon::{Daemon, Sessions};
use isthmus_session::engine::{Engine, EngineLog, Generation, LogLine, Severity};
use isthmus_session::process_context::{ProcessContext, StartedBy, own_plugin_version};
use isthmus_trace::recording::Recording;

/// Engine flags whose value may be the next argument: those of Go's logging and of tracing.
const FLAGS_WITH_VALUE: [&str; 8] =
    ["log_backtrace_at", "log_dir", "log_link", "logbuflevel", "stderrthreshold", "tracing", "v", "vmodule"];

const USAGE: &str = "\
Usage: pulumi-resource-terraform-provider [flags] [ENGINE ADDRESS]

A resource plugin that a Pulumi engine starts. Without an address it waits for an engine to attach.

  -version              print the version of the plugin
  -get-provider-info    print the plugin's mapping of Terraform's names, as it is before a provider is chosen
  -help                 show this text

The flags that engines pass for logging and tracing are accepted and have no effect.";

#[derive(Debug, thiserror::Error)]
#[error("failed to write the port to standard output")]
pub(crate) struct PortError(#[source] std::io::Error);

#[derive(Debug, PartialEq, Eq)]
enum Request {
    /// Serve an engine, at this address if there is one.
    Serve(Option<String>),
    Version,
    ProviderInfo,
    Help,
}

impl Request {
    /// Engines pass their own logging and tracing flags before the address; these are accepted and
    /// ignored.
    fn parse(arguments: &[OsString]) -> Self {
        let mut engine = None;
        let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            // Go programs accept flags with one hyphen or two.
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
        Request::Version => return shown(&format!("v{}", own_plugin_version())),
        Request::ProviderInfo => return shown(&mapping::base_document(&own_plugin_version().to_string())),
        Request::Help => return shown(USAGE),
    };
    if let Err(error) = limits::ensure_open_files() {
        return fail(&isthmus_common::error_chain(&error));
    }
    runtime::serve(boxed(engine, starter))
}

/// Out of line, so that the future is on the stack for a moment only: the stack of a process never shrinks.
#[inline(never)]
fn boxed(engine: Option<String>, starter: Starter) -> BoxFuture<'static, ExitCode> {
    Box::pin(serve(engine, starter))
}

async fn serve(address: Option<String>, starter: Starter) -> ExitCode {
    let engine_address = address.clone();
    let engine = match address {
        None => None,
        Some(address) => match Engine::new(&address, Generation::Today) {
            Ok(engine) => Some(engine),
            Err(error) => return fail(&isthmus_common::error_chain(&error)),
        },
    };
    // Without an address, it waits for engines to attach, and outlives the process that started it.
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
    let started_by = if engine_process.is_some() { StartedBy::Engine } else { StartedBy::Other };
    let recording =
        configured.as_ref().ok().and_then(|settings| settings.record.as_deref()).map(Recording::open);
    let daemon = match (recording, configured) {
        (Some(Ok(recording)), Ok(settings)) => {
            let context = ProcessContext::own(started_by, Arc::new(settings));
            Daemon::with_context(log, context.recorded_by(Arc::new(recording)))
        }
        // A recording that was requested is never left out silently.
        (Some(Err(error)), _) => {
            let unusable = InvalidSettings::unusable(RECORD, &isthmus_common::error_chain(&error));
            Daemon::new(log, started_by, Err(unusable))
        }
        (_, configured) => Daemon::new(log, started_by, configured),
    };
    if let Err(error) = announce(listener.port()) {
        return fail(&isthmus_common::error_chain(&error));
    }
    // With invalid settings, every call is answered here with what is wrong.
    let relay = match daemon.invalid_settings() {
        // A shared daemon serves others, too.
        None if daemon.context().recording().is_none() => Relay::find(daemon.context(), engine_address),
        None | Some(_) => None,
    };
    serve_until_ended(listener, None, &daemon, relay, engine_process, Signals::new()).await
}

/// Time to send the responses of interrupted calls.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Serves until a signal, or until the engine that started the plugin ends, which shows as the end
/// of its process or the closing of standard input. Calls in progress are stopped (by a shared daemon
/// only after they had time to end by themselves), and interrupted after the grace period. A second
/// signal ends everything at once, since a provider may never respond. Providers end with this process.
pub(crate) async fn serve_until_ended(
    listener: Listener,
    status_port: Option<StatusPort>,
    daemon: &Arc<Daemon>,
    relay: Option<Arc<Relay>>,
    engine_process: Option<Starter>,
    mut signals: Signals,
) -> ExitCode {
    let sessions = Sessions::new(Arc::clone(daemon));
    let stop = CancellationToken::new();
    // Until the end, so that it shows what is waited for.
    let status = async {
        match status_port {
            Some(port) => port.serve(Arc::clone(&sessions)).await,
            None => std::future::pending().await,
        }
    };
    let ended = async {
        stop.cancelled().await;
        if daemon.drain_period().is_some() {
            return;
        }
        // Calls in progress are stopped; the server then waits for them.
        sessions.cancel().await;
        if let Some(relay) = &relay {
            relay.cancel().await;
        }
    };
    let overdue = async {
        stop.cancelled().await;
        if let Some(drain_period) = daemon.drain_period() {
            tokio::time::sleep(drain_period).await;
        }
        let stopping = async {
            if daemon.drain_period().is_some() {
                sessions.cancel().await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            // Providers may take long to answer, during which the grace period passes.
            () = stopping => {}
            () = tokio::time::sleep(daemon.stop_grace_period()) => {}
        }
        sessions.interrupt().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    let served = async {
        tokio::select! {
            () = listener.serve(Arc::clone(&sessions), relay.clone(), ended) => {}
            // Connections that are still open are closed.
            () = overdue => {}
        }
        sessions.finish().await;
    };
    let stopped_twice = async {
        tokio::select! {
            _ = signals.next() => {}
            () = engine_ended(engine_process) => {}
        }
        if let Some(observation) = daemon.observation() {
            observation.drain();
        }
        stop.cancel();
        signals.next().await;
    };
    tokio::select! {
        () = served => ExitCode::SUCCESS,
        never = status => match never {},
        () = stopped_twice => fail("second signal: calls in progress were interrupted"),
    }
}

/// Waits until the engine that started this program ends; never if there is none.
async fn engine_ended(process: Option<Starter>) {
    let Some(process) = process else { return std::future::pending().await };
    tokio::select! {
        () = process.ended() => {}
        // An engine never writes to it.
        () = standard_input_ended() => {}
    }
}

/// Reports the port to the engine, which reads it from standard output.
pub(crate) fn announce(port: u16) -> Result<(), PortError> {
    output::announce(format!("{port}\n").as_bytes()).map_err(PortError)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Request {
        Request::parse(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_engine_is_found_behind_flags_of_its_own() {
        let engine = Request::Serve(Some("127.0.0.1:4000".into()));
        for arguments in [
            &["127.0.0.1:4000"][..],
            &["--logtostderr", "-v=9", "--tracing", "file:/tmp/x", "127.0.0.1:4000"],
            &["-v", "9", "-stderrthreshold", "0", "-tracing=x", "127.0.0.1:4000"],
            &["127.0.0.1:4000", "--alsologtostderr", "-log_dir", "/tmp"],
        ] {
            assert_eq!(parse(arguments), engine, "{arguments:?}");
        }
        assert_eq!(parse(&[]), Request::Serve(None));
        assert_eq!(parse(&["-v"]), Request::Serve(None));
    }

    #[test]
    fn what_is_only_printed_may_be_asked_for_with_one_hyphen_or_two() {
        for hyphens in ["-", "--"] {
            let request = |flag: &str| parse(&["-tracing", "x", &format!("{hyphens}{flag}")]);
            assert_eq!(request("version"), Request::Version);
            assert_eq!(request("get-provider-info"), Request::ProviderInfo);
            assert_eq!(request("help"), Request::Help);
        }
    }
}
