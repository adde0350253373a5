//! The plugin's side of a shared daemon: the calls of the engine are passed on to it.
//!
//! Each connection of the engine is one connection to the daemon, and one session there. The environment and the working
//! directory of this process go with it, because providers depend on both. A daemon that cannot be reached is no failure:
//! the calls are made in this process, as they are without a daemon, unless a resource may have been changed through the
//! daemon before. What it has not answered by then has an unknown outcome, which only its journal tells.

mod connection;
mod destination;
mod engine_side;
mod link;
mod network;
mod socket;

use std::sync::{Arc, Mutex, PoisonError, Weak};

pub(crate) use connection::{OwnServices, RelayConnection};
use destination::Destination;
pub use socket::{DaemonSocket, SocketError, of_socket};

use isthmus_session::process_context::ProcessContext;

/// Whether a plugin makes a call again, after it was lost together with a daemon that may have carried it out.
pub(crate) fn is_repeated<T>(request: &tonic::Request<T>) -> bool {
    request.metadata().contains_key(connection::REPEATED.as_str())
}

/// The way to a daemon.
#[derive(Debug)]
pub struct Relay {
    destination: Destination,
    /// The engine's address, as the plugin was started with it.
    engine: Option<String>,
    connections: Mutex<Vec<Weak<RelayConnection>>>,
}

impl Relay {
    /// The way to the daemon that the settings name, or to the one of this user if there is its socket.
    pub fn find(context: &ProcessContext, engine: Option<String>) -> Option<Arc<Self>> {
        let destination = Destination::find(context)?;
        Some(Arc::new(Self { destination, engine, connections: Mutex::default() }))
    }

    /// The way of one connection of the engine.
    pub(crate) fn connection(&self) -> Arc<RelayConnection> {
        let connection = Arc::new(RelayConnection::new(self.destination.clone(), self.engine.clone()));
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|connection| connection.strong_count() > 0);
        connections.push(Arc::downgrade(&connection));
        connection
    }

    /// Stops the calls of all connections.
    pub async fn cancel(&self) {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for connection in connections.iter().filter_map(Weak::upgrade) {
            connection.cancel().await;
        }
    }
}
