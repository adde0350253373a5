//! The effect of each failure on a binary in the cache.

use http::StatusCode;
use semver::Version;
use url::Url;

use crate::auth::CredentialsError;
use crate::failure::FailureClass::{Absent, Refused, Unreachable};
use crate::mirror::RemoteMirrorError;
use crate::registry::{NoVersion, PackageFault, RegistryError};
use crate::web::{AuthState, TransportError, TransportFault, WebError, WebFault};
use crate::{InstallError, ProviderAddress};

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
