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

use std::process::ExitCode;

use super::{fail, print, runtime};
use host::Host;
pub(super) use inputs::Demo;
use inputs::Role;
use report::{DemoError, Report};

pub(super) fn run(demo: &Demo) -> ExitCode {
    let played = runtime::block_on(play(demo));
    end(played.unwrap_or_else(|error| Err(error.into())))
}

async fn play(demo: &Demo) -> Result<usize, DemoError> {
    let mut report = Report::default();
    match Role::given(demo)? {
        Some(role) => {
            play_today(&role, None, &mut report).await?;
            play_lumi(&role, None, &mut report).await?;
        }
        None => {
            for protocol in [5, 6] {
                let role = Role::sandbox();
                play_today(&role, Some(protocol), &mut report).await?;
                play_lumi(&role, Some(protocol), &mut report).await?;
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

async fn play_lumi(role: &Role, protocol: Option<u8>, report: &mut Report) -> Result<(), DemoError> {
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
