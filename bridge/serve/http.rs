//! An HTTP port that answers questions and takes nothing: that of the status page, and that of reference pages.
//!
//! Peers cannot exhaust the process: connections are few, their requests small, and each ends after a time. On the loopback
//! it answers only where a request names this machine: a page of another site, whose name a browser has resolved to it, would
//! read the answer otherwise.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS};
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

/// Connections at a time. A further one ends another one: probes have to be answered while others are silent.
const MOST_CONNECTIONS: usize = 32;

/// How long a connection may take to send a request, or be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a connection is used. Those that scrape open another one.
const AGE: Duration = Duration::from_secs(300);

/// How long the last response of a connection may take.
const FAREWELL: Duration = Duration::from_secs(10);

/// Bytes of a request's head.
const LARGEST_HEAD: usize = 16 * 1024;

/// The content type of plain text.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// Serves a port, for ever. Requests of other methods than GET and HEAD are refused here.
pub(crate) async fn serve<Answered>(
    listener: TcpListener,
    warn: impl Fn(String),
    answer: impl Fn(Request<Incoming>) -> Answered + Clone + Send + Sync + 'static,
) -> Infallible
where
    Answered: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let pacer = AcceptPacer::new(warn);
    let places = Places::new(MOST_CONNECTIONS);
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, peer)) = pacer.pace(listener.accept().await).await else { continue };
        while connections.try_join_next().is_some() {}
        let (answer, place) = (answer.clone(), places.take(peer.ip()));
        connections.spawn(async move {
            let lost = place.lost();
            tokio::select! {
                () = serve_connection(stream, answer) => {}
                () = lost.cancelled() => {}
            }
        });
    }
}

async fn serve_connection<Answered>(
    stream: TcpStream,
    answer: impl Fn(Request<Incoming>) -> Answered + Clone + Send + Sync + 'static,
) where
    Answered: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let is_local = stream.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer.clone();
        async move {
            if is_local && !names_this_machine(&request) {
                return Ok(response(StatusCode::MISDIRECTED_REQUEST, TEXT, "no such host\n"));
            }
            if [Method::GET, Method::HEAD].contains(request.method()) {
                return Ok::<_, Infallible>(answer(request).await);
            }
            let mut refused =
                response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET and HEAD are served\n");
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            Ok(refused)
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

/// Whether a request names `localhost`, an IP address, or nothing, as no browser does.
fn names_this_machine(request: &Request<Incoming>) -> bool {
    let Some(host) = request.headers().get(HOST) else { return true };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
    let host = authority.host();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || literal.parse::<IpAddr>().is_ok()
}

/// A response that is not stored.
pub(crate) fn response(
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
