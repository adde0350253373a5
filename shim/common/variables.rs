//! This program's own environment variables, which no process of others gets.
//!
//! The key of the state store and the password in its address are among them, and no provider, no credentials helper and
//! no Pulumi CLI has a use for any.

use std::ffi::{OsStr, OsString};

/// What the names of this program's own variables start with.
pub const OWN_VARIABLES: &str = "ISTHMUS_";

/// Whether a variable may be passed on to the processes of others.
pub fn is_for_others(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(OWN_VARIABLES.as_bytes())
}

/// The names of this program's own variables in the environment of this process, which every child process of others has to
/// be started without.
pub fn own_variables() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| !is_for_others(name))
}
