//! Certificates of tests: an authority, and what it has issued.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::uri::Authority as HttpAuthority;
use isthmus_grpc::{Channel, ChannelSettings, Stream};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::TlsConnector;

/// Who issues certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in files.
#[derive(Clone, Debug)]
pub(crate) struct Certified {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(parameters, key).expect("a certificate"))
    }

    /// Its own certificate, in a file.
    pub(crate) fn file(&self, directory: &Path) -> PathBuf {
        let path = directory.join("authority.pem");
        std::fs::write(&path, self.0.pem()).expect("a directory of the test's own");
        path
    }

    /// Issues a certificate for a name, or issues it anew.
    pub(crate) fn issue(&self, directory: &Path, name: &str) -> Certified {
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = parameters.signed_by(&key, &self.0).expect("a certificate");
        let certified = Certified {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}.key")),
        };
        std::fs::write(&certified.certificate, certificate.pem()).expect("a directory of the test's own");
        private(&certified.key, &key.serialize_pem());
        certified
    }
}

/// Writes a file that only its owner may read.
pub(crate) fn private(path: &Path, content: &str) {
    std::fs::write(path, content).expect("a directory of the test's own");
    isthmus_platform::files::set_mode(path, 0o600).expect("it is ours");
}

/// Connects to a daemon as `localhost` over TLS, with a certificate or without, and says what it has shown.
pub(crate) async fn tls(
    port: u16,
    authority: &Path,
    own: Option<&Certified>,
) -> std::io::Result<(Channel, CertificateDer<'static>)> {
    let known =
        CertificateDer::pem_file_iter(authority).expect("a file").map(|known| known.expect("a certificate"));
    let mut config = isthmus_common::trust::client_config(known.collect()).expect("an authority");
    config.alpn_protocols = vec![b"h2".to_vec()];
    if let Some(own) = own {
        let chain = CertificateDer::pem_file_iter(&own.certificate).expect("a file");
        let chain = chain.map(|certificate| certificate.expect("a certificate")).collect();
        let key = PrivateKeyDer::from_pem_file(&own.key).expect("a key");
        let pair = CertifiedKey::from_der(chain, key, &rustls::crypto::aws_lc_rs::default_provider())
            .expect("a pair");
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(pair));
    }
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let shown = stream.get_ref().1.peer_certificates().expect("it has one")[0].clone().into_owned();
    let stream = std::sync::Mutex::new(Some(stream));
    let settings =
        ChannelSettings { stream_window: 1 << 20, connection_window: 1 << 20, largest_headers: 1 << 20 };
    let channel = Channel::new(HttpAuthority::from_static("localhost"), settings, move || {
        let stream = stream.lock().expect("a lock").take();
        std::future::ready(match stream {
            Some(stream) => Ok(Box::new(stream) as Box<dyn Stream>),
            None => Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
        })
    });
    Ok((channel, shown))
}
