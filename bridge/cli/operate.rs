//! `isthmus ps`, `top` and `logs`: what runs in a shared daemon, and its recent log lines.
//!
//! The daemon shows everything to who may connect to it.

mod client;
mod follow;
mod overview;
mod screen;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::output::{fail_as, print};
use super::runtime;
use client::{Client, ClientError};
use isthmus_context::settings::Settings;
use isthmus_session::process_context::{ProcessContext, StartedBy};

const PS_EXAMPLES: &str = "\
Examples:
  isthmus ps
  isthmus ps --socket /run/isthmus/daemon.sock
  isthmus ps --json | jq -r '.processes[].process_id'";

const TOP_EXAMPLES: &str = "\
Examples:
  isthmus top
  isthmus top --socket /run/isthmus/daemon.sock";

const LOGS_EXAMPLES: &str = "\
Examples:
  isthmus logs
  isthmus logs --no-follow | grep warning";

/// List the sessions and provider processes of a daemon.
#[derive(Debug, Args)]
#[command(after_help = PS_EXAMPLES)]
pub(super) struct Ps {
    #[command(flatten)]
    daemon: Daemon,
    /// Write a JSON object: sessions and processes.
    #[arg(long)]
    json: bool,
}

/// Watch the sessions and provider processes of a daemon.
///
/// Updates every two seconds, with the calls of each second, until `q` or Ctrl-C. Prints once if standard
/// output is not a terminal.
#[derive(Debug, Args)]
#[command(after_help = TOP_EXAMPLES)]
pub(super) struct Top {
    #[command(flatten)]
    daemon: Daemon,
}

/// Follow the log lines of a daemon.
///
/// Prints the recent lines, and then new ones until the daemon ends. isthmus redacts secrets in them, but no
/// other values.
#[derive(Debug, Args)]
#[command(after_help = LOGS_EXAMPLES)]
pub(super) struct Logs {
    #[command(flatten)]
    daemon: Daemon,
    /// Print the recent lines only.
    #[arg(long)]
    no_follow: bool,
}

#[derive(Debug, Args)]
struct Daemon {
    /// Socket of the daemon (default: the one that plugins use).
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

impl Daemon {
    async fn connect(&self, settings: &Arc<Settings>) -> Result<Client, ClientError> {
        let context = ProcessContext::own(StartedBy::Other, Arc::clone(settings));
        Client::connect(&context, self.socket.as_deref()).await
    }
}

pub(super) fn ps(ps: &Ps, settings: &Arc<Settings>) -> ExitCode {
    run(async {
        let overview = ps.daemon.connect(settings).await?.overview().await?;
        print(&if ps.json { overview::document(&overview) } else { overview::text(&overview, None) });
        Ok(())
    })
}

pub(super) fn top(top: &Top, settings: &Arc<Settings>) -> ExitCode {
    run(async { watch::watch(&mut top.daemon.connect(settings).await?).await })
}

pub(super) fn logs(logs: &Logs, settings: &Arc<Settings>) -> ExitCode {
    run(async { follow::follow(&mut logs.daemon.connect(settings).await?, !logs.no_follow).await })
}

fn run(work: impl Future<Output = Result<(), ClientError>>) -> ExitCode {
    runtime::run(async {
        match work.await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let help = error.help().map(str::to_owned);
                fail_as(&isthmus_common::with_help(isthmus_common::error_chain(&error), help), error.code())
            }
        }
    })
}
