//! What differs between operating systems, and nothing else.
//!
//! No other crate asks the compiler for a system: each module here has the same functions on every system, and the file of a
//! system (`linux.rs`, `macos.rs`, `unix.rs` for both, `windows.rs`) implements them. There are no traits: a build has one
//! system, which the compiler chooses.
//!
//! - [`files`] and [`directory`]: permissions, identity, locks, and directories that nothing redirects.
//! - [`process`]: this process and its user.
//! - [`local`]: connections on this machine, and who is at their other end.
//! - [`service`]: the manager of services that has started this process.
//! - [`terminal`]: sizes and keys.
//! - [`IS_LINUX`] and its like are for conventions of other programs, such as where their files are.
//! - [`supervise`]: starts a program so that it ends with this process, with all that it has started.

#![warn(missing_docs)]

pub mod directory;
pub mod files;
pub mod local;
pub mod process;
pub mod service;
pub mod supervise;
pub mod terminal;

/// The variable with the user's directory.
pub const HOME: &str = if IS_WINDOWS { "USERPROFILE" } else { "HOME" };

/// The variable with the directory for temporary files.
pub const TEMPORARY: &str = if IS_WINDOWS { "TMP" } else { "TMPDIR" };

/// Whether this is Linux.
pub const IS_LINUX: bool = cfg!(target_os = "linux");
/// Whether this is macOS.
pub const IS_MACOS: bool = cfg!(target_os = "macos");
/// Whether this is Windows.
pub const IS_WINDOWS: bool = cfg!(windows);
