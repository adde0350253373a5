//! `isthmus doctor`: examines a machine and a project for what keeps isthmus from working.
//!
//! Each check is a file with two parts: `gather` looks at the machine and returns facts, `judge` turns facts into findings and
//! does nothing else, so that each fault can be tested without the machine that has it. A finding has the code of its fault and
//! what to do.
//!
//! An examination changes nothing: it creates no directory, installs nothing, and opens the state store only if it exists and has
//! the format of this version. It starts the Pulumi CLI for its version, plugins for their kind, and providers for their schema.

mod check;
mod directory;
mod examination;
mod finding;
mod world;

mod cache;
mod certificates;
mod clock;
mod configuration;
mod daemon_socket;
mod home_directory;
mod operations;
mod plugin_lookup;
mod project_files;
mod provider_start;
mod proxy;
mod pulumi_cli;
mod registry;
mod run_program;
mod settings_check;
mod space;
mod state_store;

pub use check::Check;
pub use examination::{Examined, examine};
pub use finding::{Finding, Level};
pub use world::World;
