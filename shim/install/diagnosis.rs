//! What a diagnosis of a machine asks of this crate: the settings of connections without a connection, one query of a provider's
//! origins, and the kind of a failure.
//!
//! An [`InstallError`] has a text for its reader. Its [`Trouble`] is for programs that give further advice by its kind.

use std::io::ErrorKind;
use std::time::SystemTime;

use isthmus_common::Environment;
use url::Url;

use crate::cli_config::MethodLocation;
use crate::mirror::RemoteMirrorError;
use crate::registry::{PackageFault, RegistryError};
use crate::web::{Authorities, ProxyRules, TransportFault, WebError, WebFault};
use crate::{CliConfig, FilesystemMirror, InstallError, MirrorError};

/// The answer of a provider's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The origin that has the provider.
    pub origin: String,
    /// The time of a registry's own clock.
    pub date: Option<SystemTime>,
}

/// The kind of a failed installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The provider binary in the cache is another one than was installed.
    Altered,
    /// The certificate of a server is not valid at the time of this machine.
    CertificateDates,
    /// The certificate of a server is not trusted.
    CertificateNotTrusted,
    /// No certificate authority is known.
    NoAuthorities,
    /// The cache cannot be written to.
    Cache,
    /// The CLI configuration has no origin for the provider, or an override without one.
    Configuration,
    /// It contradicts the lock file.
    LockFile,
    /// A server requires authentication, or does not accept the configured one.
    NotAuthorized,
    /// The file system of the cache is full.
    NoSpace,
    /// The network is not used.
    Offline,
    /// A server answered with a fault of its own.
    Origin,
    /// The proxy cannot be reached, or does not reach the server.
    Proxy,
    /// The proxy requires authentication.
    ProxyAuthorization,
    /// The variable of a proxy is invalid.
    ProxySetting,
    /// No origin has the provider.
    UnknownProvider,
    /// No origin has a matching version, or a package for this platform.
    UnknownVersion,
    /// A server cannot be reached.
    Unreachable,
    /// The package is not the one that its publisher, registry or mirror names.
    Verification,
}

/// The proxy through which a host is reached by HTTPS, without its credentials.
pub fn configured_proxy(environment: &Environment, host: &str) -> Option<String> {
    let url = Url::parse(&format!("https://{host}/")).ok()?;
    let proxy = ProxyRules::from_environment(environment).proxy(&url)?;
    let port = proxy.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}{port}", proxy.host_str()?))
}

/// Why the variable of a proxy is invalid, with its name and without its value.
pub fn invalid_proxy(environment: &Environment) -> Option<String> {
    ProxyRules::from_environment(environment).nonsense()
}

/// Why a configured file or directory of certificate authorities cannot be read, or that none is known. Blocks on the file system.
pub fn unread_authorities(environment: &Environment) -> Option<String> {
    match Authorities::from_environment(environment).read(&[]) {
        Ok(trusted) => trusted.unread,
        Err(reason) => Some(reason),
    }
}

/// Why filesystem mirrors of a configuration cannot be read, which ends each installation that would search them. Blocks on the
/// file system.
pub fn unread_mirrors(config: &CliConfig) -> Vec<MirrorError> {
    let methods = config.provider_installation.iter().flat_map(|installation| &installation.methods);
    let mirrors = methods.filter_map(|method| match &method.location {
        MethodLocation::FilesystemMirror { path, place } => {
            Some(FilesystemMirror::new(path).configured_at(place))
        }
        _ => None,
    });
    mirrors.filter_map(|mirror| mirror.entries().err()).collect()
}

impl InstallError {
    /// The kind of the failure. Of several origins, that of the last one that is not an absence counts.
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::Registry(error) => of_registry(error),
            Self::RemoteMirror(error) => of_remote_mirror(error),
            Self::Protocols { .. } => Trouble::Origin,
            Self::Download { error, .. } => of_web(error),
            Self::Unreachable { error, .. }
            | Self::Enforced { error, .. }
            | Self::OtherRegistry { error, .. }
            | Self::Similar { error, .. } => error.trouble(),
            Self::Nowhere(errors) => {
                let mut troubles = errors.iter().map(Self::trouble);
                let other = troubles.rfind(|trouble| *trouble != Trouble::UnknownProvider);
                other.unwrap_or(Trouble::UnknownProvider)
            }
            Self::NoVersion(_) => Trouble::UnknownVersion,
            Self::NotMirrored { .. } => Trouble::UnknownProvider,
            Self::NoNetwork { .. } => Trouble::Offline,
            Self::NoSource { .. } | Self::NoOverride { .. } | Self::Override { .. } | Self::Mirror(_) => {
                Trouble::Configuration
            }
            Self::NoLockFile { .. } | Self::NotInLock { .. } | Self::Locked(_) => Trouble::LockFile,
            Self::OtherThanMirrored { .. } | Self::Sum(_) | Self::Unpack(_) | Self::NoProgram { .. } => {
                Trouble::Verification
            }
            Self::Altered(_) => Trouble::Altered,
            Self::Copy { source, .. } | Self::Write { source, .. } => match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Trouble::NoSpace,
                _ => Trouble::Cache,
            },
        }
    }
}

fn of_registry(error: &RegistryError) -> Trouble {
    match error {
        RegistryError::NoService { .. } | RegistryError::InvalidService { .. } => Trouble::Origin,
        RegistryError::Web { error, .. } => of_web(error),
        RegistryError::UnknownProvider { .. } => Trouble::UnknownProvider,
        RegistryError::UnknownPackage { .. } => Trouble::UnknownVersion,
        RegistryError::Package { fault, .. } => match fault {
            PackageFault::NoSums(error) | PackageFault::NoSignature(error) => of_web(error),
            PackageFault::Platform { .. } | PackageFault::FileName(_) | PackageFault::Url(_) => {
                Trouble::Origin
            }
            _ => Trouble::Verification,
        },
    }
}

fn of_remote_mirror(error: &RemoteMirrorError) -> Trouble {
    match error {
        RemoteMirrorError::Web(error) => of_web(error),
        RemoteMirrorError::Address { .. } | RemoteMirrorError::Repository { .. } => Trouble::Configuration,
        RemoteMirrorError::Answer { .. } => Trouble::Origin,
        RemoteMirrorError::Denied { .. } | RemoteMirrorError::Credentials(_) => Trouble::NotAuthorized,
        RemoteMirrorError::NoPlatform(_) => Trouble::UnknownVersion,
    }
}

fn of_web(error: &WebError) -> Trouble {
    match &error.fault {
        WebFault::Transport(error) => match error.fault {
            TransportFault::NoRoute | TransportFault::Timeout => Trouble::Unreachable,
            TransportFault::NoProxy | TransportFault::Proxy => Trouble::Proxy,
            TransportFault::ProxyAuthorization => Trouble::ProxyAuthorization,
            TransportFault::Tls => Trouble::CertificateNotTrusted,
            TransportFault::CertificateDates => Trouble::CertificateDates,
            TransportFault::Setup => Trouble::NoAuthorities,
            TransportFault::Setting => Trouble::ProxySetting,
            TransportFault::Broken => Trouble::Origin,
        },
        WebFault::Credentials(_) => Trouble::NotAuthorized,
        WebFault::Status { status, .. } => match status.as_u16() {
            401 | 403 => Trouble::NotAuthorized,
            407 => Trouble::ProxyAuthorization,
            _ => Trouble::Origin,
        },
        WebFault::TooLarge(_)
        | WebFault::WebPage
        | WebFault::Malformed(_)
        | WebFault::Redirects(_)
        | WebFault::RedirectToNowhere
        | WebFault::Downgrade(_) => Trouble::Origin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_named_without_its_password() {
        let environment = Environment::from_iter([("HTTPS_PROXY", "http://me:hunter2@proxy.example:3128")]);
        assert_eq!(configured_proxy(&environment, "example.com").as_deref(), Some("proxy.example:3128"));
        assert_eq!(configured_proxy(&environment, "localhost:8443"), None);
        assert_eq!(invalid_proxy(&environment), None);
        let wrong = Environment::from_iter([("HTTPS_PROXY", "me:hunter2@")]);
        let reason = invalid_proxy(&wrong).expect("it is no address");
        assert!(reason.starts_with("HTTPS_PROXY") && !reason.contains("hunter2"), "{reason}");
    }

    #[test]
    fn authorities_that_cannot_be_read_are_named_by_their_variable() {
        let environment = Environment::from_iter([("SSL_CERT_FILE", "/nowhere/authority.pem")]);
        let reason = unread_authorities(&environment).expect("it is not there");
        assert!(reason.contains("SSL_CERT_FILE") && reason.contains("authority.pem"), "{reason}");
    }
}
