//! The daemon that a plugin passes its calls on to, and what it is told first.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use bytes::Bytes;
use isthmus_proto::daemon::{OpenRequest, Variable};

use crate::process_context::{ProcessContext, StartedBy};
use crate::settings;

/// A daemon on this machine.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub(super) socket: PathBuf,
    /// The first call of each connection.
    pub(super) open: OpenRequest,
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
