//! The pages at an address of this machine.
//!
//! Any page on the web can have a browser send requests there, under a name of its own even, that leads to this machine. So a
//! request has to name the address as this command has printed it. Pages load nothing from elsewhere, and run no script but
//! ours, whatever a provider's description holds.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, REFERRER_POLICY};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::DocsError;
use crate::cli::output::{print, warn};
use isthmus_platform::process::Signals;
use isthmus_reference::{File, Site};
use isthmus_services::serve::http::{self as port, TEXT, response};

const HEADERS: [(HeaderName, &str); 4] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
    ),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (REFERRER_POLICY, "no-referrer"),
];

/// How long what has a version in its address is kept: the address is another one for another version.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

/// Serves the pages until a signal, and prints their address.
pub(super) async fn serve(site: Arc<Site>, wanted: u16) -> Result<(), DocsError> {
    let failed = |error| DocsError::Listen { port: wanted, error };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await.map_err(failed)?;
    let number = listener.local_addr().map_err(failed)?.port();
    let mut signals = Signals::new();
    let names: Arc<[String]> =
        Arc::from([format!("127.0.0.1:{number}"), format!("localhost:{number}")].as_slice());
    print(&format!("http://{}/\n", names[0]));
    let prepared = Arc::clone(&site);
    // Before the first search. It is read by threads of its own.
    drop(tokio::task::spawn_blocking(move || prepared.search().len()));
    let answered = move |request: Request<Incoming>| {
        let (site, names) = (Arc::clone(&site), Arc::clone(&names));
        async move { answer(&request, site, &names).await }
    };
    tokio::select! {
        never = port::serve(listener, |message| warn(&message), answered) => match never {},
        _ = signals.next() => Ok(()),
    }
}

async fn answer(request: &Request<Incoming>, site: Arc<Site>, names: &[String]) -> Response<Full<Bytes>> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| names.iter().any(|name| name == host)) {
        return response(
            StatusCode::MISDIRECTED_REQUEST,
            TEXT,
            "this address is served by its own name only\n",
        );
    }
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let version = request.uri().query().map(str::to_owned);
    let made = isthmus_common::blocking(move || match site.file(&path) {
        Some(File { content_type, content, version: current }) => {
            let mut file = response(StatusCode::OK, content_type, content);
            if current.is_some() && current == version.as_deref() {
                file.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(FOR_EVER));
            }
            file
        }
        None => response(StatusCode::NOT_FOUND, "text/html; charset=utf-8", site.not_found()),
    });
    let mut answer = made.await;
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}
