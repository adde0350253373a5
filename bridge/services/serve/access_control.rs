//! Who is served by a shared daemon at the address at which it serves plugins besides its socket.

use isthmus_platform::local::shared_listener;
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::blocking;
use isthmus_grpc::prepare_tcp;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use super::limits::Peer;
use super::places::{Place, Places, Source};
use isthmus_context::settings::{
    Identification, LISTEN, Security, TLS_CERTIFICATE, TLS_CLIENT_AUTHORITIES, TLS_KEY,
};
use isthmus_session::authorization::{
    AccessDenied, CertificateFiles, CertificatesError, HandshakeError, Identity, LocalUsers, NamedFile,
    ServerCertificates, Tokens, TokensError,
};
use isthmus_session::process_context::ProcessContext;

/// Connections at a time that have not identified themselves yet.
const MOST_UNAUTHENTICATED: usize = 128;

/// How long an address may be in use that a predecessor has listened on.
const HANDOVER: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// How long a machine may be silent: it is gone then, and its sessions end.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a peer may take to begin with TLS.
const GREETING: Duration = Duration::from_secs(10);

/// Why a shared daemon cannot say whom it serves.
#[derive(Debug, thiserror::Error)]
pub enum AccessControlError {
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    #[error(transparent)]
    Tokens(#[from] TokensError),
}

/// The address of a daemon cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address}, which {setting} names", setting = LISTEN.name)]
pub struct ListenError {
    address: SocketAddr,
    /// What a daemon serves all the same that has taken over the socket of another one.
    pub without_network: Admission,
    source: io::Error,
}

/// The address of a shared daemon, at which it does not listen yet, if it has one.
#[derive(Debug)]
pub struct AccessControl(Option<(SocketAddr, Authentication)>);

/// The same, as it is served by.
#[derive(Debug)]
pub struct Admission {
    pub(super) network: Option<Network>,
}

/// An address, at which it listens already.
#[derive(Debug)]
pub(super) struct Network {
    listener: TcpListener,
    authentication: Arc<Authentication>,
    unauthenticated: Places,
}

/// How the peers of an address identify themselves.
#[derive(Debug)]
struct Authentication {
    certificates: Option<ServerCertificates>,
    tokens: Option<Arc<Tokens>>,
}

/// A connection whose peer is to identify itself.
#[derive(Debug)]
pub(super) struct Unauthenticated {
    stream: TcpStream,
    authentication: Arc<Authentication>,
    /// Free when it has identified itself.
    place: Place,
}

/// A connection, by what identifies its calls.
pub(super) enum Authenticated {
    /// A process of this machine: a plugin, or an engine that attaches to the daemon.
    Local { stream: TcpStream, identity: Identity },
    /// The holder of a certificate.
    Certified { stream: Box<dyn Bytes>, identity: Identity },
    /// Each call has a token.
    ByToken { stream: Box<dyn Bytes>, tokens: Arc<Tokens>, place: Place },
    /// Its calls are answered with the reason.
    Refused { stream: Box<dyn Bytes>, reason: AccessDenied },
}

/// What a connection is to its server.
pub(super) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<Io: AsyncRead + AsyncWrite + Send + Unpin> Bytes for Io {}

impl AccessControl {
    /// Reads the files that the settings of a daemon name.
    pub async fn open(context: &ProcessContext) -> Result<Self, AccessControlError> {
        let (settings, of) = (context.settings(), context.clone());
        let authentication = blocking(move || Authentication::of(&of)).await?;
        Ok(Self(settings.network.as_ref().map(|network| network.listen).zip(authentication)))
    }

    /// Listens, by the listener that a predecessor has handed over if it has the same address. One that was replaced by
    /// a daemon with another address may listen at this for another moment.
    pub async fn listen(self, handed_over: Option<StdTcpListener>) -> Result<Admission, ListenError> {
        let Some((address, authentication)) = self.0 else {
            return Ok(Admission { network: None });
        };
        let until = Instant::now() + HANDOVER;
        let mut handed_over = handed_over.filter(|listener| is_at(listener, address));
        let listener = loop {
            let listener = match handed_over.take() {
                Some(listener) => TcpListener::from_std(listener),
                None => TcpListener::bind(address).await,
            };
            match listener {
                Ok(listener) => break listener,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(source) => {
                    let without_network = Admission { network: None };
                    return Err(ListenError { address, without_network, source });
                }
            }
        };
        let (authentication, unauthenticated) = (Arc::new(authentication), Places::new(MOST_UNAUTHENTICATED));
        Ok(Admission { network: Some(Network { listener, authentication, unauthenticated }) })
    }
}

/// Whether that is its address; with port 0, any port is.
fn is_at(listener: &StdTcpListener, address: SocketAddr) -> bool {
    let is_same = |found: SocketAddr| {
        found.ip() == address.ip() && (address.port() == 0 || found.port() == address.port())
    };
    listener.local_addr().is_ok_and(is_same)
}

impl Admission {
    /// The listener of the address, for a successor. Without one, the successor opens its own.
    pub fn listener(&self) -> Option<StdTcpListener> {
        shared_listener(&self.network.as_ref()?.listener).ok()
    }

    /// The address that is listened on, whose port the system may have chosen.
    pub fn address(&self) -> Option<SocketAddr> {
        self.network.as_ref()?.listener.local_addr().ok()
    }
}

impl Authentication {
    fn of(context: &ProcessContext) -> Result<Option<Self>, AccessControlError> {
        let Some(network) = &context.settings().network else { return Ok(None) };
        let file = |setting: &'static str, path: &Path| NamedFile { setting, path: context.resolve(path) };
        let tokens = |path: &Path| Ok::<_, TokensError>(Arc::new(Tokens::read(context.resolve(path))?));
        Ok(Some(match &network.security {
            Security::Loopback { tokens: path } => {
                Self { certificates: None, tokens: path.as_deref().map(tokens).transpose()? }
            }
            Security::Tls { certificate, key, identification } => {
                let (authorities, path) = match identification {
                    Identification::Certificates(authorities) => (Some(authorities), None),
                    Identification::Tokens(tokens) => (None, Some(tokens)),
                    Identification::Either { authorities, tokens } => (Some(authorities), Some(tokens)),
                };
                let files = CertificateFiles {
                    certificate: file(TLS_CERTIFICATE.name, certificate),
                    key: file(TLS_KEY.name, key),
                    authorities: authorities.map(|path| file(TLS_CLIENT_AUTHORITIES.name, path)),
                };
                Self {
                    certificates: Some(ServerCertificates::read(files)?),
                    tokens: path.map(|path| tokens(path)).transpose()?,
                }
            }
        }))
    }
}

impl Network {
    /// The next connection. If there are too many, another one loses its place.
    pub(super) async fn accept(&self, users: &LocalUsers) -> io::Result<Unauthenticated> {
        let (stream, peer) = self.listener.accept().await?;
        let place = self.unauthenticated.take(Source { address: peer.ip(), user: users.listed(&stream) });
        Ok(Unauthenticated { stream, authentication: Arc::clone(&self.authentication), place })
    }
}

impl Unauthenticated {
    /// Whose connections compete with those of others.
    pub(super) fn peer(&self) -> Peer {
        Peer::Address(self.place.address())
    }

    /// Finds out who is at the other end, before any call is read, as long as it has its place.
    pub(super) async fn identify(self, users: &LocalUsers) -> Result<Authenticated, HandshakeError> {
        let Self { stream, authentication, place } = self;
        let lost = place.lost();
        let identified = tokio::select! {
            // What is known already counts.
            biased;
            identified = identified(stream, &authentication, users, &place) => identified?,
            () = lost.cancelled() => return Err(HandshakeError::Peer),
        };
        Ok(match (identified, &authentication.tokens) {
            (Identified::Local(stream, Ok(identity)), _) => Authenticated::Local { stream, identity },
            (Identified::Tls(stream, Some(identity)), _) => Authenticated::Certified { stream, identity },
            (Identified::Local(stream, Err(_)), Some(tokens)) => {
                Authenticated::ByToken { stream: Box::new(stream), tokens: Arc::clone(tokens), place }
            }
            (Identified::Tls(stream, None), Some(tokens)) => {
                Authenticated::ByToken { stream, tokens: Arc::clone(tokens), place }
            }
            (Identified::Local(stream, Err(reason)), None) => {
                Authenticated::Refused { stream: Box::new(stream), reason }
            }
            (Identified::Tls(stream, None), None) => {
                Authenticated::Refused { stream, reason: AccessDenied::NoCertificate }
            }
        })
    }
}

/// What a connection says about its peer by itself.
enum Identified {
    Local(TcpStream, Result<Identity, AccessDenied>),
    Tls(Box<dyn Bytes>, Option<Identity>),
}

async fn identified(
    stream: TcpStream,
    authentication: &Authentication,
    users: &LocalUsers,
    place: &Place,
) -> Result<Identified, HandshakeError> {
    prepare_tcp(&stream, SILENCE).map_err(|_| HandshakeError::Peer)?;
    match &authentication.certificates {
        None => {
            let user = users.identify(&stream).await;
            Ok(Identified::Local(stream, user.map(Identity::User)))
        }
        Some(certificates) => {
            let spoken = tokio::time::timeout(GREETING, stream.readable()).await;
            spoken.map_err(|_| HandshakeError::Peer)?.map_err(|_| HandshakeError::Peer)?;
            place.has_spoken();
            let (stream, identity) = certificates.accept(stream).await?;
            Ok(Identified::Tls(Box::new(stream), identity))
        }
    }
}
