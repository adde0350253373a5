//! TLS to the server: rustls, with the system's CAs or those of a file.
//!
//! The server's certificate and its name are always verified.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use isthmus_common::trust::{TrustError, client_config};
use isthmus_common::{Links, read_regular};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as RustlsStream;

/// Setting up TLS failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    #[error("the authorities in {path} cannot be read; ISTHMUS_STORE_CA is a file of certificates in PEM")]
    Authorities {
        path: String,
        #[source]
        error: rustls::pki_types::pem::Error,
    },
    #[error(
        "the system has no authorities to check the server's certificate with; set ISTHMUS_STORE_CA to a file of them"
    )]
    NoAuthorities,
    #[error(transparent)]
    Configuration(#[from] TrustError),
}

/// Creates connections with TLS.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts the CAs in a file, or the system's.
    pub(super) fn new(authorities: Option<&Path>) -> Result<Self, TlsError> {
        let known = match authorities {
            Some(path) => {
                let fault = |error| TlsError::Authorities { path: path.display().to_string(), error };
                let text = read_regular(path, Links::Follow)
                    .map_err(|error| fault(rustls::pki_types::pem::Error::Io(error)))?;
                let known: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
                let known = known.map_err(fault)?;
                if known.is_empty() {
                    return Err(fault(rustls::pki_types::pem::Error::NoItemsFound));
                }
                known
            }
            // Unreadable certificates of the system are ignored; the others may suffice.
            None => {
                let known = rustls_native_certs::load_native_certs().certs;
                if known.is_empty() {
                    return Err(TlsError::NoAuthorities);
                }
                known
            }
        };
        Ok(Self(Arc::new(client_config(known)?)))
    }
}

/// A connection that is being established.
pub(super) struct Connect {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<S>;
    type TlsConnect = Connect;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connect, Self::Error> {
        // A Unix socket has no name; servers do not offer TLS on it either.
        let domain = if domain.is_empty() { "localhost" } else { domain };
        let name = ServerName::try_from(domain.to_owned())?;
        Ok(Connect { connector: TlsConnector::from(Arc::clone(&self.0)), name })
    }
}

impl<S> TlsConnect<S> for Connect
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { Ok(Stream(self.connector.connect(self.name, stream).await?)) })
    }
}

/// A connection with TLS.
pub(super) struct Stream<S>(RustlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use rustls::ServerConfig;
    use rustls::crypto::aws_lc_rs;
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use tokio_rustls::TlsAcceptor;

    use super::*;

    #[test]
    fn what_is_no_file_of_authorities_is_refused_and_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, mode) = (directory.path().join("ca.pem"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a FIFO");
        let Err(error) = Tls::new(Some(&path)) else { panic!("it is a FIFO") };
        assert!(isthmus_common::error_chain(&error).contains("it is a FIFO, not a regular file"), "{error}");
    }

    #[tokio::test]
    async fn a_server_with_the_certificate_that_is_named_is_trusted() {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["db.example".to_owned()]).expect("a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), certificate.pem()).expect("a file of this test's own");
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .expect("a certificate and its key");
        let acceptor = TlsAcceptor::from(Arc::new(server));
        for (name, is_trusted) in [("db.example", true), ("other.example", false)] {
            let mut tls = Tls::new(Some(file.path())).unwrap_or_else(|error| panic!("{error}"));
            let (near, far) = tokio::io::duplex(1 << 16);
            let connect =
                MakeTlsConnect::<tokio::io::DuplexStream>::make_tls_connect(&mut tls, name).expect("a name");
            let (connected, _) = tokio::join!(TlsConnect::connect(connect, near), acceptor.accept(far));
            let error = connected.map(drop).map_err(|error| error.to_string()).err();
            assert_eq!(error.is_none(), is_trusted, "{name}: {error:?}");
        }
    }
}
