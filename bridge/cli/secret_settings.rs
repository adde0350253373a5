//! Settings with secrets, which no other process of the user reads in `/proc/PROCESS/environ`: providers are such processes.
//!
//! A process that was started with one hides its memory and its environment, as far as the system can. A daemon, which runs for
//! long, executes itself again without these variables. Of an engine's plugin, the engine has the same environment.

use std::ffi::OsString;

use isthmus_context::settings::{KEY, PASSPHRASE, STORE};
use isthmus_platform::process;

/// An address of a store may have a password.
const SECRET: [&str; 3] = [KEY.name, PASSPHRASE.name, STORE.name];

/// Hides the memory and the environment of this process, if it was started with such a setting.
pub(super) fn hide() {
    process::hide_from_other_processes(&SECRET);
}

/// The environment of a daemon, which it is not started with where that has secrets.
pub(super) fn environment_of_daemon() -> std::io::Result<Vec<(OsString, OsString)>> {
    process::environment_without(&SECRET)
}
