//! One HTTP exchange, replaceable in tests.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use url::Url;

use isthmus_common::BoxFuture;

use crate::failure::FailureClass;

/// Makes single exchanges, without redirects and retries.
pub(crate) trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends a GET, and waits for the head of the response.
    fn get(&self, request: Request) -> BoxFuture<'_, Result<Response, TransportError>>;
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub url: Url,
    /// Its headers. A token in it is marked as sensitive.
    pub headers: HeaderMap,
}

/// A response whose body is not yet received.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Box<dyn Body>,
}

/// The body of a response.
pub(crate) trait Body: fmt::Debug + Send {
    /// The next chunk; `None` at the end. A body that ends too early is an error.
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, TransportError>>;
}

/// An exchange failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} ({detail})")]
pub struct TransportError {
    pub fault: TransportFault,
    pub detail: String,
}

/// How an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportFault {
    #[error("could not reach it")]
    NoRoute,
    #[error("could not reach the proxy")]
    NoProxy,
    #[error("no secure connection could be made")]
    Tls,
    /// The certificate is not valid at the time of this machine's clock.
    #[error("its certificate is not valid now")]
    CertificateDates,
    #[error("the proxy did not connect to it")]
    Proxy,
    #[error("the proxy requires authentication")]
    ProxyAuthorization,
    #[error("it did not answer in time")]
    Timeout,
    #[error("the connection broke")]
    Broken,
    #[error("no connection could be prepared")]
    Setup,
    #[error("no connection can be made as it is configured")]
    Setting,
}

impl TransportError {
    /// An error of this kind.
    pub fn new(fault: TransportFault, detail: impl Into<String>) -> Self {
        Self { fault, detail: detail.into() }
    }
}

impl TransportFault {
    pub(crate) fn class(self) -> FailureClass {
        match self {
            Self::NoRoute | Self::NoProxy | Self::Timeout => FailureClass::Unreachable,
            // The proxy's reason is unknown.
            Self::Proxy | Self::ProxyAuthorization => FailureClass::Refused,
            Self::Tls | Self::CertificateDates | Self::Broken | Self::Setup | Self::Setting => {
                FailureClass::Refused
            }
        }
    }

    /// Whether a retry may succeed.
    pub(crate) fn is_retryable(self) -> bool {
        match self {
            Self::NoRoute | Self::NoProxy | Self::Proxy | Self::Timeout | Self::Broken => true,
            Self::Tls | Self::CertificateDates | Self::ProxyAuthorization | Self::Setup | Self::Setting => {
                false
            }
        }
    }
}
