//! Plain HTTP requests, as a scraper or a probe makes them.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::PATIENCE;

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Requests a path at an address such as `127.0.0.1:9090`.
pub(crate) async fn get(address: &str, path: &str) -> Response {
    exchange(address, &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")).await
}

/// Sends a request, and reads until the connection is closed.
pub(crate) async fn exchange(address: &str, request: &str) -> Response {
    let exchanged = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer =
        tokio::time::timeout(PATIENCE, exchanged).await.expect("it answers in time").expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Response { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}
