//! A network for the fuzzer: one input is the responses to all requests, in their order.
//!
//! Responses are separated by a line `===`. Lines before the first empty one are its head: a status
//! (200 if there is none), then headers. In a body `DIGEST` stands for the SHA-256 of the next
//! response's body, which no fuzzer would find.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use isthmus_common::BoxFuture;
use sha2::{Digest as _, Sha256};

use super::clock::Clock;
use super::transport::{Body, Request, Response, Transport, TransportError, TransportFault};

#[derive(Debug)]
pub(crate) struct ScriptedTransport {
    responses: Mutex<VecDeque<Scripted>>,
}

#[derive(Debug)]
struct Scripted {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl ScriptedTransport {
    pub(crate) fn new(script: &[u8]) -> Self {
        let mut responses = VecDeque::new();
        let mut next_digest = String::new();
        for text in separated(script).into_iter().rev() {
            let mut response = Scripted::parse(text);
            response.body = replaced(&response.body, b"DIGEST", next_digest.as_bytes());
            next_digest = hex::encode(Sha256::digest(&response.body));
            responses.push_front(response);
        }
        Self { responses: Mutex::new(responses) }
    }
}

impl Transport for ScriptedTransport {
    fn get(&self, _: Request) -> BoxFuture<'_, Result<Response, TransportError>> {
        let next = self.responses.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let response = next.map(|Scripted { status, headers, body }| Response {
            status,
            headers,
            body: Box::new(ScriptedBody(Some(body.into()))),
        });
        let ended = || TransportError::new(TransportFault::Setup, "the script has ended");
        Box::pin(std::future::ready(response.ok_or_else(ended)))
    }
}

#[derive(Debug)]
struct ScriptedBody(Option<Bytes>);

impl Body for ScriptedBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, TransportError>> {
        Box::pin(std::future::ready(Ok(self.0.take())))
    }
}

impl Scripted {
    fn parse(text: &[u8]) -> Self {
        let end = text.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = end.map_or((&b""[..], text), |end| (&text[..end], &text[end + 2..]));
        let mut lines = head.split(|byte| *byte == b'\n');
        let status = lines.next().and_then(|line| StatusCode::from_bytes(line).ok()).unwrap_or_default();
        let header = |line: &[u8]| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let name = HeaderName::from_bytes(&line[..colon]).ok()?;
            Some((name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?))
        };
        Self { status, headers: lines.filter_map(header).collect(), body: body.to_vec() }
    }
}

fn separated(script: &[u8]) -> Vec<&[u8]> {
    const MARK: &[u8] = b"\n===\n";
    let mut parts = Vec::new();
    let mut rest = script;
    while let Some(end) = rest.windows(MARK.len()).position(|bytes| bytes == MARK) {
        parts.push(&rest[..end]);
        rest = &rest[end + MARK.len()..];
    }
    parts.push(rest);
    parts
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match bytes.windows(from.len()).position(|found| found == from) {
        Some(at) => [&bytes[..at], to, &bytes[at + from.len()..]].concat(),
        None => bytes.to_vec(),
    }
}

/// A clock on which no wait takes time.
#[derive(Debug)]
pub(crate) struct ImmediateClock;

impl Clock for ImmediateClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
