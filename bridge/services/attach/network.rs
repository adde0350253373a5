//! Daemons at addresses: one of some replicas, over TLS, or one on this machine's loopback.
//!
//! What a plugin sends has credentials. It goes to a daemon whose certificate is verified, or, on the loopback, to a process of
//! its own user or of root, as the kernel says.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use isthmus_common::permissions::{PermissionsError, require_private_file};
use isthmus_common::trust::{TrustError, client_config};
use isthmus_common::{Links, blocking, read_regular};
use isthmus_grpc::{Stream, prepare_tcp};
use isthmus_platform::process::User;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use isthmus_context::settings::{
    DAEMON_AUTHORITIES, DAEMON_CERTIFICATE, DAEMON_KEY, DAEMON_TOKEN_FILE, DaemonAddress, DaemonHost, Setting,
};
use isthmus_session::authorization::{
    AccessDenied, CertificatesError, HTTP2, LocalUsers, NamedFile, certificates, header_of, is_token,
    private_key,
};
use isthmus_session::process_context::ProcessContext;

/// How long a daemon may take to accept a connection.
const CONNECTING: Duration = Duration::from_secs(5);

/// Pause between looks at whether a connection was accepted.
const ACCEPTING: Duration = Duration::from_millis(10);

/// How long a machine may be silent, in the midst of a call: it is gone then, and its calls have unknown outcomes.
const SILENCE: Duration = Duration::from_secs(10);

/// Why no daemon is reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NetworkError {
    #[error("no daemon answers at {address}")]
    Absent {
        address: DaemonAddress,
        #[source]
        source: io::Error,
    },
    #[error(
        "the daemon at {address} is not used, because its certificate is not verified or it refuses the plugin's"
    )]
    Tls {
        address: DaemonAddress,
        #[source]
        source: io::Error,
    },
    #[error(
        "{address} belongs to the user with uid {owner}, and a daemon gets the environment of its own user and of root only"
    )]
    Owner { address: DaemonAddress, owner: User },
    #[error("the daemon at {address} is not used, because its user is unknown")]
    UnknownOwner {
        address: DaemonAddress,
        #[source]
        source: AccessDenied,
    },
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    #[error("the certificate and the key of the plugin do not fit together")]
    Pair(#[source] rustls::Error),
    #[error("no certificate of a daemon can be verified; set {} to a file of authorities", DAEMON_AUTHORITIES.name)]
    NoAuthorities,
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("the token in {path} is refused, which {setting} names", path = path.display(), setting = DAEMON_TOKEN_FILE.name)]
    TokenPermissions {
        path: PathBuf,
        #[source]
        source: PermissionsError,
    },
    #[error("{path}, which {setting} names, contains no token", path = path.display(), setting = DAEMON_TOKEN_FILE.name)]
    Token { path: PathBuf },
}

/// Some daemons that serve alike, and how the plugin identifies itself to them.
#[derive(Clone, Debug)]
pub(super) struct Replicas(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    addresses: Vec<DaemonAddress>,
    authorities: Option<NamedFile>,
    certificate: Option<(NamedFile, NamedFile)>,
    token: Option<PathBuf>,
}

/// A connection to one of them.
pub(super) struct Connected {
    pub(super) stream: Box<dyn Stream>,
    /// The header of its calls that identifies the plugin.
    pub(super) authorization: Option<HeaderValue>,
}

impl Replicas {
    pub(super) fn new(addresses: Vec<DaemonAddress>, context: &ProcessContext) -> Self {
        let own = &context.settings().to_daemon;
        let file =
            |setting: &Setting, path: &Path| NamedFile { setting: setting.name, path: context.resolve(path) };
        let authorities = own.authorities.as_deref().map(|path| file(&DAEMON_AUTHORITIES, path));
        let certificate = own.certificate.as_ref();
        let certificate = certificate
            .map(|(certificate, key)| (file(&DAEMON_CERTIFICATE, certificate), file(&DAEMON_KEY, key)));
        let token = own.token.as_deref().map(|path| context.resolve(path));
        Self(Arc::new(Inner { addresses, authorities, certificate, token }))
    }

    pub(super) fn are_several(&self) -> bool {
        self.0.addresses.len() > 1
    }

    /// Connects to one of them, beginning with any: so each has its share of the plugins. The files are read anew.
    pub(super) async fn connect(&self) -> Result<Connected, NetworkError> {
        let inner = Arc::clone(&self.0);
        let (config, authorization) = blocking(move || {
            let is_certified =
                inner.addresses.iter().any(|address| matches!(address.host, DaemonHost::Certified(_)));
            let config = if is_certified { Some(Arc::new(inner.client_config()?)) } else { None };
            Ok::<_, NetworkError>((config, inner.authorization()?))
        })
        .await?;
        let addresses = &self.0.addresses;
        let first = usize::try_from(getrandom::u32().unwrap_or_default()).unwrap_or_default()
            % addresses.len().max(1);
        let mut fault = NetworkError::NoAuthorities;
        for address in addresses.iter().cycle().skip(first).take(addresses.len()) {
            match connect(address, config.as_ref()).await {
                Ok(stream) => return Ok(Connected { stream, authorization }),
                Err(error) => fault = error,
            }
        }
        Err(fault)
    }
}

impl Inner {
    fn client_config(&self) -> Result<ClientConfig, NetworkError> {
        let known = match &self.authorities {
            Some(file) => certificates(file)?,
            // Unreadable certificates of the system are ignored; the others may suffice.
            None => rustls_native_certs::load_native_certs().certs,
        };
        if known.is_empty() {
            return Err(NetworkError::NoAuthorities);
        }
        let mut config = client_config(known)?;
        config.alpn_protocols = vec![HTTP2.to_vec()];
        if let Some((certificate, key)) = &self.certificate {
            let (chain, key) = (certificates(certificate)?, private_key(key)?);
            let pair = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
                .map_err(NetworkError::Pair)?;
            config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(pair));
        }
        Ok(config)
    }

    fn authorization(&self) -> Result<Option<HeaderValue>, NetworkError> {
        let Some(path) = &self.token else { return Ok(None) };
        let permitted = require_private_file(path);
        permitted.map_err(|source| NetworkError::TokenPermissions { path: path.clone(), source })?;
        let text = read_regular(path, Links::Follow).ok().and_then(|text| String::from_utf8(text).ok());
        let token = text.as_deref().map(str::trim).filter(|token| is_token(token));
        let header = token.and_then(|token| HeaderValue::from_str(&header_of(token)).ok());
        let mut header = header.ok_or_else(|| NetworkError::Token { path: path.clone() })?;
        // It stays out of debug output, and out of HPACK's table.
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

async fn connect(
    address: &DaemonAddress,
    config: Option<&Arc<ClientConfig>>,
) -> Result<Box<dyn Stream>, NetworkError> {
    let absent = |source| NetworkError::Absent { address: address.clone(), source };
    let stream = match &address.host {
        DaemonHost::Certified(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            within(TcpStream::connect((host, address.port))).await
        }
        DaemonHost::Loopback(ip) => within(TcpStream::connect(SocketAddr::new(*ip, address.port))).await,
    };
    let stream = stream.map_err(absent)?;
    prepare_tcp(&stream, SILENCE).map_err(absent)?;
    match (&address.host, config) {
        (DaemonHost::Certified(host), Some(config)) => {
            let tls = |source| NetworkError::Tls { address: address.clone(), source };
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let name = ServerName::try_from(host).map_err(|error| tls(io::Error::other(error)))?;
            let connecting = TlsConnector::from(Arc::clone(config)).connect(name, stream);
            Ok(Box::new(within(connecting).await.map_err(tls)?))
        }
        (DaemonHost::Certified(_), None) => Err(NetworkError::NoAuthorities),
        (DaemonHost::Loopback(_), _) => {
            let owner = within(async { Ok(listener_is_ours(&stream).await) }).await.map_err(absent)?;
            let address = address.clone();
            owner.map_err(|denied| match denied {
                AccessDenied::OtherUser { user: owner, .. } => NetworkError::Owner { address, owner },
                source => NetworkError::UnknownOwner { address, source },
            })?;
            Ok(Box::new(stream))
        }
    }
}

/// Requires that a process of this user or of root is at the other end of a connection on the loopback.
async fn listener_is_ours(stream: &TcpStream) -> Result<(), AccessDenied> {
    let users = LocalUsers::open();
    loop {
        match users.identify(stream).await {
            // It has not accepted the connection yet, which it says nothing of.
            Err(AccessDenied::NoSocket) => tokio::time::sleep(ACCEPTING).await,
            owner => return owner.map(|_| ()),
        }
    }
}

async fn within<T>(connecting: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(CONNECTING, connecting).await?
}
