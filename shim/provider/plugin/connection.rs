//! The gRPC connection to one provider: a unix socket or a loopback port, with or without our own TLS.
//!
//! tonic's TLS cannot pin a certificate, so the connector makes the whole stream and tonic believes that it speaks
//! plain HTTP/2. The authority is `localhost` whatever the address is, as Go's own client sends it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};

use super::handshake::Address;
use super::tls::SERVER_NAME;

/// The largest message, in bytes, in either direction: what terraform-plugin-go's servers accept and send. Every
/// client on a provider's channel needs it (`max_decoding_message_size`, `max_encoding_message_size`), because tonic's
/// default of 4 MiB is less than the schema of a large provider.
pub const LARGEST_MESSAGE: usize = 256 * 1024 * 1024;

/// The process did not take the connection that it announced.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// No connection, or none that speaks what was agreed.
    #[error("the connection to {address} could not be made")]
    Refused {
        /// What was announced.
        address: Address,
        /// What the system, TLS or HTTP/2 said.
        #[source]
        source: tonic::transport::Error,
    },
    /// Nothing happened.
    #[error("the connection to {address} was not answered within {} s", within.as_secs_f32())]
    TimedOut {
        /// What was announced.
        address: Address,
        /// How long it was waited for.
        within: Duration,
    },
}

/// Connects, and connects again whenever a call finds the connection lost. `tls` decides between TLS and plain text.
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

/// Large enough for the schema of a large provider to arrive without stopping for acknowledgements.
const STREAM_WINDOW: u32 = 8 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// HTTP/2's default here is 16 KiB, and a status with details (which travels in trailers) breaks the stream beyond it.
const LARGEST_HEADERS: u32 = 16 * 1024 * 1024;

/// Any stream that HTTP/2 can run over.
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
        None => Ok(Box::new(stream)),
        Some(connector) => {
            let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
            Ok(Box::new(connector.connect(name, stream).await?))
        }
    }
}
