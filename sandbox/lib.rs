//! The sandbox: a small real Terraform provider.
//!
//! `isthmus demo` uses it, because it needs neither a cloud nor a network: its objects are files.
//! The tests use it as their provider: it plans and applies like one built on Terraform's plugin
//! framework, records requests, imitates other protocol minors, and fails as configured. It is
//! written against the protocols' contracts and go-plugin's handshake alone, so Terraform and
//! OpenTofu can run it as well.
//!
//! [`main_from_environment`] is the whole program; the rest is for tests that read what it recorded.

#![expect(clippy::duplicate_mod, reason = "edge.rs is meant to be compiled once for each protocol")]

#[cfg(feature = "misbehaviour")]
mod broadcast;
mod call;
mod calls;
mod diagnostics;
mod duration;
#[cfg(feature = "misbehaviour")]
mod functions;
mod handshake;
#[cfg(feature = "misbehaviour")]
mod lines;
mod log;
#[cfg(feature = "misbehaviour")]
mod misbehaviour;
mod object;
mod objects;
mod planning;
mod plumbing;
mod protocol;
mod protocol5;
mod protocol6;
mod provider;
mod random;
mod resource;
mod resource_entry;
mod resources;
mod schema;
mod server;
mod service;
mod stdio;
mod switch_error;
mod switches;
mod tls;
#[cfg(feature = "misbehaviour")]
mod token;
mod wire;

use std::io::Write as _;
use std::process::ExitCode;

pub use handshake::MAGIC_COOKIE;
#[cfg(feature = "misbehaviour")]
pub use misbehaviour::requests::RequestRecord;
pub use protocol::Protocol;
use switches::Switches;

/// The program `terraform-provider-sandbox`: reads its environment, serves until it is stopped, and
/// returns the exit status.
pub fn main_from_environment() -> ExitCode {
    let environment = handshake::Environment::read();
    if !environment.magic_cookie {
        return complain(handshake::FOR_A_PERSON);
    }
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let variables = variables.map(|(name, value)| (name, value.to_string_lossy().into_owned()));
    let switches = match Switches::read(variables) {
        Ok(switches) => switches,
        Err(error) => return complain(&format!("{}\n", wire::explain(&error))),
    };
    match server::run(&environment, switches) {
        Ok(code) => code,
        Err(error) => complain(&format!("{}\n", wire::explain(&error))),
    }
}

fn complain(text: &str) -> ExitCode {
    drop(std::io::stderr().write_all(text.as_bytes()));
    ExitCode::FAILURE
}
