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
    Ends, OpenFilesLimit, Signals, Stops, User, began, environment_without, forbid_core_dumps,
    hide_from_other_processes, home_of_account, host, ignore_interrupts, kill_this, open_files_limit, parent,
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
