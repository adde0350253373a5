//! `isthmus doctor`: examines a machine and a project for what keeps isthmus from working.
//!
//! Each check is a file (those of variables share `environment`), whose `examine` looks at the machine and returns findings.
//! Where a fault is hard to have in a test, or other checks need the facts, `gather` returns facts, and `judge` turns them into
//! findings and does nothing else. A finding has the code of its fault and what to do.
//!
//! An examination changes nothing: it creates no directory, installs nothing, and opens the state store only if it exists and has
//! the format of this version. It starts the Pulumi CLI for its version, plugins for their kind, and providers for their schema.

mod check;
mod directory;
mod examination;
mod finding;
mod world;

mod cache;
mod clock;
mod configuration;
mod daemon_socket;
mod environment;
mod home_directory;
mod operations;
mod plugin_lookup;
mod project_files;
mod provider_start;
mod pulumi_cli;
mod registry;
mod run_program;
mod space;
mod state_store;

pub use check::Check;
pub use examination::{Examined, examine};
pub use finding::{Finding, Level};
pub use world::World;
