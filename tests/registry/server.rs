//! The server: documents by path over HTTP/1.1 and TLS, one request a connection.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::Release;
use crate::loopback::Loopback;

/// A running registry, stopped on drop.
#[derive(Debug)]
pub struct Registry {
    server: Loopback,
    authority: CertificateDer<'static>,
    authority_pem: String,
    shelf: Arc<Mutex<Shelf>>,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Document {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
    /// Number of bytes of the body after which the connection breaks.
    breaks: Option<usize>,
    /// Whether range requests are supported.
    ranges: bool,
}

#[derive(Debug, Default)]
struct Shelf {
    documents: HashMap<String, Document>,
    once: HashMap<String, VecDeque<Document>>,
    /// Version lists by provider.
    versions: BTreeMap<String, Vec<Value>>,
    requests: Vec<String>,
    token: Option<String>,
}

impl Document {
    /// A body with status 200.
    pub fn of(body: impl Into<Bytes>) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.into(), breaks: None, ranges: true }
    }

    /// JSON.
    pub fn json(body: &Value) -> Self {
        Self::of(body.to_string()).with_header("Content-Type", "application/json")
    }

    /// A status without a body.
    pub fn status(status: u16) -> Self {
        Self { status, ..Self::of("") }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Breaks the connection after this number of bytes.
    #[must_use]
    pub fn breaking_after(self, bytes: usize) -> Self {
        Self { breaks: Some(bytes), ..self }
    }

    /// Without support of range requests.
    #[must_use]
    pub fn without_ranges(self) -> Self {
        Self { ranges: false, ..self }
    }
}

impl Registry {
    /// A registry without providers, on its own port.
    ///
    /// # Panics
    /// When there is no loopback.
    pub fn start() -> Self {
        Self::with(certificates(|_| {}))
    }

    /// A registry with a certificate that is its own CA, as `openssl req -x509` makes it.
    ///
    /// # Panics
    /// When there is no loopback.
    pub fn self_signed() -> Self {
        let mut own = CertificateParams::new(names()).expect("names");
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let own = own.self_signed(&key).expect("a certificate");
        Self::with((config(own.der().clone(), &key), own.der().clone(), own.pem()))
    }

    /// A registry whose certificate has expired, by a CA that has not.
    ///
    /// # Panics
    /// When there is no loopback.
    pub fn expired() -> Self {
        Self::with(certificates(|leaf| {
            leaf.not_before = rcgen::date_time_ymd(2020, 1, 1);
            leaf.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }))
    }

    fn with((config, authority, authority_pem): (ServerConfig, CertificateDer<'static>, String)) -> Self {
        let shelf = Arc::new(Mutex::new(Shelf::default()));
        shelf.lock().unwrap_or_else(PoisonError::into_inner).documents.insert(
            "/.well-known/terraform.json".to_owned(),
            Document::json(&json!({ "providers.v1": "/v1/providers/" })),
        );
        let (acceptor, served) = (TlsAcceptor::from(Arc::new(config)), Arc::clone(&shelf));
        let server = Loopback::start(move |stream| serve(stream, acceptor.clone(), Arc::clone(&served)));
        Self { server, authority, authority_pem, shelf }
    }

    /// Its host in provider addresses.
    pub fn host(&self) -> String {
        format!("localhost:{}", self.server.address.port())
    }

    /// Its socket address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("https://{}", self.host())
    }

    /// The certificate of its CA.
    pub fn authority(&self) -> CertificateDer<'static> {
        self.authority.clone()
    }

    /// The certificate of its CA in PEM, for SSL_CERT_FILE.
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// Publishes a version, or adds a platform to one. The last list of checksums and its signature
    /// replace earlier ones.
    pub fn publish(&self, release: &Release) {
        let mut shelf = self.shelf();
        shelf.documents.extend(release.documents());
        let versions = shelf.versions.entry(release.provider.clone()).or_default();
        let mut listed = release.listed();
        match versions.iter_mut().find(|version| version["version"] == listed["version"]) {
            Some(known) => {
                if let (Some(known), Some(more)) =
                    (known["platforms"].as_array_mut(), listed["platforms"].as_array_mut())
                {
                    known.append(more);
                }
            }
            None => versions.push(listed),
        }
        let listed = json!({ "versions": versions, "warnings": null });
        let path = format!("/v1/providers/{}/versions", release.provider);
        shelf.documents.insert(path, Document::json(&listed));
    }

    /// Replaces a document for good.
    pub fn put(&self, path: &str, document: Document) {
        self.shelf().documents.insert(path.to_owned(), document);
    }

    /// Replaces a document for one request.
    pub fn put_once(&self, path: &str, document: Document) {
        self.shelf().once.entry(path.to_owned()).or_default().push_back(document);
    }

    /// Removes a document.
    pub fn remove(&self, path: &str) {
        self.shelf().documents.remove(path);
    }

    /// Requires this token for everything below /v1/ from now on.
    pub fn require_token(&self, token: &str) {
        self.shelf().token = Some(token.to_owned());
    }

    /// The requests: paths, and requested ranges.
    pub fn requests(&self) -> Vec<String> {
        self.shelf().requests.clone()
    }

    /// Number of requests of a path.
    pub fn count(&self, path: &str) -> usize {
        self.shelf().requests.iter().filter(|request| request.split(' ').next() == Some(path)).count()
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, shelf: Arc<Mutex<Shelf>>) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    // Disconnects are ignored.
    let _ = answer(&mut stream, &shelf).await;
}

async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), shelf: &Mutex<Shelf>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let range = header("range");
    let document = {
        let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.requests.push(range.as_ref().map_or_else(|| path.clone(), |range| format!("{path} {range}")));
        let wanted = shelf.token.as_ref().filter(|_| path.starts_with("/v1/"));
        if wanted.is_some_and(|token| header("authorization") != Some(format!("Bearer {token}"))) {
            Document::status(401)
        } else if let Some(once) = shelf.once.get_mut(&path).and_then(VecDeque::pop_front) {
            once
        } else {
            shelf.documents.get(&path).cloned().unwrap_or_else(|| Document::status(404))
        }
    };
    let from = range.filter(|_| document.ranges && document.status == 200).and_then(|range| {
        let from = range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok()?;
        (from < document.body.len()).then_some(from)
    });
    let status = if from.is_some() { 206 } else { document.status };
    let body = document.body.slice(from.unwrap_or(0)..);
    let mut text = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    if let Some(from) = from {
        let length = document.body.len();
        text.push_str(&format!("Content-Range: bytes {from}-{}/{length}\r\n", length - 1));
    }
    for (name, value) in &document.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{text}\r\n").as_bytes()).await?;
    match document.breaks.filter(|breaks| *breaks < body.len()) {
        // Without TLS's close_notify, so that the end is detected as a truncation.
        Some(breaks) => {
            stream.write_all(&body[..breaks]).await?;
            stream.flush().await
        }
        None => {
            stream.write_all(&body).await?;
            stream.shutdown().await
        }
    }
}

/// A certificate for loopback, which `change` changes, by its own CA.
fn certificates(
    change: impl FnOnce(&mut CertificateParams),
) -> (ServerConfig, CertificateDer<'static>, String) {
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority =
        CertifiedIssuer::self_signed(authority, KeyPair::generate().expect("a key")).expect("a certificate");
    let key = KeyPair::generate().expect("a key");
    let mut leaf = CertificateParams::new(names()).expect("names");
    change(&mut leaf);
    let leaf = leaf.signed_by(&key, &authority).expect("a certificate");
    (config(leaf.der().clone(), &key), authority.der().clone(), authority.pem())
}

/// The last one is for tests with a proxy.
fn names() -> Vec<String> {
    ["localhost", "127.0.0.1", "registry.example"].map(str::to_owned).to_vec()
}

/// A server configuration with a certificate and its key.
fn config(certificate: CertificateDer<'static>, key: &KeyPair) -> ServerConfig {
    let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], private)
        .expect("a certificate and its key")
}
