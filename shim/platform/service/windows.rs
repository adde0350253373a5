//! None: a daemon is no service of Windows.

use std::io;
use std::time::Duration;

use super::PassedError;
use crate::local::StdListener;

/// None is passed.
///
/// # Errors
/// Never.
pub fn passed_socket() -> Result<Option<StdListener>, PassedError> {
    Ok(None)
}

/// Nothing: no service manager listens.
///
/// # Errors
/// Never.
pub fn ready(_: bool) -> io::Result<()> {
    Ok(())
}

/// Nothing: no service manager listens.
///
/// # Errors
/// Never.
pub fn stopping(_: Duration) -> io::Result<()> {
    Ok(())
}
