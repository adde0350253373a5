//! The gRPC connection to one provider: a Unix socket or a loopback port, with or without mutual
//! TLS.
//!
//! tonic's TLS cannot pin a certificate, so the connector creates the TLS stream, and tonic uses
//! plain HTTP/2 on it. The authority is `localhost` whatever the address is, as Go's own client
//! sends it. A request is one TLS record and one system call.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use isthmus_common::Coalesced;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};

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
        source: tonic::transport::Error,
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
    let endpoint = Endpoint::from_static("http://localhost")
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_header_list_size(LARGEST_HEADERS);
    let tls = tls.map(|configuration| TlsConnector::from(Arc::new(configuration)));
    let target = address.clone();
    let connector = tower::service_fn(move |_: Uri| {
        let target = target.clone();
        let tls = tls.clone();
        async move { open(&target, tls).await.map(TokioIo::new) }
    });
    match tokio::time::timeout(within, endpoint.connect_with_connector(connector)).await {
        Ok(Ok(channel)) => Ok(channel),
        Ok(Err(source)) => Err(ConnectionError::Refused { address: address.clone(), source }),
        Err(_) => Err(ConnectionError::TimedOut { address: address.clone(), within }),
    }
}

/// Large enough to receive a large schema without waiting for acknowledgements.
const STREAM_WINDOW: u32 = 8 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// The default of 16 KiB is too small for statuses with details, which are in trailers.
const LARGEST_HEADERS: u32 = 16 * 1024 * 1024;

/// A stream for HTTP/2.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn open(address: &Address, tls: Option<TlsConnector>) -> io::Result<Box<dyn Stream>> {
    match address {
        Address::Unix(path) => secured(UnixStream::connect(path).await?, tls).await,
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            secured(stream, tls).await
        }
    }
}

async fn secured(stream: impl Stream + 'static, tls: Option<TlsConnector>) -> io::Result<Box<dyn Stream>> {
    match tls {
        None => Ok(Box::new(Coalesced::new(stream))),
        Some(connector) => {
            let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
            Ok(Box::new(Coalesced::new(connector.connect(name, stream).await?)))
        }
    }
}
