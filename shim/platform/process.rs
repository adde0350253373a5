//! This process: its user, what ends it, its limits, and how much it uses.

mod memory;
mod starter;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
pub(crate) mod windows;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(unix)]
use unix as family;
#[cfg(windows)]
use windows as family;
#[cfg(windows)]
use windows as system;

pub use family::{
    Signals, Stops, User, began, environment_without, forbid_core_dumps, hide_from_other_processes,
    home_of_account, host, ignore_interrupts, is_gone, kill_this, open_files_limit, parent,
    set_open_files_limit, standard_input_ended, stop_this, survive_limit_of_file_sizes, terminate, usage,
};
#[cfg(target_os = "macos")]
pub(crate) use macos::sysctl;
pub use memory::{limit_holes, trim};
pub use starter::Starter;
pub use system::{executables, machine, standard_output_file};
#[cfg(all(windows, feature = "testing"))]
pub use windows::children;

use std::time::Duration;

/// What this process uses, without those that it has started. Zero for what the system does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Bytes.
    pub resident_memory: u64,
    /// Processor time.
    pub cpu: Duration,
    /// Descriptors.
    pub open_files: usize,
}

/// What a signal, or an event of a console, is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// A terminal or console sends it to everything that runs in it.
    Interrupt,
    /// This process alone is asked to end, or its terminal or session has ended.
    Terminate,
}

/// How many files this process may have open; `None` is without a limit, as always on Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFilesLimit {
    /// The one that holds.
    pub soft: Option<u64>,
    /// The one up to which this process may raise it.
    pub hard: Option<u64>,
}
