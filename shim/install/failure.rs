//! What a failed installation means for a provider binary that is in the cache already, and that isthmus did not put there.
//!
//! Such a binary may be started only where its origin gave no answer at all or answered that it does not have the provider.
//! Everything else is a refusal: a verification that failed, and just as much an answer that cannot be verified. So each match
//! here names every variant; a new kind of failure has to be put into one of the classes.
//!
//! A connection that breaks in the middle of an answer is a refusal too, although nothing was refused: the origin was reached, and
//! what it had to say about the provider is not known.

use http::StatusCode;

use super::web::{TransportFault, WebError, WebFault};
use super::{InstallError, NoVersion, PackageFault, RegistryError, RemoteMirrorError};

/// What a failed installation means for a binary that is in the cache. Of several, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureClass {
    /// The origin answered that it does not have the provider, or does not have the version for this platform.
    Absent,
    /// The origin could not be reached, or could not answer: DNS, TCP, a timeout, 429 and 5xx.
    Unreachable,
    /// Everything else: the provider must not be started.
    Refused,
}

impl InstallError {
    /// What this means for a binary that is in the cache.
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Registry(error) => error.class(),
            Self::NoVersion(none) => none.class(),
            Self::RemoteMirror(error) => error.class(),
            Self::Download { error, .. } => error.class(),
            Self::Unreachable { error, .. }
            | Self::Enforced { error, .. }
            | Self::OtherRegistry { error, .. } => error.class(),
            // Without any there was no origin to have it, which `NoSource` says.
            Self::Nowhere(errors) => errors.iter().map(Self::class).max().unwrap_or(FailureClass::Refused),
            Self::NotMirrored { .. } => FailureClass::Absent,
            Self::NoNetwork { .. } => FailureClass::Unreachable,
            Self::NoSource { .. }
            | Self::Mirror(_)
            | Self::OtherThanMirrored { .. }
            | Self::NotInLock { .. }
            | Self::Locked(_)
            | Self::Sum(_)
            | Self::NoOverride { .. }
            | Self::Override { .. }
            | Self::Protocols { .. }
            | Self::Unpack(_)
            | Self::NoProgram { .. }
            | Self::Altered(_)
            | Self::Copy { .. }
            | Self::Write { .. } => FailureClass::Refused,
        }
    }

    /// Whether the next origin may have the provider: this one does not, or is behind a network that is not used. An origin that
    /// cannot be reached is not passed over: that would query a public registry because a private mirror is down.
    pub(super) fn allows_next_origin(&self) -> bool {
        match self {
            Self::NoNetwork { .. } => true,
            Self::Nowhere(errors) => errors.iter().all(Self::allows_next_origin),
            error => error.class() == FailureClass::Absent,
        }
    }
}

impl RegistryError {
    fn class(&self) -> FailureClass {
        match self {
            Self::NoService { .. } | Self::UnknownProvider { .. } | Self::UnknownPackage { .. } => {
                FailureClass::Absent
            }
            Self::Web { error, .. } => error.class(),
            Self::Package { fault, .. } => fault.class(),
            Self::InvalidService { .. } => FailureClass::Refused,
        }
    }
}

impl PackageFault {
    fn class(&self) -> FailureClass {
        match self {
            Self::NoSums(error) | Self::NoSignature(error) => error.class(),
            Self::Platform { .. }
            | Self::FileName(_)
            | Self::Url(_)
            | Self::Sum(_)
            | Self::Sums(_)
            | Self::NotListed(_)
            | Self::OtherSum { .. }
            | Self::OtherHash { .. }
            | Self::Hash(_)
            | Self::WrongSum { .. }
            | Self::Signature(_)
            | Self::Unsigned(_)
            | Self::Expired { .. } => FailureClass::Refused,
        }
    }
}

impl NoVersion {
    fn class(&self) -> FailureClass {
        match self {
            Self::Empty(_) | Self::Constraint { .. } | Self::Platform { .. } => FailureClass::Absent,
            Self::TooOld { .. } | Self::TooNew { .. } => FailureClass::Refused,
        }
    }
}

impl RemoteMirrorError {
    fn class(&self) -> FailureClass {
        match self {
            Self::NoPlatform(_) => FailureClass::Absent,
            Self::Web(error) => error.class(),
            Self::Address { .. }
            | Self::Answer { .. }
            | Self::Repository { .. }
            | Self::Denied { .. }
            | Self::Credentials { .. } => FailureClass::Refused,
        }
    }
}

impl WebError {
    /// A 404 is absence only where the document would say whether there is a provider or a version, and whoever asks for such a
    /// document makes it an error of its own. That an archive, its checksums or their signature are not there is a refusal: the
    /// origin lists the version, and may have withdrawn it.
    pub(crate) fn class(&self) -> FailureClass {
        match &self.fault {
            WebFault::Transport(error) => error.fault.class(),
            WebFault::Status { status, .. } => of_status(*status),
            WebFault::Credentials(_)
            | WebFault::TooLarge(_)
            | WebFault::WebPage
            | WebFault::Malformed(_)
            | WebFault::Redirects(_)
            | WebFault::RedirectToNowhere
            | WebFault::Downgrade(_) => FailureClass::Refused,
        }
    }
}

impl TransportFault {
    fn class(self) -> FailureClass {
        match self {
            Self::NoRoute | Self::NoProxy | Self::Timeout => FailureClass::Unreachable,
            // What a proxy does not let through may be forbidden here.
            Self::Proxy | Self::ProxyAuthorization => FailureClass::Refused,
            Self::Tls | Self::Broken | Self::Setup | Self::Setting => FailureClass::Refused,
        }
    }
}

fn of_status(status: StatusCode) -> FailureClass {
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        FailureClass::Unreachable
    } else {
        FailureClass::Refused
    }
}

#[cfg(test)]
mod tests {
    use semver::Version;
    use url::Url;

    use super::super::web::{AuthState, CredentialsError, TransportError};
    use super::super::{MissingPlatform, Platform, ProviderAddress};
    use super::FailureClass::{Absent, Refused, Unreachable};
    use super::*;

    fn web(fault: impl Into<WebFault>) -> WebError {
        WebError::new(&Url::parse("https://registry.example/").expect("an address"), fault)
    }

    fn status(code: u16) -> WebError {
        let status = StatusCode::from_u16(code).expect("a status");
        web(WebFault::Status { status, who_asks: AuthState::NotApplicable, attempts: 3, wait: None })
    }

    fn address() -> ProviderAddress {
        ProviderAddress::parse("a/b").expect("an address")
    }

    fn absence() -> InstallError {
        InstallError::NotMirrored { mirror: "the mirror".to_owned(), what: "a/b".to_owned() }
    }

    #[test]
    fn only_429_and_5xx_are_an_origin_that_cannot_be_reached() {
        for code in (100..600).filter(|code| *code != 200) {
            let expected = if code == 429 || code >= 500 { Unreachable } else { Refused };
            let download = InstallError::Download { address: address(), error: Box::new(status(code)) };
            let sums = PackageFault::NoSums(Box::new(status(code)));
            let signature = PackageFault::NoSignature(Box::new(status(code)));
            let of_package =
                |fault| RegistryError::Package { address: address(), version: Version::new(1, 0, 0), fault };
            for error in [
                download,
                InstallError::Registry(RegistryError::web(&address(), status(code))),
                InstallError::Registry(of_package(sums)),
                InstallError::Registry(of_package(signature)),
                InstallError::RemoteMirror(RemoteMirrorError::Web(status(code))),
            ] {
                assert_eq!(error.class(), expected, "{error}");
            }
        }
    }

    #[test]
    fn of_what_happens_to_connections_only_those_that_never_came_about_are_unreachable() {
        for (fault, expected) in [
            (TransportFault::NoRoute, Unreachable),
            (TransportFault::NoProxy, Unreachable),
            (TransportFault::Timeout, Unreachable),
            (TransportFault::Tls, Refused),
            (TransportFault::Proxy, Refused),
            (TransportFault::ProxyAuthorization, Refused),
            (TransportFault::Broken, Refused),
            (TransportFault::Setup, Refused),
            (TransportFault::Setting, Refused),
        ] {
            assert_eq!(web(TransportError::new(fault, "why")).class(), expected, "{fault:?}");
        }
        let reason = "its helper failed".to_owned();
        let credentials = CredentialsError { host: "registry.example".to_owned(), reason };
        for fault in [
            WebFault::Credentials(credentials),
            WebFault::TooLarge(1),
            WebFault::WebPage,
            WebFault::Malformed("why".to_owned()),
            WebFault::Redirects(3),
            WebFault::RedirectToNowhere,
            WebFault::Downgrade("http://x".to_owned()),
        ] {
            let error = web(fault);
            assert_eq!(error.class(), Refused, "{error}");
        }
    }

    #[test]
    fn what_a_mirror_refuses_is_refused() {
        let url = Url::parse("https://mirror.example/").expect("an address");
        let text = || "why".to_owned();
        for error in [
            RemoteMirrorError::Address { url: text(), reason: text() },
            RemoteMirrorError::Answer { url: Box::new(url), reason: text() },
            RemoteMirrorError::Denied {
                registry: text(),
                repository: text(),
                with_credentials: true,
                reason: text(),
            },
            RemoteMirrorError::Credentials { registry: text(), reason: text() },
        ] {
            assert_eq!(InstallError::RemoteMirror(error).class(), Refused);
        }
        let missing = MissingPlatform {
            address: address(),
            version: Version::new(1, 0, 0),
            platform: Platform::CURRENT,
            others: Vec::new(),
        };
        let missing = InstallError::RemoteMirror(RemoteMirrorError::NoPlatform(Box::new(missing)));
        assert_eq!(missing.class(), Absent);
    }

    #[test]
    fn of_several_origins_a_refusal_counts_most_and_an_absence_least() {
        let no_network = || InstallError::NoNetwork { why: "a test says so".to_owned() };
        let refused = || InstallError::RemoteMirror(RemoteMirrorError::Web(status(403)));
        assert_eq!(InstallError::Nowhere(vec![absence(), absence()]).class(), Absent);
        assert_eq!(InstallError::Nowhere(vec![no_network(), absence()]).class(), Unreachable);
        assert_eq!(InstallError::Nowhere(vec![refused(), no_network(), absence()]).class(), Refused);
        assert_eq!(InstallError::Nowhere(vec![]).class(), Refused);
        assert!(absence().allows_next_origin() && no_network().allows_next_origin());
        let unreachable = InstallError::RemoteMirror(RemoteMirrorError::Web(status(503)));
        assert!(!unreachable.allows_next_origin() && !refused().allows_next_origin());
    }

    #[test]
    fn a_version_that_no_origin_lists_is_absent_and_one_that_cannot_run_is_refused() {
        let (address, version) = (address(), Version::new(1, 0, 0));
        let class = |none| InstallError::NoVersion(Box::new(none)).class();
        assert_eq!(class(NoVersion::Empty(address.clone())), Absent);
        let majors = vec![4];
        let old = NoVersion::TooOld { address: address.clone(), version, majors, nearest: None };
        assert_eq!(class(old), Refused);
        let host = || "registry.example".to_owned();
        let class = |error| InstallError::Registry(error).class();
        assert_eq!(class(RegistryError::NoService { host: host() }), Absent);
        assert_eq!(class(RegistryError::UnknownProvider { address }), Absent);
        assert_eq!(class(RegistryError::InvalidService { host: host(), service: "x".to_owned() }), Refused);
    }
}
