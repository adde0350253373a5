//! `isthmus demo`: runs a resource's lifecycle against the daemon, as an engine does, and prints
//! each step.
//!
//! It shows quickly whether everything works on a machine, and what isthmus does. Every step is
//! checked; the first unexpected result ends the demonstration. By default it uses the sandbox
//! provider, which is part of this executable, once per service and protocol; `--provider` selects
//! another one.

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
    /// A failure of Check.
    fn refused(step: &'static str, property: &str, reason: &str) -> Self {
        // The property is empty if the reason names it.
        let place = if property.is_empty() { String::new() } else { format!("{property}: ") };
        Self::Call { step, reason: format!("{place}{reason}") }
    }
}

/// Why the demonstration ended early.
#[derive(Debug, thiserror::Error)]
enum DemoError {
    /// A failure of the local system.
    #[error("{what}")]
    Machine {
        what: String,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("{file} cannot be used as inputs: {reason}")]
    Inputs { file: String, reason: String },
    /// The daemon did not start or report its port.
    #[error("the daemon did not start: {0}")]
    Start(String),
    #[error("{step} failed: {reason}")]
    Call {
        step: &'static str,
        /// The daemon's error.
        reason: String,
    },
    /// A result is not the expected one.
    #[error("{step}: {expectation}")]
    Expectation { step: &'static str, expectation: String },
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
    let mut host = Host::start_lumi(role, protocol).await?;
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
