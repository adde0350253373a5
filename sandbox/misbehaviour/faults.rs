//! Faults of one RPC, whichever it is: what a process, its transport or its connection does instead
//! of answering, or besides, when the RPC is called first.
//!
//! A wrapper of the generated service, so that every method of both protocols has the same faults,
//! and none of them needs a resource that misbehaves.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use socket2::{SockRef, Socket};
use tokio::sync::watch;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::NamedService;

use crate::log::{self, Level};

/// Lines of a flood: more than any queue of a client holds.
const FLOOD: u32 = 20_000;

/// Bytes that a process grows by.
const GROWTH: usize = 128 << 20;

/// The header of a message in a gRPC body, and a message that no field can start with.
const GARBAGE: &[u8] = b"\0\0\0\0\x04\xff\xff\xff\xff";

/// The header of a message of 256 MiB and a byte: one more than Terraform's limit.
const OVERSIZED: &[u8] = b"\0\x10\0\0\x01";

/// `SANDBOX_FAULT=RPC:FAULT`: the method, by its name in the protocol that is spoken, and what its
/// first call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    method: String,
    kind: Kind,
}

/// What happens instead of the answer, or besides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The process is killed.
    Crash,
    /// It exits with status 1 and a text on standard error.
    Exit,
    /// No answer, ever.
    Hang,
    /// An answer that is no message.
    Garbage,
    /// An answer that announces more than a message may have.
    Oversized,
    /// The provider's side of the connection is closed for writing; the process goes on.
    HalfClose,
    /// Bytes that are not TLS, on the socket below it; the process goes on.
    Plaintext,
    /// The right answer, but not before the provider was asked to stop.
    Late,
    /// The right answer, after a flood of log lines.
    Flood,
    /// The right answer, after taking memory that is never given back.
    Grow,
}

const KINDS: [(&str, Kind); 10] = [
    ("crash", Kind::Crash),
    ("exit", Kind::Exit),
    ("hang", Kind::Hang),
    ("garbage", Kind::Garbage),
    ("oversized", Kind::Oversized),
    ("half-close", Kind::HalfClose),
    ("plaintext", Kind::Plaintext),
    ("late", Kind::Late),
    ("flood", Kind::Flood),
    ("grow", Kind::Grow),
];

impl Fault {
    /// The values that [`Self::parse`] accepts.
    pub(super) const EXPECTED: &'static str = "a method, a colon, and crash, exit, hang, garbage, oversized, half-close, plaintext, late, flood or grow";

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (method, kind) = text.split_once(':')?;
        let kind = KINDS.iter().find(|(known, _)| *known == kind)?.1;
        Some(Self { method: method.to_owned(), kind })
    }
}

/// The socket of a connection, below TLS.
#[derive(Clone, Debug)]
pub(crate) struct Wire(Option<Arc<Socket>>);

impl Wire {
    pub(crate) fn of<'stream, S>(stream: &'stream S) -> Self
    where
        SockRef<'stream>: From<&'stream S>,
    {
        Self(SockRef::from(stream).try_clone().ok().map(Arc::new))
    }
}

/// A service with a fault, if one is configured.
#[derive(Clone, Debug)]
pub(crate) struct Faulty<S> {
    service: S,
    fault: Option<Arc<Fault>>,
    /// Whether it has happened.
    happened: Arc<AtomicBool>,
    stopped: Arc<watch::Sender<bool>>,
}

impl<S> Faulty<S> {
    pub(crate) fn new(service: S, fault: Option<Fault>) -> Self {
        Self { service, fault: fault.map(Arc::new), happened: Arc::default(), stopped: Arc::default() }
    }
}

impl<S: NamedService> NamedService for Faulty<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Faulty<S>
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
        let Some(fault) = self.fault.clone() else { return Box::pin(self.service.call(request)) };
        let method = request.uri().path().rsplit('/').next().unwrap_or_default();
        if matches!(method, "Stop" | "StopProvider") {
            self.stopped.send_replace(true);
        }
        if method != fault.method || self.happened.swap(true, Ordering::Relaxed) {
            return Box::pin(self.service.call(request));
        }
        // The clone is stored: only this instance was polled ready.
        let clone = self.service.clone();
        let mut service = std::mem::replace(&mut self.service, clone);
        let stopped = self.stopped.subscribe();
        Box::pin(async move {
            match instead(fault.kind, request.extensions().get(), stopped).await {
                Some(response) => Ok(response),
                None => service.call(request).await,
            }
        })
    }
}

/// The answer instead of the right one, if any.
async fn instead(
    kind: Kind,
    wire: Option<&Wire>,
    mut stopped: watch::Receiver<bool>,
) -> Option<http::Response<Body>> {
    let wire = wire.and_then(|wire| wire.0.as_deref());
    match kind {
        Kind::Crash => {
            isthmus_platform::process::kill_this();
            std::future::pending().await
        }
        Kind::Exit => {
            drop(std::io::stderr().lock().write_all(b"the sandbox was asked to exit\n"));
            std::process::exit(1)
        }
        Kind::Hang => std::future::pending().await,
        Kind::Garbage => Some(answer(GARBAGE)),
        Kind::Oversized => Some(answer(OVERSIZED)),
        Kind::HalfClose => {
            drop(wire.map(|wire| wire.shutdown(Shutdown::Write)));
            std::future::pending().await
        }
        Kind::Plaintext => {
            drop(wire.map(|mut wire| wire.write_all(b"this is not TLS\n")));
            std::future::pending().await
        }
        Kind::Late => {
            // The sender is a field of the service, which outlives its calls.
            drop(stopped.wait_for(|stopped| *stopped).await);
            None
        }
        Kind::Flood => {
            for line in 0..FLOOD {
                log::write(Level::Warn, "one of many", &[("line", &line.to_string())]);
            }
            None
        }
        Kind::Grow => {
            std::mem::forget(vec![1_u8; GROWTH]);
            None
        }
    }
}

/// A successful response with these bytes for a body.
fn answer(body: &'static [u8]) -> http::Response<Body> {
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let body = Full::new(Bytes::from_static(body)).with_trailers(async move { Some(Ok(trailers)) });
    let mut response = http::Response::new(Body::new(body));
    let grpc = http::HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(http::header::CONTENT_TYPE, grpc);
    response
}
