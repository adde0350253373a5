//! What the crates of the Terraform side share.
//!
//! - [`error_chain`] and [`with_help`]: how an error and its causes are printed.
//! - [`output_block()`]: what a process has printed, in the text of an error.
//! - [`counted()`]: a number with its noun.
//! - [`Secret`]: a value that is not printed. [`printable()`]: a text of others without what misleads a terminal or its reader.
//! - [`listed()`] and [`shortened()`]: lists and texts of others, as short as errors are.
//! - [`permissions`] and [`marker`]: what another user may change, and which directories are isthmus's own to remove.
//! - [`scratch`]: directories for what is not whole yet. [`mounts`]: what must not be removed with a directory.
//! - [`open_regular`] and its like: files that are files, since a FIFO would be waited for.
//! - [`trust`]: which servers are trusted, for downloads and for databases.
//! - [`Platform`]: the names of operating systems and processors in registries and caches.
//! - [`Environment`]: environment variables as a value. [`own_variables`]: those that no process of others gets.
//! - [`file_fault`]: why a file cannot be understood, without anything that is in it.
//! - [`FileStamp`]: whether a file is as it was when it was last read.
//! - [`blocking`]: work that blocks, called from async code.
//! - [`fail_point()`]: places at which tests kill the process.
//!
//! It is a crate of its own because `isthmus-install` uses neither values nor providers: each of these stands once, below
//! the crates that need it, and none of those needs another for it.

#![warn(missing_docs)]

mod chain;
mod counted;
mod environment;
pub mod fail_point;
pub mod file_fault;
mod file_stamp;
pub mod marker;
pub mod mounts;
mod output_block;
pub mod permissions;
pub mod planted;
mod platform;
mod printable;
mod regular_file;
pub mod scratch;
mod secret;
#[cfg(feature = "simulation")]
pub mod simulation;
mod tasks;
pub mod trust;

pub use chain::{HELP, error_chain, with_help};
pub use counted::counted;
pub use environment::{Environment, OWN_VARIABLES, is_for_others, own_variables, variable_names};
pub use fail_point::fail_point;
pub use file_stamp::FileStamp;
pub use output_block::{OutputKind, output_block, output_last, split_output};
pub use platform::Platform;
pub use printable::{is_misleading, listed, printable, quoted, shortened};
pub use regular_file::{Links, NotRegular, open_lock_file, open_regular, read_regular, require_regular};
pub use secret::{REDACTED, Secret};
pub use tasks::{BoxFuture, blocking, spawn_blocking};

/// The Terraform version in requests to providers and in exported state files. It must be a release
/// version: some providers refuse others, and many add it to their user agent.
pub const TERRAFORM_VERSION: &str = "1.15.0";
