//! A fake provider: a shell script that prints the handshake line and runs as the provider process,
//! and a gRPC server in the test, with the announced socket and certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use isthmus_proto::goplugin::grpc_controller_server::{GrpcController, GrpcControllerServer};
use isthmus_proto::goplugin::grpc_stdio_server::{GrpcStdio, GrpcStdioServer};
use isthmus_proto::goplugin::{Empty, StdioData, stdio_data};
use isthmus_proto::health::health_check_response::ServingStatus;
use isthmus_proto::health::health_server::{Health as HealthService, HealthServer};
use isthmus_proto::health::{HealthCheckRequest, HealthCheckResponse};
use rustix::process::{Pid, Signal, kill_process};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::UnixListener;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

use super::super::tls::self_signed;
use super::Workshop;

/// Behaviour of a fake provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// As a Go provider with AutoMTLS.
    Honest,
    /// Announces one certificate and presents another.
    Impostor,
    /// Plain text.
    Plain,
    /// Plain text, and ignores shutdown requests.
    Stubborn,
}

/// A running fake provider; dropping it stops the server.
pub(super) struct Peer {
    pub(super) script: PathBuf,
    pub(super) socket: PathBuf,
    asked_to_end: Arc<AtomicUsize>,
    _server: JoinSet<()>,
}

impl Peer {
    pub(super) fn start(workshop: &Workshop, manner: Manner) -> Self {
        let socket = workshop.path("peer.sock");
        let listener = UnixListener::bind(&socket).expect("a socket in the test's own directory");
        let (certificate, key) = self_signed(&rcgen::PKCS_ECDSA_P521_SHA512).expect("can make a certificate");
        let announced = match manner {
            Manner::Honest => STANDARD_NO_PAD.encode(certificate.der()),
            Manner::Impostor => {
                let (other, _) = self_signed(&rcgen::PKCS_ECDSA_P521_SHA512).expect("can make a certificate");
                STANDARD_NO_PAD.encode(other.der())
            }
            Manner::Plain | Manner::Stubborn => String::new(),
        };
        let script = workshop.script(
            "terraform-provider-peer",
            &format!(
                "trap 'exit 0' TERM\n\
                 trap 'printf \"panic: boom\\n\\ngoroutine 1 [running]:\\n\" >&2; exit 2' USR1\n\
                 printf '%s' \"$PLUGIN_CLIENT_CERT\" > \"$0.client\"\n\
                 echo $$ > \"$0.pid\"\n\
                 echo '{{\"@level\":\"info\",\"@message\":\"starting\",\"@module\":\"peer\"}}' >&2\n\
                 sleep 1000 & echo $! > \"$0.helper\"\n\
                 echo '1|6|unix|{}|grpc|{announced}|'\n\
                 while :; do wait; done\n",
                socket.display()
            ),
        );
        let asked_to_end = Arc::new(AtomicUsize::new(0));
        let services = Services { script: script.clone(), manner, asked_to_end: Arc::clone(&asked_to_end) };
        let (streams, incoming) = tokio::sync::mpsc::channel(4);
        let mut server = JoinSet::new();
        let tls = match manner {
            Manner::Honest | Manner::Impostor => Some((certificate.der().clone(), key.serialize_der())),
            Manner::Plain | Manner::Stubborn => None,
        };
        let client = companion(&script, "client");
        server.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("the listener lives");
                let (near, far) = tokio::io::duplex(64 * 1024);
                streams.send(Ok::<_, std::io::Error>(near)).await.expect("the server lives");
                match &tls {
                    None => {
                        connections.spawn(relay(stream, far));
                    }
                    Some((certificate, key)) => {
                        let acceptor = acceptor(certificate.clone(), key.clone(), &client);
                        connections.spawn(async move {
                            // Some tests are about clients that refuse the connection.
                            if let Ok(stream) = acceptor.accept(stream).await {
                                relay(stream, far).await;
                            }
                        });
                    }
                }
            }
        });
        server.spawn(async move {
            tonic::transport::Server::builder()
                .add_service(HealthServer::new(services.clone()))
                .add_service(GrpcStdioServer::new(services.clone()))
                .add_service(GrpcControllerServer::new(services))
                .serve_with_incoming(ReceiverStream::<std::io::Result<DuplexStream>>::new(incoming))
                .await
                .expect("the server ends with its test");
        });
        Self { script, socket, asked_to_end, _server: server }
    }

    /// The script's process, after its handshake line.
    pub(super) fn process(&self) -> u32 {
        number(&companion(&self.script, "pid"))
    }

    /// A process that the script started.
    pub(super) fn helper(&self) -> u32 {
        number(&companion(&self.script, "helper"))
    }

    /// Prints a trace and exits with status 2, as a Go program that panics.
    pub(super) fn panic(&self) {
        signal(self.process(), Signal::USR1);
    }

    /// Number of shutdown requests.
    pub(super) fn asked_to_end(&self) -> usize {
        self.asked_to_end.load(Ordering::SeqCst)
    }
}

/// A file that the script writes next to itself.
pub(super) fn companion(script: &Path, name: &str) -> PathBuf {
    script.with_extension(name)
}

pub(super) fn number(path: &Path) -> u32 {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.trim().parse().unwrap_or_else(|error| panic!("{} holds {text:?}: {error}", path.display()))
}

pub(super) fn signal(process: u32, signal: Signal) {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(id, signal).expect("the process is there");
}

async fn relay(mut outside: impl AsyncRead + AsyncWrite + Unpin, mut inside: DuplexStream) {
    // Connections break when a provider exits.
    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
}

fn acceptor(certificate: CertificateDer<'static>, key: Vec<u8>, client: &Path) -> tokio_rustls::TlsAcceptor {
    let pem = std::fs::read(client).expect("the script keeps the client's certificate");
    let expected = CertificateDer::from_pem_slice(&pem).expect("the client's certificate is PEM");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the usual versions")
        .with_client_cert_verifier(Arc::new(OnlyClient(expected)))
        .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key)))
        .expect("certificate and key fit");
    configuration.alpn_protocols = vec![b"h2".to_vec()];
    tokio_rustls::TlsAcceptor::from(Arc::new(configuration))
}

/// Requires the certificate from the environment, as go-plugin's server does.
#[derive(Debug)]
struct OnlyClient(CertificateDer<'static>);

impl ClientCertVerifier for OnlyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if *end_entity == self.0 {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

#[derive(Clone)]
struct Services {
    script: PathBuf,
    manner: Manner,
    asked_to_end: Arc<AtomicUsize>,
}

#[tonic::async_trait]
impl HealthService for Services {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        match request.get_ref().service.as_str() {
            "plugin" => Ok(Response::new(HealthCheckResponse { status: ServingStatus::Serving.into() })),
            other => Err(Status::not_found(other.to_owned())),
        }
    }
}

#[tonic::async_trait]
impl GrpcStdio for Services {
    async fn stream_stdio(&self, _: Request<()>) -> Result<Response<BoxStream<StdioData>>, Status> {
        let (sender, receiver) = tokio::sync::mpsc::channel(4);
        for text in ["printed by ", "the provider\n"] {
            let data = StdioData { channel: stdio_data::Channel::Stdout.into(), data: text.into() };
            sender.send(Ok(data)).await.expect("there is room");
        }
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}

#[tonic::async_trait]
impl GrpcController for Services {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.asked_to_end.fetch_add(1, Ordering::SeqCst);
        if self.manner == Manner::Stubborn {
            return Ok(Response::new(Empty {}));
        }
        signal(number(&companion(&self.script, "pid")), Signal::TERM);
        Err(Status::unavailable("the server stops in the middle of this call, as Go's does"))
    }
}
