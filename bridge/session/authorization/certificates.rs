//! TLS of the daemon's address: its certificate, and the certificates of plugins.
//!
//! A plugin may have a certificate, whose name is its identity. One without is served only by a token: that is not judged here,
//! so that it gets an answer that says what is missing instead of a broken handshake.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::permissions::{PermissionsError, require_private_file, require_trusted_file};
use isthmus_common::{Links, blocking, read_regular};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_cert::Certificate;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::Decode as _;
use x509_cert::der::asn1::{PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::Identity;
use super::reread::{Reread, Unreadable};

/// The common name in a subject.
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// How long a peer may take to shake hands.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How often files are read that do not belong together: a certificate and its key are replaced one after the other.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// The protocol of gRPC.
pub const HTTP2: &[u8] = b"h2";

/// Why the certificates of a connection cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificatesError {
    #[error("failed to read {path}, which {setting} names: a file in PEM", path = path.display())]
    Read {
        setting: &'static str,
        path: PathBuf,
        #[source]
        source: pem::Error,
    },
    #[error("the file that {setting} names is refused")]
    Permissions {
        setting: &'static str,
        #[source]
        source: PermissionsError,
    },
    #[error("the certificate and the key for TLS do not fit together, or are not supported")]
    Pair(#[source] rustls::Error),
    #[error("the authorities for the certificates of plugins cannot be used")]
    Authorities(#[from] VerifierBuilderError),
    #[error("{path}, which {setting} names, has an authority that is not supported", path = path.display())]
    Authority {
        setting: &'static str,
        path: PathBuf,
        #[source]
        source: rustls::Error,
    },
}

/// Where the certificates are.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// Each with the name of its setting.
    pub certificate: NamedFile,
    pub key: NamedFile,
    /// Who issues the certificates of plugins.
    pub authorities: Option<NamedFile>,
}

/// A file, and the setting that names it.
#[derive(Clone, Debug)]
pub struct NamedFile {
    pub setting: &'static str,
    pub path: PathBuf,
}

/// The TLS of an address, whose files are read again when they change.
#[derive(Debug)]
pub struct ServerCertificates(Arc<Reread<CertificateFiles, ServerConfig, CertificatesError>>);

/// Why a connection is closed.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The fault is `None` if it was returned before.
    #[error("the files for TLS have changed and cannot be used")]
    Files(Option<CertificatesError>),
    /// It is the peer's, which has seen it.
    #[error("the peer did not finish the handshake of TLS")]
    Peer,
}

impl ServerCertificates {
    /// Reads the files. Blocks on the file system.
    pub fn read(files: CertificateFiles) -> Result<Self, CertificatesError> {
        let paths = [Some(&files.certificate), Some(&files.key), files.authorities.as_ref()];
        let paths = paths.into_iter().flatten().map(|file| file.path.clone()).collect();
        Ok(Self(Arc::new(Reread::read(paths, files, server_config)?)))
    }

    /// Shakes hands, and says who the peer's certificate names, if it has one.
    pub async fn accept(
        &self,
        stream: TcpStream,
    ) -> Result<(TlsStream<TcpStream>, Option<Identity>), HandshakeError> {
        let acceptor = TlsAcceptor::from(self.current().await.map_err(HandshakeError::Files)?);
        let shaken = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
        let stream = shaken.map_err(|_| HandshakeError::Peer)?.map_err(|_| HandshakeError::Peer)?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let identity = certificate.and_then(name_of).map(|name| Identity::Certificate(name.into()));
        Ok((stream, identity))
    }

    async fn current(&self) -> Result<Arc<ServerConfig>, Option<CertificatesError>> {
        let mut fault = None;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let files = Arc::clone(&self.0);
            match blocking(move || files.current()).await {
                Ok(config) => return Ok(config),
                Err(Unreadable { error }) => fault = fault.or(error),
            }
        }
        Err(fault)
    }
}

fn server_config(files: &CertificateFiles) -> Result<ServerConfig, CertificatesError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = versions.map_err(CertificatesError::Pair)?;
    let builder = match &files.authorities {
        None => builder.with_no_client_auth(),
        Some(authorities) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates(authorities)? {
                let (setting, path) = (authorities.setting, authorities.path.clone());
                roots.add(authority).map_err(|source| CertificatesError::Authority {
                    setting,
                    path,
                    source,
                })?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.allow_unauthenticated().build()?)
        }
    };
    let (chain, key) = (certificates(&files.certificate)?, private_key(&files.key)?);
    let mut config = builder.with_single_cert(chain, key).map_err(CertificatesError::Pair)?;
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(config)
}

/// The certificates in a file that no other user may change. Blocks on the file system.
pub fn certificates(file: &NamedFile) -> Result<Vec<CertificateDer<'static>>, CertificatesError> {
    let setting = file.setting;
    require_trusted_file(&file.path).map_err(|source| CertificatesError::Permissions { setting, source })?;
    let text = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found =
        found.and_then(|found| if found.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(found) });
    found.map_err(|source| CertificatesError::Read { setting, path: file.path.clone(), source })
}

/// The key in a file that no other user may read. Blocks on the file system.
pub fn private_key(file: &NamedFile) -> Result<PrivateKeyDer<'static>, CertificatesError> {
    let setting = file.setting;
    require_private_file(&file.path).map_err(|source| CertificatesError::Permissions { setting, source })?;
    let key = PrivateKeyDer::from_pem_slice(&read(file)?);
    key.map_err(|source| CertificatesError::Read { setting, path: file.path.clone(), source })
}

fn read(file: &NamedFile) -> Result<Vec<u8>, CertificatesError> {
    let fault = |error: io::Error| CertificatesError::Read {
        setting: file.setting,
        path: file.path.clone(),
        source: pem::Error::Io(error),
    };
    read_regular(Path::new(&file.path), Links::Follow).map_err(fault)
}

/// The name that a certificate is issued for: its first URI, as of SPIFFE, or else its first DNS name, or else the common name
/// of its subject.
fn name_of(certificate: &CertificateDer<'_>) -> Option<String> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let names = certificate.tbs_certificate.get::<SubjectAltName>().ok()?.map(|(_, names)| names.0);
    let names = names.unwrap_or_default();
    let uri = names.iter().find_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str()),
        _ => None,
    });
    let dns = || {
        names.iter().find_map(|name| match name {
            GeneralName::DnsName(name) => Some(name.as_str()),
            _ => None,
        })
    };
    let name = uri.or_else(dns).map(str::to_owned).or_else(|| {
        let subject = &certificate.tbs_certificate.subject;
        subject
            .0
            .iter()
            .flat_map(|names| names.0.iter())
            .find(|name| name.oid == COMMON_NAME)
            .and_then(text_of)
    });
    // It is written into logs.
    name.filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()))
}

fn text_of(name: &AttributeTypeAndValue) -> Option<String> {
    let text = name.value.decode_as::<Utf8StringRef<'_>>().map(|text| text.as_str().to_owned());
    text.or_else(|_| name.value.decode_as::<PrintableStringRef<'_>>().map(|text| text.as_str().to_owned()))
        .ok()
}
