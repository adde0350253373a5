//! The context of a process: the environment variables that set it up, the home directory, the Pulumi project, the plugins that
//! are installed, and the codes of failures.
//!
//! Environment variables are parsed once, into [`settings::Settings`]; everything else reads these. It makes no connection and starts
//! no process.

pub mod error_code;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod home;
pub mod installed_plugins;
pub mod new_file;
pub mod project;
pub mod random_uuid;
pub mod settings;
pub mod timestamp;

/// The largest message in either direction, in bytes: 400 MiB, the engine's own limit.
pub const LARGEST_MESSAGE: usize = 400 * 1024 * 1024;
