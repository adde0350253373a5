//! The daemon that a plugin passes its calls on to, and the first call to it.

use isthmus_platform::files::os_bytes;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;
use isthmus_proto::daemon::{OpenRequest, Variable};

use super::network::Replicas;
use super::socket::DaemonSocket;
use isthmus_context::settings::{self, DaemonChoice};
use isthmus_session::process_context::{ProcessContext, StartedBy};

/// A daemon.
#[derive(Clone)]
pub(super) struct Destination {
    pub(super) place: DaemonLocation,
    /// The first call of each connection.
    pub(super) open: OpenRequest,
}

/// Where a daemon listens.
#[derive(Clone, Debug)]
pub(super) enum DaemonLocation {
    Socket(PathBuf),
    Addresses(Replicas),
}

/// Omits the first call, which has the environment, with credentials.
impl fmt::Debug for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Destination").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Destination {
    /// Whether there are several daemons that serve alike.
    pub(super) fn has_replicas(&self) -> bool {
        matches!(&self.place, DaemonLocation::Addresses(replicas) if replicas.are_several())
    }

    /// The daemon that the settings of a plugin name, or the one of its user if there is its socket.
    pub(super) fn find(context: &ProcessContext) -> Option<Self> {
        let place = match &context.settings().daemon {
            DaemonChoice::Off => return None,
            DaemonChoice::WellKnown => DaemonLocation::Socket(DaemonSocket::existing(context)?),
            DaemonChoice::Socket(path) => DaemonLocation::Socket(context.resolve(path)),
            DaemonChoice::Addresses(addresses) => {
                DaemonLocation::Addresses(Replicas::new(addresses.clone(), context))
            }
        };
        Some(Self { place, open: open_request(context) })
    }
}

/// Opens a session for the engine of a plugin with this context.
fn open_request(context: &ProcessContext) -> OpenRequest {
    let bytes = |text: &OsStr| Bytes::copy_from_slice(os_bytes(text));
    let passed_on = context.environment().iter().filter(|(name, _)| settings::is_sent(name));
    let variables = passed_on.map(|(name, value)| Variable { name: bytes(name), value: bytes(value) });
    OpenRequest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        plugin_version: context.plugin_version().to_string(),
        environment: variables.collect(),
        working_directory: context
            .working_directory()
            .map(|path| bytes(path.as_os_str()))
            .unwrap_or_default(),
        started_by_engine: context.started_by() == StartedBy::Engine,
    }
}
