//! `isthmus demo`: plays an engine against the daemon, on a real provider, and shows what happens.
//!
//! It is the quickest way to see that everything works on a machine, and to see what the program does at all. Every step is
//! checked: the demonstration fails when anything is not as it must be. By default it runs on the sandbox provider, which
//! is part of this executable, once for each service and protocol; `--provider` plays with any other provider.

mod host;
mod inputs;
mod lumi;
mod report;
mod today;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::runtime::{self, RuntimeError};
use super::{fail, print};
use host::Host;
use inputs::Role;
use report::Report;

/// What to play.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Provider binary (default: the sandbox provider).
    #[arg(long, requires_all = ["resource", "inputs"])]
    provider: Option<PathBuf>,
    /// Terraform resource type, such as `random_pet`.
    #[arg(long, requires = "provider")]
    resource: Option<String>,
    /// JSON file of the resource's inputs, by their Pulumi names.
    #[arg(long, requires = "provider")]
    inputs: Option<PathBuf>,
    /// JSON file of the inputs of an update.
    #[arg(long, requires = "provider")]
    changed_inputs: Option<PathBuf>,
    /// JSON file of the provider configuration.
    #[arg(long, requires = "provider")]
    config: Option<PathBuf>,
}

impl DemoError {
    /// A check has found something wrong with inputs.
    fn refused(step: &'static str, property: &str, reason: &str) -> Self {
        // It is empty where the reason says itself what it is about.
        let place = if property.is_empty() { String::new() } else { format!("{property}: ") };
        Self::Call { step, reason: format!("{place}{reason}") }
    }
}

/// Why the demonstration ended early.
#[derive(Debug, thiserror::Error)]
enum DemoError {
    /// Something on this machine is in the way.
    #[error("{what}")]
    Machine {
        /// What could not be done.
        what: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// A file of inputs cannot be used.
    #[error("{file} cannot be used as inputs: {reason}")]
    Inputs {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// The daemon did not start, or did not say its port.
    #[error("the daemon did not start: {0}")]
    Start(String),
    /// A call failed.
    #[error("{step} failed: {reason}")]
    Call {
        /// What was being done.
        step: &'static str,
        /// What the daemon said.
        reason: String,
    },
    /// An answer is not what it must be.
    #[error("{step}: {expectation}")]
    Expectation {
        /// What was being done.
        step: &'static str,
        /// What is wrong.
        expectation: String,
    },
}

pub(super) fn run(demo: &Demo) -> ExitCode {
    let played = runtime::block_on(play(demo));
    end(played.unwrap_or_else(|error| Err(error.into())))
}

async fn play(demo: &Demo) -> Result<usize, DemoError> {
    let mut report = Report::default();
    match Role::given(demo)? {
        Some(role) => {
            play_today(&role, None, &mut report).await?;
            play_2017(&role, None, &mut report).await?;
        }
        None => {
            for protocol in [5, 6] {
                let role = Role::sandbox();
                play_today(&role, Some(protocol), &mut report).await?;
                play_2017(&role, Some(protocol), &mut report).await?;
            }
        }
    }
    Ok(report.steps())
}

async fn play_today(role: &Role, protocol: Option<u8>, report: &mut Report) -> Result<(), DemoError> {
    let mut host = Host::start_today(role, protocol).await?;
    report.scene(&format!("pulumirpc, today's service{}", speaking(protocol)), role);
    let played = today::play(&mut host, role, report).await;
    host.end().await;
    played
}

async fn play_2017(role: &Role, protocol: Option<u8>, report: &mut Report) -> Result<(), DemoError> {
    let mut host = Host::start_2017(role, protocol).await?;
    report.scene(&format!("lumirpc, the legacy service{}", speaking(protocol)), role);
    let played = lumi::play(&mut host, role, report).await;
    host.end().await;
    played
}

fn speaking(protocol: Option<u8>) -> String {
    protocol.map(|protocol| format!(", protocol {protocol}")).unwrap_or_default()
}

fn end(played: Result<usize, DemoError>) -> ExitCode {
    match played {
        Ok(steps) => {
            print(&format!("\nAll {steps} steps went as they must.\n"));
            ExitCode::SUCCESS
        }
        Err(error) => fail(&isthmus_common::error_chain(&error)),
    }
}
