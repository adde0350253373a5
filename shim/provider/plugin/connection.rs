//! The gRPC connection to one provider: a Unix socket or a loopback port, with or without mutual
//! TLS.
//!
//! The authority is `localhost` whatever the address is, as Go's own client sends it. A request is one
//! TLS record and one system call.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Authority;
use isthmus_grpc::{Channel, ChannelSettings, Stream};
use isthmus_platform::local;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::handshake::Address;
use super::tls::SERVER_NAME;

/// Maximum message size in bytes, in both directions: that of terraform-plugin-go. Every client on
/// a provider's channel needs it (`max_decoding_message_size`, `max_encoding_message_size`),
/// because tonic's default of 4 MiB is less than a large provider's schema.
pub const LARGEST_MESSAGE: usize = 256 * 1024 * 1024;

/// Connecting to the announced address failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// No connection, or not with the expected protocol.
    #[error("the connection to {address} could not be made")]
    Refused {
        /// The announced address.
        address: Address,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// No response in time.
    #[error("the connection to {address} was not answered within {} s", within.as_secs_f32())]
    TimedOut {
        /// The announced address.
        address: Address,
        /// The timeout.
        within: Duration,
    },
}

/// Connects, and reconnects when a call finds the connection lost. With `tls` or in plain text.
pub(super) async fn connect(
    address: &Address,
    tls: Option<ClientConfig>,
    within: Duration,
) -> Result<Channel, ConnectionError> {
    let target = address.clone();
    let tls = tls.map(|configuration| TlsConnector::from(Arc::new(configuration)));
    let channel = Channel::new(Authority::from_static("localhost"), SETTINGS, move || {
        open(target.clone(), tls.clone())
    });
    match tokio::time::timeout(within, channel.connect()).await {
        Ok(Ok(())) => Ok(channel),
        Ok(Err(source)) => Err(ConnectionError::Refused { address: address.clone(), source }),
        Err(_) => Err(ConnectionError::TimedOut { address: address.clone(), within }),
    }
}

pub(super) const SETTINGS: ChannelSettings = ChannelSettings {
    // Large enough to receive a large schema without waiting for acknowledgements.
    stream_window: 8 * 1024 * 1024,
    connection_window: 16 * 1024 * 1024,
    // Statuses with details, which are in trailers, may be as large as messages of Go's libraries.
    largest_headers: 16 * 1024 * 1024,
};

/// Settings of a connection with one streamed response, of which so much may be unread.
pub(crate) const STREAM_SETTINGS: ChannelSettings =
    ChannelSettings { stream_window: 1024 * 1024, connection_window: 1024 * 1024, ..SETTINGS };

async fn open(address: Address, tls: Option<TlsConnector>) -> io::Result<Box<dyn Stream>> {
    match address {
        Address::Unix(path) => secured(local::Stream::connect(path).await?, tls).await,
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            secured(stream, tls).await
        }
    }
}

async fn secured(stream: impl Stream + 'static, tls: Option<TlsConnector>) -> io::Result<Box<dyn Stream>> {
    match tls {
        None => Ok(Box::new(stream)),
        Some(connector) => {
            let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
            Ok(Box::new(connector.connect(name, stream).await?))
        }
    }
}
