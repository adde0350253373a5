//! Connections to an engine that the engine's plugin offers: only the plugin can reach the engine's port.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use isthmus_grpc::Stream;
use tokio::io::DuplexStream;
use tokio::sync::{Mutex, mpsc};

/// Connections that wait to be used. A plugin offers the next one when the last was closed.
const MOST_WAITING: usize = 2;

/// The offered connections of one engine. Clones share them.
#[derive(Clone, Debug)]
pub struct OfferedConnections {
    offer: mpsc::Sender<DuplexStream>,
    waiting: Arc<Mutex<mpsc::Receiver<DuplexStream>>>,
}

impl Default for OfferedConnections {
    fn default() -> Self {
        let (offer, waiting) = mpsc::channel(MOST_WAITING);
        Self { offer, waiting: Arc::new(Mutex::new(waiting)) }
    }
}

impl OfferedConnections {
    /// Offers a connection. Returns whether it is kept: there is no use for many.
    pub fn offer(&self, connection: DuplexStream) -> bool {
        self.offer.try_send(connection).is_ok()
    }

    /// Takes a connection, which has this long to be offered.
    pub(super) async fn take(&self, within: Duration) -> io::Result<Box<dyn Stream>> {
        let next = async { self.waiting.lock().await.recv().await };
        match tokio::time::timeout(within, next).await? {
            Some(connection) => Ok(Box::new(connection)),
            None => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }
}
