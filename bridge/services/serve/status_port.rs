//! The HTTP port of a shared daemon: metrics, health and the status page.
//!
//! It serves everyone who reaches its address, so nothing on it is secret: no value, no name of a resource, no text of an
//! error. It only answers; nothing can be changed through it.

mod page;

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::http::header::CONTENT_SECURITY_POLICY;
use ::http::{Request, Response, StatusCode};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::http::{self, TEXT, response};
use isthmus_context::settings::HttpAddress;
use isthmus_session::daemon::Sessions;

/// How often a port in use is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// The content type of Prometheus' text format.
const METRICS_TYPE: &str = prometheus_client::encoding::prometheus_text::CONTENT_TYPE;

#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address}, which ISTHMUS_METRICS names")]
pub struct StatusPortError {
    address: HttpAddress,
    #[source]
    source: io::Error,
}

/// An open port.
#[derive(Debug)]
pub struct StatusPort(TcpListener);

impl StatusPort {
    /// Opens the port, and returns the address that it has. One in use is waited for.
    pub async fn open(
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
    pub async fn serve(self, sessions: Arc<Sessions>) -> Infallible {
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
        let of = Arc::clone(&sessions);
        let answered = move |request: Request<Incoming>| {
            let sessions = Arc::clone(&of);
            async move { answer(&request, &sessions).await }
        };
        http::serve(self.0, |message| sessions.daemon().warn(message), answered).await
    }
}

async fn answer(request: &Request<Incoming>, sessions: &Arc<Sessions>) -> Response<Full<Bytes>> {
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
