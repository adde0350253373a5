//! The record of requests: every message from a client, for tests that compare two clients.
//!
//! It is recorded before decoding. It contains attribute values, also secrets: for tests only.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde::{Deserialize, Serialize};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::NamedService;

use crate::lines::Lines;
use crate::log::{self, Level};

/// A line of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// Service and method, such as `/tfplugin6.Provider/ReadResource`.
    pub method: String,
    /// Process id of the provider.
    pub process: u32,
    pub request: String,
}

impl RequestRecord {
    /// The message.
    ///
    /// # Errors
    /// When it is not base64.
    pub fn message(&self) -> Result<Bytes, base64::DecodeError> {
        STANDARD.decode(&self.request).map(Bytes::from)
    }
}

/// The file with the record of requests.
#[derive(Debug)]
pub(crate) struct Requests(Lines);

impl Requests {
    /// Opens the record for appending.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Lines::open(path).map(Self)
    }

    /// Appends a request as received: a byte for compression, four for the length, and the message.
    fn append(&self, method: &str, body: &[u8]) -> io::Result<()> {
        let message = body.get(FRAME_HEADER..).unwrap_or_default();
        self.0.append(&RequestRecord {
            method: method.to_owned(),
            process: std::process::id(),
            request: STANDARD.encode(message),
        })
    }
}

/// Bytes before a message in a gRPC body.
const FRAME_HEADER: usize = 5;

/// A service that records its requests, if configured.
#[derive(Clone, Debug)]
pub(crate) struct Recorded<S> {
    service: S,
    requests: Option<Arc<Requests>>,
}

impl<S> Recorded<S> {
    pub(crate) const fn new(service: S, requests: Option<Arc<Requests>>) -> Self {
        Self { service, requests }
    }
}

impl<S: NamedService> NamedService for Recorded<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Recorded<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Some(requests) = self.requests.clone() else { return Box::pin(self.service.call(request)) };
        // The clone is stored: only this instance was polled ready.
        let clone = self.service.clone();
        let mut service = std::mem::replace(&mut self.service, clone);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            // All requests of the protocol have one message.
            let body = match body.collect().await {
                Ok(body) => body.to_bytes(),
                Err(status) => return Ok(Status::cancelled(status.to_string()).into_http()),
            };
            if let Err(error) = requests.append(head.uri.path(), &body) {
                log::write(
                    Level::Error,
                    "a request could not be recorded",
                    &[("reason", &error.to_string())],
                );
            }
            service.call(http::Request::from_parts(head, Body::new(Full::new(body)))).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_back_without_its_frame() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("requests");
        let requests = Requests::open(&path).expect("a new file");

        requests.append("/service/Method", b"\0\0\0\0\x03abc").expect("it is written");

        let line = std::fs::read_to_string(&path).expect("it was written");
        let record: RequestRecord = serde_json::from_str(line.trim()).expect("a record");
        assert_eq!(record.method, "/service/Method");
        assert_eq!(record.message().expect("base64"), "abc");
    }
}
