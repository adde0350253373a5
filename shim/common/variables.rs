//! Environment variables of this program, which child processes do not inherit.
//!
//! They include the key of the state store and the password in its address; providers, credentials
//! helpers and the Pulumi CLI do not need them.

use std::ffi::{OsStr, OsString};

/// Prefix of this program's variables.
pub const OWN_VARIABLES: &str = "ISTHMUS_";

/// Whether child processes may inherit a variable.
pub fn is_for_others(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(OWN_VARIABLES.as_bytes())
}

/// Names of this program's variables in the environment, to be removed for child processes.
pub fn own_variables() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| !is_for_others(name))
}
