//! Who is served by a shared daemon: its policy, and the address at which it serves plugins besides its socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::blocking;
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::authorization::{
    AccessDenied, CertificateFiles, CertificatesError, HandshakeError, Identity, LocalUsers, NamedFile,
    Policy, PolicyError, ServerCertificates, Tokens, TokensError,
};
use crate::process_context::ProcessContext;
use crate::settings::{Identification, LISTEN, Security, TLS_CERTIFICATE, TLS_CLIENT_AUTHORITIES, TLS_KEY};

/// Connections at a time that have not identified themselves yet.
const MOST_UNAUTHENTICATED: usize = 128;

/// How long a machine may be silent: it is gone then, and its sessions end.
const SILENCE: Duration = Duration::from_secs(30);
const PROBE: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;

/// Why a shared daemon cannot say whom it serves.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessControlError {
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    #[error(transparent)]
    Tokens(#[from] TokensError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error("failed to listen on {address}, which {setting} names", setting = LISTEN.name)]
    Listen {
        address: std::net::SocketAddr,
        #[source]
        source: io::Error,
    },
}

/// Whom a shared daemon serves, and at which address.
#[derive(Debug)]
pub(crate) struct AccessControl {
    pub(super) policy: Arc<Policy>,
    pub(super) network: Option<Network>,
}

/// An address, at which it listens already.
#[derive(Debug)]
pub(super) struct Network {
    listener: TcpListener,
    authentication: Arc<Authentication>,
    unauthenticated: Arc<Semaphore>,
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
    /// Returned when it has identified itself.
    permit: OwnedSemaphorePermit,
}

/// A connection, by what identifies its calls.
pub(super) enum Authenticated {
    /// A process of this machine: a plugin, or an engine that attaches to the daemon.
    Local { stream: TcpStream, identity: Identity },
    /// The holder of a certificate.
    Certified { stream: Box<dyn Bytes>, identity: Identity },
    /// Each call has a token.
    ByToken { stream: Box<dyn Bytes>, tokens: Arc<Tokens>, permit: OwnedSemaphorePermit },
    /// Its calls are answered with the reason.
    Refused { stream: Box<dyn Bytes>, reason: AccessDenied },
}

/// What a connection is to its server.
pub(super) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<Io: AsyncRead + AsyncWrite + Send + Unpin> Bytes for Io {}

impl AccessControl {
    /// Reads the files that the settings of a daemon name, and listens. Nothing is served yet.
    pub(crate) async fn open(context: &ProcessContext) -> Result<Self, AccessControlError> {
        let (settings, of) = (context.settings(), context.clone());
        let (policy, authentication) = blocking(move || {
            let path = of.settings().policy.as_deref().map(|path| of.resolve(path));
            Ok::<_, AccessControlError>((Policy::read(path)?, Authentication::of(&of)?))
        })
        .await?;
        let network = match (&settings.network, authentication) {
            (Some(network), Some(authentication)) => {
                let listener = TcpListener::bind(network.listen).await;
                let listener = listener
                    .map_err(|source| AccessControlError::Listen { address: network.listen, source })?;
                Some(Network {
                    listener,
                    authentication: Arc::new(authentication),
                    unauthenticated: Arc::new(Semaphore::new(MOST_UNAUTHENTICATED)),
                })
            }
            _ => None,
        };
        Ok(Self { policy: Arc::new(policy), network })
    }

    /// The address that is listened on, whose port the system may have chosen.
    pub(crate) fn address(&self) -> Option<std::net::SocketAddr> {
        self.network.as_ref()?.listener.local_addr().ok()
    }
}

impl Authentication {
    fn of(context: &ProcessContext) -> Result<Option<Self>, AccessControlError> {
        let Some(network) = &context.settings().network else { return Ok(None) };
        let file = |setting: &'static str, path: &std::path::Path| NamedFile {
            setting,
            path: context.resolve(path),
        };
        let tokens =
            |path: &std::path::Path| Ok::<_, TokensError>(Arc::new(Tokens::read(context.resolve(path))?));
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
    /// The next connection. Those that are too many are closed.
    pub(super) async fn accept(&self) -> io::Result<Unauthenticated> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let Ok(permit) = Arc::clone(&self.unauthenticated).try_acquire_owned() else { continue };
            return Ok(Unauthenticated { stream, authentication: Arc::clone(&self.authentication), permit });
        }
    }
}

impl Unauthenticated {
    /// Finds out who is at the other end, before any call is read.
    pub(super) async fn identify(self, users: &LocalUsers) -> Result<Authenticated, HandshakeError> {
        let Self { stream, authentication, permit } = self;
        prepare(&stream).map_err(|_| HandshakeError::Peer)?;
        let Some(certificates) = &authentication.certificates else {
            return Ok(match (users.identify(&stream).await, &authentication.tokens) {
                (Ok(user), _) => Authenticated::Local { stream, identity: Identity::User(user) },
                (Err(reason), None) => Authenticated::Refused { stream: Box::new(stream), reason },
                (Err(_), Some(tokens)) => {
                    Authenticated::ByToken { stream: Box::new(stream), tokens: Arc::clone(tokens), permit }
                }
            });
        };
        let (stream, identity) = certificates.accept(stream).await?;
        let stream = Box::new(stream);
        Ok(match (identity, &authentication.tokens) {
            (Some(identity), _) => Authenticated::Certified { stream, identity },
            (None, Some(tokens)) => Authenticated::ByToken { stream, tokens: Arc::clone(tokens), permit },
            (None, None) => Authenticated::Refused { stream, reason: AccessDenied::NoCertificate },
        })
    }
}

/// Messages are sent at once, and a machine that is gone is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENCE)?;
    sockopt::set_tcp_keepintvl(stream, PROBE)?;
    sockopt::set_tcp_keepcnt(stream, PROBES)?;
    Ok(())
}
