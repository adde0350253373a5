//! A provider for tests: in this process on its own socket, or a process.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hyper_util::rt::TokioIo;
use isthmus_cty::{Type, Value};
use isthmus_sandbox::{MAGIC_COOKIE, Misbehaviour, Protocol, Provider};
use rcgen::{CertificateParams, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::transport::{Channel, Endpoint};

/// The sandbox in the test's process.
pub(crate) struct InProcess {
    pub(crate) channel: Channel,
    pub(crate) directory: TempDir,
    _ended_with_this: DropGuard,
}

impl InProcess {
    /// Serves a protocol without TLS, with objects in `directory`.
    pub(crate) async fn start(protocol: Protocol, switches: Misbehaviour) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket).expect("a socket in the temporary directory");
        let provider = Arc::new(Provider::new(protocol, switches.into()).expect("a provider"));
        let ended = CancellationToken::new();
        let serving = ended.clone();
        tokio::spawn(async move { isthmus_sandbox::serve(&listener, None, provider, serving).await });
        Self { channel: connect(socket, None).await, directory, _ended_with_this: ended.drop_guard() }
    }

    /// The directory of objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.directory.path().join("objects")
    }
}

/// The sandbox as a process, killed on drop.
pub(crate) struct Process {
    pub(crate) child: Child,
    _directory: TempDir,
    stdout: BufReader<ChildStdout>,
    stderr: ChildStderr,
    client: ClientIdentity,
}

/// Fields of the handshake line.
pub(crate) struct HandshakeLine {
    pub(crate) protocol: String,
    pub(crate) socket: PathBuf,
    pub(crate) certificate: Option<CertificateDer<'static>>,
}

/// Whether TLS is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    On,
    Off,
}

impl Process {
    /// Starts the executable as a client that supports both protocols.
    pub(crate) fn start(tls: Tls, switches: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let client = ClientIdentity::generate();
        let mut command = executable();
        command
            .env(MAGIC_COOKIE.0, MAGIC_COOKIE.1)
            .env("PLUGIN_PROTOCOL_VERSIONS", "6,5")
            .env("PLUGIN_UNIX_SOCKET_DIR", directory.path())
            .env("SANDBOX_DIR", directory.path().join("objects"))
            .envs(switches.iter().copied());
        if tls == Tls::On {
            command.env("PLUGIN_CLIENT_CERT", &client.pem);
        }
        let mut child = command.spawn().expect("the executable starts");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let stderr = child.stderr.take().expect("stderr is a pipe");
        Self { child, _directory: directory, stdout, stderr, client }
    }

    /// The next line of stdout.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("stdout is text");
        line
    }

    /// Reads and parses the handshake line.
    pub(crate) fn handshake(&mut self) -> HandshakeLine {
        let line = self.line();
        let fields: Vec<&str> = line.trim().split('|').collect();
        let ["1", protocol, "unix", socket, "grpc", certificate] = fields[..] else {
            panic!("not a handshake: {line:?}");
        };
        let der = STANDARD_NO_PAD.decode(certificate).expect("base64 without padding");
        HandshakeLine {
            protocol: protocol.to_owned(),
            socket: PathBuf::from(socket),
            certificate: (!der.is_empty()).then(|| CertificateDer::from(der)),
        }
    }

    /// The client's certificate.
    pub(crate) const fn client(&self) -> &ClientIdentity {
        &self.client
    }

    /// Connects by the handshake line.
    pub(crate) async fn connect(&self, line: &HandshakeLine) -> Channel {
        let tls = line.certificate.clone().map(|certificate| self.client.connector(certificate));
        connect(line.socket.clone(), tls).await
    }

    /// Waits for the exit; returns the status and stderr.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).expect("stderr is text");
        let status = self.child.wait().expect("the process can be waited for");
        (status.code(), text)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The executable, without this process's environment.
pub(crate) fn executable() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terraform-provider-sandbox"));
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn connect(socket: PathBuf, tls: Option<TlsConnector>) -> Channel {
    let connector = tower::service_fn(move |_| {
        let (socket, tls) = (socket.clone(), tls.clone());
        async move {
            let stream = UnixStream::connect(&socket).await?;
            let stream: Box<dyn Stream> = match tls {
                None => Box::new(stream),
                Some(tls) => {
                    let name = ServerName::try_from("localhost").map_err(std::io::Error::other)?;
                    Box::new(tls.connect(name, stream).await?)
                }
            };
            Ok::<_, std::io::Error>(TokioIo::new(stream))
        }
    });
    Endpoint::from_static("http://localhost").connect_with_connector(connector).await.expect("a connection")
}

trait Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin {}

impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> Stream for S {}

/// A client's certificate for one test.
pub(crate) struct ClientIdentity {
    pub(crate) pem: String,
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl ClientIdentity {
    pub(crate) fn generate() -> Self {
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        Self { pem: certificate.pem(), certificate: certificate.der().clone(), key }
    }

    /// Connects to a server with exactly this certificate.
    pub(crate) fn connector(&self, server: CertificateDer<'static>) -> TlsConnector {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned { server, algorithms }))
            .with_client_auth_cert(vec![self.certificate.clone()], key)
            .expect("a client's certificate");
        config.alpn_protocols = vec![b"h2".to_vec()];
        TlsConnector::from(Arc::new(config))
    }
}

#[derive(Debug)]
struct Pinned {
    server: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *end_entity == self.server {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General("another certificate than the handshake's".to_owned()))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// An object with these attributes; others are null, or empty where null is invalid.
pub(crate) fn object(kind: &Type, attributes: &[(&str, Value)]) -> Value {
    let Type::Object(object) = kind else { panic!("{kind} is not an object") };
    let mut value = Value::null_object(object);
    for (name, attribute) in attributes {
        value = with(&value, name, attribute.clone());
    }
    value
}

/// The object with another value of an attribute.
pub(crate) fn with(base: &Value, name: &str, attribute: Value) -> Value {
    let Value::Object(attributes) = base else { panic!("{base:?} is not an object") };
    let mut attributes = attributes.clone();
    let before = attributes.insert(Arc::from(name), attribute);
    assert!(before.is_some(), "there is no attribute {name} in {base:?}");
    Value::Object(attributes)
}

pub(crate) fn attribute<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.attribute(name).unwrap_or_else(|| panic!("there is no attribute {name} in {object:?}"))
}

/// The proposed new state of an object without blocks: the configuration, and prior values where it
/// is null.
pub(crate) fn proposed(config: &Value, prior: &Value, computed: &[String]) -> Value {
    let mut proposed = config.clone();
    for name in computed {
        if attribute(config, name).is_null() {
            proposed = with(&proposed, name, attribute(prior, name).clone());
        }
    }
    proposed
}

/// Edits an object's file to cause drift.
pub(crate) fn edit(directory: &Path, from: &str, to: &str) {
    let mut changed = 0;
    for entry in std::fs::read_dir(directory).expect("the directory of objects") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a file of text");
        if text.contains(from) {
            std::fs::write(&path, text.replace(from, to)).expect("a writable file");
            changed += 1;
        }
    }
    assert_eq!(changed, 1, "exactly one object has {from:?} in it");
}
