//! What differs between operating systems, and nothing else.
//!
//! No other crate asks the compiler for a system: each module here has the same functions on every system, and the file of a
//! system (`linux.rs`, `macos.rs`, `unix.rs` for both) implements them. There are no traits: a build has one
//! system, which the compiler chooses.
//!
//! - [`files`] and [`directory`]: permissions, identity, locks, and directories that nothing redirects.
//! - [`process`]: this process and its user.
//! - [`local`]: connections on this machine, and who is at their other end.
//! - [`terminal`]: sizes and keys.
//! - [`IS_LINUX`] and its like are for conventions of other programs, such as where their files are.
//! - [`supervise`]: starts a program so that it ends with this process, with all that it has started.

#![warn(missing_docs)]

pub mod directory;
pub mod files;
pub mod local;
pub mod process;
pub mod supervise;
pub mod terminal;

/// Whether this is Linux.
pub const IS_LINUX: bool = cfg!(target_os = "linux");
/// Whether this is macOS.
pub const IS_MACOS: bool = cfg!(target_os = "macos");
/// Whether this is Windows.
pub const IS_WINDOWS: bool = cfg!(windows);
