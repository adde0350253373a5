//! One exchange over the network: the seam that tests replace.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use url::Url;

use isthmus_common::BoxFuture;

use crate::failure::FailureClass;

/// Makes single exchanges: it follows no redirect and tries nothing twice.
pub(crate) trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends a GET, and waits for the head of the answer.
    fn get(&self, request: Request) -> BoxFuture<'_, Result<Response, TransportError>>;
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub url: Url,
    /// What is said along with it. A token in it is marked as sensitive.
    pub headers: HeaderMap,
}

/// An answer whose body is still to come.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Box<dyn Body>,
}

/// The body of an answer.
pub(crate) trait Body: fmt::Debug + Send {
    /// The next piece; nothing at the end. A body that ends too early is an error.
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, TransportError>>;
}

/// An exchange that did not come to an end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} ({detail})")]
pub struct TransportError {
    pub fault: TransportFault,
    pub detail: String,
}

/// How an exchange can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportFault {
    #[error("could not reach it")]
    NoRoute,
    #[error("could not reach the proxy")]
    NoProxy,
    #[error("no secure connection could be made")]
    Tls,
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
            // What a proxy does not let through may be forbidden here.
            Self::Proxy | Self::ProxyAuthorization => FailureClass::Refused,
            Self::Tls | Self::Broken | Self::Setup | Self::Setting => FailureClass::Refused,
        }
    }

    /// Whether the same exchange may well succeed a moment later.
    pub(crate) fn is_retryable(self) -> bool {
        match self {
            Self::NoRoute | Self::NoProxy | Self::Proxy | Self::Timeout | Self::Broken => true,
            Self::Tls | Self::ProxyAuthorization | Self::Setup | Self::Setting => false,
        }
    }
}
