//! The daemon that a plugin passes its calls on to, and the first call to it.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use bytes::Bytes;
use isthmus_proto::daemon::{OpenRequest, Variable};

use crate::process_context::{ProcessContext, StartedBy};
use crate::settings;

/// A daemon on this machine.
#[derive(Clone)]
pub(super) struct Destination {
    pub(super) socket: PathBuf,
    /// The first call of each connection.
    pub(super) open: OpenRequest,
}

/// Omits the first call, which has the environment, with credentials.
impl fmt::Debug for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Destination").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Destination {
    /// The daemon that listens on `socket`, for the engine of a plugin with this context.
    pub(super) fn new(socket: PathBuf, context: &ProcessContext) -> Self {
        let bytes = |text: &OsStr| Bytes::copy_from_slice(text.as_bytes());
        // The daemon has keys and a store of its own.
        let passed_on = context.environment().iter().filter(|(name, _)| !settings::is_of_daemon(name));
        let variables = passed_on.map(|(name, value)| Variable { name: bytes(name), value: bytes(value) });
        let open = OpenRequest {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plugin_version: context.plugin_version().to_string(),
            environment: variables.collect(),
            working_directory: context
                .working_directory()
                .map(|path| bytes(path.as_os_str()))
                .unwrap_or_default(),
            started_by_engine: context.started_by() == StartedBy::Engine,
        };
        Self { socket, open }
    }
}
