//! Starts a program that ends with this process, together with every process that it has started.
//!
//! Neither a provider nor any process that it has started may outlive the daemon, however the daemon ends.
//! A killed daemon cannot clean up, so each provider has a [`Guardian`] between itself and the daemon.
//! [`spawn`] starts both, [`Reports`] has what the guardian says of the provider, and [`ChildProcess`] kills it.
//!
//! [`ForeignProcess`] is for processes that this one did not start.

mod ending;
mod program;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
#[cfg_attr(feature = "portable", expect(dead_code, reason = "what macOS lacks"))]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(any(target_os = "macos", feature = "portable"))]
mod plain;
#[cfg(feature = "portable")]
mod portable;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(feature = "portable")]
use portable as system;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
use windows as family;
#[cfg(windows)]
use windows as system;

/// For what the system tells of this process and of others.
#[cfg(unix)]
pub(crate) mod processes {
    pub(crate) use super::system::process as one;
    #[cfg(target_os = "macos")]
    pub(crate) use super::system::processes as all;
}
#[cfg(unix)]
pub(crate) use system::DESCRIPTORS;

pub use ending::Ending;
pub use family::{ChildProcess, ForeignProcess, Output, Reports, guardian_role, resident_memory, spawn};
pub use program::{Guardian, OtherSession, OtherSessions, Program, SpawnError};

/// A program with its guardian, or in its job. Dropping any part kills it.
#[derive(Debug)]
pub struct Spawned {
    /// Kills it.
    pub process: ChildProcess,
    /// How it ends.
    pub reports: Reports,
    /// Its standard output.
    pub stdout: Output,
    /// Its standard error.
    pub stderr: Output,
}
