//! The HTTP port of a shared daemon: metrics, health and the status page.
//!
//! It serves everyone who reaches its address, so nothing on it is secret: no value, no name of a resource, no text of an
//! error. It only answers; nothing can be changed through it. Peers cannot exhaust the daemon: connections are few, and each
//! ends after a time.

mod page;

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS,
};
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::accept::AcceptPacer;
use super::places::Places;
use crate::daemon::Sessions;
use crate::settings::HttpAddress;

/// Connections at a time. A further one ends another one: probes have to be answered while others are silent.
const MOST_CONNECTIONS: usize = 32;

/// How long a connection may take to send a request, or be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a connection is used. Those that scrape open another one.
const AGE: Duration = Duration::from_secs(300);

/// How long the last response of a connection may take.
const FAREWELL: Duration = Duration::from_secs(10);

/// How often a port in use is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// Bytes of a request's head.
const LARGEST_HEAD: usize = 16 * 1024;

/// The content type of Prometheus' text format.
const METRICS_TYPE: &str = prometheus_client::encoding::prometheus_text::CONTENT_TYPE;

const TEXT: &str = "text/plain; charset=utf-8";

#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address}, which ISTHMUS_METRICS names")]
pub(crate) struct StatusPortError {
    address: HttpAddress,
    #[source]
    source: io::Error,
}

/// An open port.
#[derive(Debug)]
pub(crate) struct StatusPort(TcpListener);

impl StatusPort {
    /// Opens the port, and returns the address that it has. One in use is waited for.
    pub(crate) async fn open(
        address: &HttpAddress,
        patience: Duration,
    ) -> Result<(Self, SocketAddr), StatusPortError> {
        let until = Instant::now() + patience;
        let open = async {
            let listener = loop {
                match TcpListener::bind(address.as_str()).await {
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                        tokio::time::sleep(PAUSE).await;
                    }
                    opened => break opened?,
                }
            };
            let address = listener.local_addr()?;
            Ok((Self(listener), address))
        };
        open.await.map_err(|source| StatusPortError { address: address.clone(), source })
    }

    /// Serves it, for ever, until the daemon is replaced: then the port is its successor's.
    pub(crate) async fn serve(self, sessions: Arc<Sessions>) -> Infallible {
        let observation = sessions.daemon().observation().cloned();
        let replaced = async {
            match &observation {
                Some(observation) => observation.is_replaced().await,
                None => pending().await,
            }
        };
        tokio::select! {
            never = self.accept(sessions) => match never {},
            () = replaced => {}
        }
        pending().await
    }

    async fn accept(self, sessions: Arc<Sessions>) -> Infallible {
        let pacer = AcceptPacer::new(|message| sessions.daemon().warn(message));
        let places = Places::new(MOST_CONNECTIONS);
        let mut connections = JoinSet::new();
        loop {
            let Ok((stream, peer)) = pacer.pace(self.0.accept().await).await else { continue };
            while connections.try_join_next().is_some() {}
            let (sessions, place) = (Arc::clone(&sessions), places.take(peer.ip()));
            connections.spawn(async move {
                let lost = place.lost();
                tokio::select! {
                    () = serve_connection(stream, sessions) => {}
                    () = lost.cancelled() => {}
                }
            });
        }
    }
}

async fn serve_connection(stream: TcpStream, sessions: Arc<Sessions>) {
    let is_local = stream.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let service = service_fn(move |request| {
        let sessions = Arc::clone(&sessions);
        async move {
            if is_local && !names_this_machine(&request) {
                return Ok(response(StatusCode::MISDIRECTED_REQUEST, TEXT, "no such host\n"));
            }
            Ok::<_, Infallible>(answer(&request, &sessions).await)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(SILENCE).max_buf_size(LARGEST_HEAD);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // Errors concern the peer, who has them too.
    if tokio::time::timeout(AGE, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        drop(tokio::time::timeout(FAREWELL, connection).await);
    }
}

/// Whether a request to the loopback is for it. The page of another site, whose name a browser has resolved to this machine,
/// would read the answer otherwise.
fn names_this_machine(request: &Request<Incoming>) -> bool {
    let Some(host) = request.headers().get(HOST) else { return true };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
    let host = authority.host();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || literal.parse::<IpAddr>().is_ok()
}

async fn answer(request: &Request<Incoming>, sessions: &Arc<Sessions>) -> Response<Full<Bytes>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refused = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD are served\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let Some(observation) = sessions.daemon().observation() else {
        return response(StatusCode::NOT_FOUND, TEXT, "not found\n");
    };
    match request.uri().path() {
        "/healthz" => response(StatusCode::OK, TEXT, "ok\n"),
        "/readyz" if observation.is_draining() => {
            response(StatusCode::SERVICE_UNAVAILABLE, TEXT, "draining\n")
        }
        "/readyz" => response(StatusCode::OK, TEXT, "ready\n"),
        "/metrics" => {
            let (figures, observation) = (sessions.figures().await, Arc::clone(observation));
            match isthmus_common::blocking(move || observation.scrape(&figures)).await {
                Ok(text) => response(StatusCode::OK, METRICS_TYPE, text),
                Err(_) => response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, "failed to write the metrics\n"),
            }
        }
        "/" => {
            let page = page::render(observation, &sessions.inventory().await);
            let mut page = response(StatusCode::OK, "text/html; charset=utf-8", page);
            page.headers_mut().insert(CONTENT_SECURITY_POLICY, page::content_security_policy());
            page
        }
        _ => {
            response(StatusCode::NOT_FOUND, TEXT, "not found: there are /, /metrics, /healthz and /readyz\n")
        }
    }
}

fn response(
    status: StatusCode,
    content_type: &'static str,
    content: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(content.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
