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
pub mod project;
pub mod settings;
pub mod timestamp;
