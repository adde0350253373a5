//! An HTTP proxy on loopback: tunnels by CONNECT, plain requests by absolute URLs.
//!
//! All tunnels lead to one registry, whatever the host; so tests use hosts that are otherwise
//! unreachable.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Registry;
use crate::loopback::Loopback;

/// A running proxy, stopped on drop.
#[derive(Debug)]
pub struct Proxy {
    server: Loopback,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Behaviour of a proxy.
#[derive(Clone, Debug)]
struct Rules {
    registry: SocketAddr,
    /// The required header.
    authorization: Option<String>,
    /// A status for all requests, in place of a tunnel.
    refusal: Option<u16>,
}

impl Proxy {
    /// A proxy for a registry, without authentication.
    pub fn before(registry: &Registry) -> Self {
        Self::start(Rules { registry: registry.address(), authorization: None, refusal: None })
    }

    /// A proxy for a registry that requires this `Proxy-Authorization`.
    pub fn for_those_with(registry: &Registry, authorization: &str) -> Self {
        let authorization = Some(authorization.to_owned());
        Self::start(Rules { registry: registry.address(), authorization, refusal: None })
    }

    /// A proxy that responds with this status to all requests.
    pub fn refusing(registry: &Registry, status: u16) -> Self {
        Self::start(Rules { registry: registry.address(), authorization: None, refusal: Some(status) })
    }

    fn start(rules: Rules) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&requests);
        let server = Loopback::start(move |stream| serve(stream, rules.clone(), Arc::clone(&heard)));
        Self { server, requests }
    }

    /// Its address, for HTTPS_PROXY without a scheme.
    pub fn host(&self) -> String {
        self.server.address.to_string()
    }

    /// Its requests: the request line and the credentials, if any. A registry's token would be
    /// included.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves one request: a tunnel or a response. Disconnects are ignored.
async fn serve(mut stream: TcpStream, rules: Rules, requests: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let header = |wanted: &str| {
        let mut headers = head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.to_owned())
    };
    let who = header("proxy-authorization");
    let told = [Some(line.clone()), who.clone(), header("authorization")];
    let told: Vec<String> = told.into_iter().flatten().collect();
    requests.lock().unwrap_or_else(PoisonError::into_inner).push(told.join(" "));
    let refusal = match rules.refusal {
        None if rules.authorization.is_some() && rules.authorization != who => Some(407),
        refusal => refusal,
    };
    let answer = match (refusal, line.starts_with("CONNECT ")) {
        (Some(status), _) => format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        (None, true) => "HTTP/1.1 200 x\r\n\r\n".to_owned(),
        (None, false) => {
            "HTTP/1.1 200 x\r\nContent-Length: 9\r\nConnection: close\r\n\r\nthe proxy".to_owned()
        }
    };
    if stream.write_all(answer.as_bytes()).await.is_ok() && answer == "HTTP/1.1 200 x\r\n\r\n" {
        let Ok(mut registry) = TcpStream::connect(rules.registry).await else { return };
        let _ = tokio::io::copy_bidirectional(&mut stream, &mut registry).await;
    }
}
