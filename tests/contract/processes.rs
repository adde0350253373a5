//! The processes of the daemon and of its providers, and their ends.

mod cancelling;
mod deaths;
mod endings;
mod faults;
mod host_faults;
#[cfg(unix)]
mod limits;
mod restarts;
