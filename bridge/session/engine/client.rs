//! The client of the engine's own service.
//!
//! An unreachable engine must not stop the plugin, so no call waits longer than `DEADLINE`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Authority;
use isthmus_grpc::{Channel, ChannelSettings, Stream};
use isthmus_proto::property::Struct;
use isthmus_proto::{lumirpc, pulumirpc};
use tokio::io::DuplexStream;
use tokio::sync::{Mutex, mpsc};

use super::log::Severity;

/// Timeout of one call to the engine.
const DEADLINE: Duration = Duration::from_secs(5);

/// Responses of an engine are small, but for the configuration of a legacy one.
const SETTINGS: ChannelSettings =
    ChannelSettings { stream_window: 1 << 20, connection_window: 1 << 20, largest_headers: 16 << 10 };

/// What stands for the address of an engine that only its plugin can reach.
const OFFERED: &str = "its-plugin";

/// The contract that the engine serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// `pulumirpc.Engine`.
    Today,
    /// `lumirpc.Engine`.
    Lumi,
}

/// A connection to an engine. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Engine {
    channel: Channel,
    generation: Generation,
    address: String,
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("{0:?} is not the address of an engine; it must look like 127.0.0.1:12345")]
    Address(String),
    #[error("the engine at {address} did not answer {call}: {}", status.message())]
    Call {
        address: String,
        call: &'static str,
        /// The status that gRPC returned.
        status: Box<tonic::Status>,
    },
}

impl Engine {
    /// Prepares a connection to `address`: `HOST:PORT`, or `:PORT` as the legacy engine writes it.
    /// The first call connects.
    pub fn new(address: &str, generation: Generation) -> Result<Self, EngineError> {
        let invalid = || EngineError::Address(address.to_owned());
        let (host, port) = address.rsplit_once(':').ok_or_else(invalid)?;
        let port: u16 = port.parse().map_err(|_| invalid())?;
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        let address = format!("{host}:{port}");
        let channel = Channel::tcp(address.parse().map_err(|_| invalid())?, SETTINGS, DEADLINE);
        Ok(Self { channel, generation, address })
    }

    /// An engine of today at the other end of connections that its plugin offers.
    pub fn offered(connections: OfferedConnections) -> Self {
        let channel = Channel::new(Authority::from_static(OFFERED), SETTINGS, move || {
            let connections = connections.clone();
            async move { connections.take(DEADLINE).await }
        });
        Self { channel, generation: Generation::Today, address: OFFERED.to_owned() }
    }

    /// Whether only its plugin can reach it.
    pub(super) fn is_offered(&self) -> bool {
        self.address == OFFERED
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// Shows a message to the user, about the resource `urn` unless that is empty.
    pub async fn log(&self, severity: Severity, message: &str, urn: &str) -> Result<(), EngineError> {
        let call = async {
            match self.generation {
                Generation::Today => {
                    let request = pulumirpc::LogRequest {
                        severity: severity as i32,
                        message: message.to_owned(),
                        urn: urn.to_owned(),
                        stream_id: 0,
                        ephemeral: false,
                    };
                    pulumirpc::engine_client::EngineClient::new(self.channel.clone())
                        .log(request)
                        .await
                        .map(drop)
                }
                Generation::Lumi => {
                    let request =
                        lumirpc::LogRequest { severity: severity as i32, message: message.to_owned() };
                    lumirpc::engine_client::EngineClient::new(self.channel.clone())
                        .log(request)
                        .await
                        .map(drop)
                }
            }
        };
        self.within_deadline("Log", call).await
    }

    /// Whether no further call will be answered, as opposed to a call that was refused.
    pub fn is_gone(error: &EngineError) -> bool {
        let EngineError::Call { status, .. } = error else { return false };
        matches!(
            status.code(),
            tonic::Code::Unavailable | tonic::Code::DeadlineExceeded | tonic::Code::Unimplemented
        ) || std::error::Error::source(&**status).is_some()
    }

    /// Reads all variables of a module from a legacy engine, such as `random:config/vars`.
    pub async fn read_locations(&self, token: &str) -> Result<Struct, EngineError> {
        let request = lumirpc::ReadLocationsRequest { token: token.to_owned() };
        let call = async {
            lumirpc::engine_client::EngineClient::new(self.channel.clone())
                .read_locations(request)
                .await
                .map(|response| response.into_inner().properties.unwrap_or_default())
        };
        self.within_deadline("ReadLocations", call).await
    }

    async fn within_deadline<T>(
        &self,
        call: &'static str,
        future: impl Future<Output = Result<T, tonic::Status>>,
    ) -> Result<T, EngineError> {
        let outcome = tokio::time::timeout(DEADLINE, future).await.unwrap_or_else(|_| {
            Err(tonic::Status::deadline_exceeded(format!("no answer within {DEADLINE:?}")))
        });
        outcome.map_err(|status| EngineError::Call {
            address: self.address.clone(),
            call,
            status: Box::new(status),
        })
    }
}

/// Connections that wait to be used. A plugin offers the next one when the last was closed.
const MOST_WAITING: usize = 2;

/// The connections to one engine that its plugin offers: only the plugin can reach the engine's port. Clones share them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_generations_of_address_are_understood() {
        let today = Engine::new("127.0.0.1:4000", Generation::Today).expect("an address");
        assert_eq!(today.address, "127.0.0.1:4000");
        let old = Engine::new(":4000", Generation::Lumi).expect("an address");
        assert_eq!(old.address, "127.0.0.1:4000");
    }

    #[tokio::test]
    async fn what_is_no_address_is_refused_with_an_example() {
        for text in ["", "4000", "127.0.0.1:", "127.0.0.1:99999", "--logtostderr"] {
            let error = Engine::new(text, Generation::Today).expect_err(text);
            assert!(error.to_string().contains("127.0.0.1:12345"), "{error}");
        }
    }
}
