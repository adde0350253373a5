//! An HTTP port that answers questions and takes nothing: that of the status page, and that of reference pages.
//!
//! Peers cannot exhaust the process: connections are few, their requests small, and each ends after a time. On the loopback
//! it answers only where a request names this machine: a page of another site, whose name a browser has resolved to it, would
//! read the answer otherwise.

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::accept::AcceptPacer;
use super::places::{Places, Source};

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
pub const TEXT: &str = "text/plain; charset=utf-8";

/// Serves a port, for ever. Requests of other methods than GET and HEAD are refused here.
pub async fn serve<Answered>(
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
        let (answer, place) = (answer.clone(), places.take(Source { address: peer.ip(), user: None }));
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

/// Whether a request names `localhost`, an IP address, or nothing, as no browser does: in its header, and in its target, where that has
/// a host.
fn names_this_machine<Body>(request: &Request<Body>) -> bool {
    let mut headers = request.headers().get_all(HOST).iter();
    let host = headers.next().map(HeaderValue::as_bytes);
    let target = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    headers.next().is_none() && [host, target].into_iter().flatten().all(is_of_machine)
}

/// Whether this is `localhost` or an IP address, with or without a port, and nothing else: no user before it either.
fn is_of_machine(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else { return false };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    if let Some((literal, rest)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        let is_end = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
        return literal.parse::<Ipv6Addr>().is_ok() && is_end;
    }
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_named = name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok();
    is_named && port.is_none_or(is_port)
}

/// A response that is not stored.
pub fn response(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_a_host() {
        let request = |target: &str, hosts: &[&str]| {
            let request =
                hosts.iter().fold(Request::get(target), |request, host| request.header(HOST, *host));
            names_this_machine(&request.body(()).expect("a request"))
        };
        for host in
            ["localhost", "LocalHost:9464", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:9464", "10.0.0.1"]
        {
            assert!(request("/", &[host]), "{host}");
        }
        for host in [
            "",
            "evil",
            "evil@127.0.0.1",
            "evil:x@127.0.0.1",
            "127.0.0.1@evil",
            "127.0.0.1:",
            "127.0.0.1:+80",
            "127.0.0.1:65536",
            "127.0.0.1:80:80",
            "127.0.0.1.evil",
            "0x7f.1",
            "localhost.",
            "[::1",
            "[::1]evil",
            "[127.0.0.1]",
            "::1",
            "127.0.0.1 evil",
        ] {
            assert!(!request("/", &[host]), "{host}");
        }
        assert!(request("/", &[]) && request("http://127.0.0.1/", &[]));
        assert!(!request("http://evil/", &["127.0.0.1"]) && !request("/", &["127.0.0.1", "evil"]));
    }
}
