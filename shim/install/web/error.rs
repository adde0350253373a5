//! Errors of requests, with advice.
//!
//! URLs are shown without their query: registries sign links to archives there, which authorises a
//! download.

use http::StatusCode;
use url::Url;

use super::transport::{TransportError, TransportFault};
use crate::auth::CredentialsError;
use crate::failure::FailureClass;
use crate::shown::shown;

/// A request failed.
#[derive(Debug, thiserror::Error)]
#[error("{}", told(.url, .fault))]
pub struct WebError {
    pub url: Box<Url>,
    /// The cause. Part of this error's text, since it determines whether the path of the URL
    /// matters.
    pub fault: WebFault,
}

/// The cause.
#[derive(Debug, thiserror::Error)]
pub enum WebFault {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("it answered {status}{}", tried(*.attempts))]
    Status {
        status: StatusCode,
        who_asks: AuthState,
        attempts: u32,
        /// The `Retry-After` in seconds, if it is too long to wait for.
        wait: Option<u64>,
    },
    #[error("it sent more than {0} bytes")]
    TooLarge(u64),
    #[error("it answered with a web page where JSON is expected")]
    WebPage,
    #[error("its answer is not what the protocol says ({0})")]
    Malformed(String),
    #[error("it redirects more than {0} times")]
    Redirects(u8),
    #[error("it redirects to no address")]
    RedirectToNowhere,
    #[error("it redirects from https to {0}")]
    Downgrade(String),
}

/// Whether credentials were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthState {
    Told,
    /// None are configured.
    NotConfigured,
    /// Never: the server only has archives, or was redirected to.
    NotApplicable,
}

impl WebError {
    /// A 404 is absence only for documents that determine whether a provider or a version exists,
    /// for which the caller has its own error. A missing archive, list of checksums or signature is
    /// a refusal: the origin lists the version, and may have withdrawn it.
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

    pub(crate) fn new(url: &Url, fault: impl Into<WebFault>) -> Self {
        Self { url: Box::new(url.clone()), fault: fault.into() }
    }

    /// The server responded that it does not exist. 410 is different: it existed, and was removed
    /// on purpose.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self.fault, WebFault::Status { status: StatusCode::NOT_FOUND, .. })
    }

    /// Advice, for a help line.
    pub fn help(&self) -> Option<String> {
        help(&self.url, &self.fault)
    }

    /// The server requires authentication, or denies access.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(
            self.fault,
            WebFault::Status { status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, .. }
        )
    }

    /// A retry may succeed.
    pub(super) fn is_retryable(&self) -> bool {
        match &self.fault {
            WebFault::Transport(error) => error.fault.is_retryable(),
            WebFault::Status { status, .. } => {
                *status == StatusCode::TOO_MANY_REQUESTS
                    || (status.is_server_error() && *status != StatusCode::NOT_IMPLEMENTED)
            }
            _ => false,
        }
    }

    /// The server does not have this range of the document.
    pub(crate) fn is_not_satisfiable(&self) -> bool {
        matches!(self.fault, WebFault::Status { status: StatusCode::RANGE_NOT_SATISFIABLE, .. })
    }
}

fn of_status(status: StatusCode) -> FailureClass {
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        FailureClass::Unreachable
    } else {
        FailureClass::Refused
    }
}

fn tried(attempts: u32) -> String {
    if attempts > 1 { format!(" ({attempts} attempts)") } else { String::new() }
}

/// The failed request and its cause. If the server did not respond, the path is omitted.
fn told(url: &Url, fault: &WebFault) -> String {
    let server = server(url);
    match fault {
        WebFault::Transport(TransportError { fault: TransportFault::NoRoute, detail }) => {
            format!("could not reach {server}: {detail}")
        }
        WebFault::Transport(TransportError { fault: TransportFault::NoProxy, detail }) => {
            format!("could not reach the proxy for {server}: {detail}")
        }
        fault => format!("{}: {fault}", shown(url)),
    }
}

fn server(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the server");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

const PROXY_PASSWORD: &str = "put the proxy's user and password into HTTPS_PROXY: http://USER:PASSWORD@PROXY";
const MIRROR: &str =
    "try again later, or install from a mirror (`provider_installation` in the CLI configuration)";

fn help(url: &Url, fault: &WebFault) -> Option<String> {
    let host = url.host_str().unwrap_or("the server");
    Some(match fault {
        WebFault::Transport(error) => match error.fault {
            TransportFault::NoRoute | TransportFault::Timeout => {
                "behind a proxy, set HTTPS_PROXY; without a network, set ISTHMUS_OFFLINE=true and install from a filesystem \
                 mirror (`isthmus providers mirror`)"
                    .to_owned()
            }
            TransportFault::NoProxy | TransportFault::Proxy => {
                format!("check HTTPS_PROXY, and NO_PROXY if {host} needs no proxy")
            }
            TransportFault::Tls => format!(
                "if a proxy or a certificate authority of your own issues the certificate of {host}, set SSL_CERT_FILE to a PEM \
                 file with its certificate"
            ),
            TransportFault::CertificateDates => format!(
                "check the date of this machine (`date`); if it is right, the operator of {host} has to renew its certificate"
            ),
            TransportFault::Setup => {
                "install the system's certificates (the package ca-certificates), or set SSL_CERT_FILE".to_owned()
            }
            TransportFault::ProxyAuthorization => PROXY_PASSWORD.to_owned(),
            // It names the variable itself.
            TransportFault::Setting => return None,
            TransportFault::Broken => "try again".to_owned(),
        },
        WebFault::Status { status, who_asks, wait, .. } => match *status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => match who_asks {
                AuthState::Told => {
                    format!("the configured token is not accepted; renew it: {}", settings_of_token(url))
                }
                AuthState::NotConfigured => {
                    format!("{host} requires authentication: {}", settings_of_token(url))
                }
                AuthState::NotApplicable => {
                    format!("no token is sent to {host}, and without one it refuses this network; {MIRROR}")
                }
            },
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => PROXY_PASSWORD.to_owned(),
            StatusCode::TOO_MANY_REQUESTS => {
                let wait = wait.map_or_else(String::new, |seconds| format!(" for {seconds} seconds"));
                format!("{host} has received too many requests from this network, and accepts none{wait}; {MIRROR}")
            }
            status if status.is_server_error() => format!("this is a fault of {host}; {MIRROR}"),
            _ => return None,
        },
        WebFault::WebPage => format!(
            "the web page likely comes from a proxy or a login; check HTTPS_PROXY and NO_PROXY, and whether {host} is right"
        ),
        WebFault::Redirects(_) | WebFault::RedirectToNowhere | WebFault::Downgrade(_) => {
            format!("this is a fault of {host}, or of a proxy before it (HTTPS_PROXY, NO_PROXY)")
        }
        WebFault::TooLarge(_) | WebFault::Malformed(_) => format!("check whether {host} is right"),
        WebFault::Credentials(_) => return None,
    })
}

/// The settings of a token. A variable's name cannot contain a port.
fn settings_of_token(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let block = |host: &str| format!("add `credentials \"{host}\" {{ token = … }}` to the CLI configuration");
    match url.port() {
        Some(port) => block(&format!("{host}:{port}")),
        None => {
            let variable = host.replace('-', "__").replace('.', "_");
            format!("set TF_TOKEN_{variable}, or {}", block(host))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(url: &str, fault: WebFault) -> String {
        let error = WebError::new(&Url::parse(url).expect("an address"), fault);
        isthmus_common::with_help(error.to_string(), error.help())
    }

    #[test]
    fn an_address_is_shown_without_what_it_authorises() {
        assert_eq!(
            text("https://user:pass@example.com/a.zip?signature=s3cret#x", WebFault::Redirects(3)),
            "https://example.com/a.zip: it redirects more than 3 times\nhelp: this is a fault of example.com, or of a proxy \
             before it (HTTPS_PROXY, NO_PROXY)"
        );
    }

    #[test]
    fn each_failure_names_the_setting_that_may_mend_it() {
        let status = |code: u16, who_asks| WebFault::Status {
            status: StatusCode::from_u16(code).expect("a status"),
            who_asks,
            attempts: 3,
            wait: Some(900),
        };
        let transport = |fault| WebFault::Transport(TransportError::new(fault, "why"));
        let url = "https://my-registry.example.com/x";
        for (fault, says) in [
            (
                status(401, AuthState::NotConfigured),
                ": it answered 401 Unauthorized (3 attempts)\nhelp: my-registry.example.com requires authentication: set \
                 TF_TOKEN_my__registry_example_com, or add `credentials \"my-registry.example.com\"",
            ),
            (
                status(403, AuthState::Told),
                "\nhelp: the configured token is not accepted; renew it: set TF_TOKEN_",
            ),
            (
                status(403, AuthState::NotApplicable),
                "without one it refuses this network; try again later, or install from a mirror",
            ),
            (status(407, AuthState::NotApplicable), "USER:PASSWORD@PROXY"),
            (
                status(429, AuthState::NotApplicable),
                "accepts none for 900 seconds; try again later, or install from a mirror",
            ),
            (
                status(503, AuthState::NotApplicable),
                "\nhelp: this is a fault of my-registry.example.com; try again later, or install from a mirror",
            ),
            (WebFault::WebPage, "a proxy or a login; check HTTPS_PROXY and NO_PROXY"),
            (WebFault::Downgrade("http://x".to_owned()), "redirects from https to http://x\n"),
            (transport(TransportFault::Tls), "\nhelp: if a proxy or a certificate authority of your own "),
            (
                transport(TransportFault::Proxy),
                "the proxy did not connect to it (why)\nhelp: check HTTPS_PROXY",
            ),
            (transport(TransportFault::ProxyAuthorization), "USER:PASSWORD@PROXY"),
            (
                transport(TransportFault::Timeout),
                "it did not answer in time (why)\nhelp: behind a proxy, set HTTPS_PROXY",
            ),
            (transport(TransportFault::Setting), "as it is configured (why)"),
            (transport(TransportFault::Setup), "ca-certificates"),
        ] {
            let text = text(url, fault);
            assert!(text.starts_with("https://my-registry.example.com/x: ") && text.contains(says), "{text}");
        }
        for (fault, says) in [
            (
                TransportFault::NoRoute,
                "could not reach my-registry.example.com: why\nhelp: behind a proxy, set HTTPS_PROXY; ",
            ),
            (
                TransportFault::NoProxy,
                "could not reach the proxy for my-registry.example.com: why\nhelp: check HTTPS_PROXY",
            ),
        ] {
            let text = text(url, transport(fault));
            assert!(text.starts_with(says), "{text}");
        }
        let text = text("https://example.com:8443/", status(401, AuthState::NotConfigured));
        assert!(
            text.ends_with(
                "requires authentication: add `credentials \"example.com:8443\" { token = … }` to the CLI configuration"
            ),
            "{text}"
        );
    }
}
