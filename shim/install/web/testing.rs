//! A scripted network and clock for tests.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::clock::Clock;
use super::transport::{Body, Request, Response, Transport, TransportError, TransportFault};
use crate::auth::{CredentialsError, CredentialsSource, Token};
use isthmus_common::BoxFuture;

/// Responses by URL, each as often as it was added; the last one for ever.
#[derive(Debug, Default)]
pub(crate) struct ScriptedTransport {
    answers: Mutex<HashMap<String, VecDeque<Scripted>>>,
    requests: Mutex<Vec<Request>>,
}

/// A scripted response.
#[derive(Clone, Debug)]
pub(crate) enum Scripted {
    Fails(TransportFault),
    /// A status, headers, chunks of a body; and then the connection breaks, or not.
    Answers {
        status: u16,
        headers: Vec<(&'static str, String)>,
        pieces: Vec<Bytes>,
        breaks: bool,
    },
}

impl Scripted {
    pub(crate) fn status(status: u16) -> Self {
        Self::Answers { status, headers: Vec::new(), pieces: Vec::new(), breaks: false }
    }

    pub(crate) fn body(body: impl Into<Bytes>) -> Self {
        Self::Answers { status: 200, headers: Vec::new(), pieces: vec![body.into()], breaks: false }
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::status(302).with("location", to)
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Self::Answers { headers, .. } = &mut self {
            headers.push((name, value.to_owned()));
        }
        self
    }
}

impl ScriptedTransport {
    pub(crate) fn put(&self, url: &str, answer: Scripted) -> &Self {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.entry(url.to_owned()).or_default().push_back(answer);
        self
    }

    /// The requests and their tokens.
    pub(crate) fn asked(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |request: &Request| {
            let header = |name| request.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
            let mut line = request.url.to_string();
            for shown in [header(header::AUTHORIZATION), header(header::RANGE)].into_iter().flatten() {
                line.push(' ');
                line.push_str(shown);
            }
            line
        };
        requests.iter().map(line).collect()
    }
}

impl Transport for ScriptedTransport {
    fn get(&self, request: Request) -> BoxFuture<'_, Result<Response, TransportError>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match answers.get_mut(request.url.as_str()) {
            Some(queue) if queue.len() > 1 => queue.pop_front(),
            Some(queue) => queue.front().cloned(),
            None => Some(Scripted::status(404)),
        };
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let answer = match answer.expect("a queue has at least one answer") {
            Scripted::Fails(fault) => Err(TransportError::new(fault, "scripted")),
            Scripted::Answers { status, headers, pieces, breaks } => {
                let header = |(name, value): (&'static str, String)| {
                    (HeaderName::from_static(name), HeaderValue::from_str(&value).expect("a header"))
                };
                Ok(Response {
                    status: StatusCode::from_u16(status).expect("a status"),
                    headers: headers.into_iter().map(header).collect::<HeaderMap>(),
                    body: Box::new(ScriptedBody { pieces: pieces.into(), breaks }),
                })
            }
        };
        Box::pin(std::future::ready(answer))
    }
}

#[derive(Debug)]
struct ScriptedBody {
    pieces: VecDeque<Bytes>,
    breaks: bool,
}

impl Body for ScriptedBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, TransportError>> {
        let chunk = match self.pieces.pop_front() {
            None if self.breaks => Err(TransportError::new(TransportFault::Broken, "scripted")),
            next => Ok(next),
        };
        Box::pin(std::future::ready(chunk))
    }
}

/// A clock that advances only by sleeping, at once.
#[derive(Debug)]
pub(crate) struct SteppedClock {
    now: Mutex<SystemTime>,
    sleeps: Mutex<Vec<Duration>>,
}

impl SteppedClock {
    pub(crate) fn at(seconds: u64) -> Self {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        Self { now: Mutex::new(now), sleeps: Mutex::default() }
    }

    pub(crate) fn pass(&self, duration: Duration) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) += duration;
    }

    pub(crate) fn sleeps(&self) -> Vec<Duration> {
        self.sleeps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> SystemTime {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.pass(duration);
        self.sleeps.lock().unwrap_or_else(PoisonError::into_inner).push(duration);
        Box::pin(std::future::ready(()))
    }
}

/// One token for one host.
#[derive(Debug)]
pub(crate) struct OneToken(pub(crate) &'static str, pub(crate) &'static str);

impl CredentialsSource for OneToken {
    fn token<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Option<Token>, CredentialsError>> {
        let token = (host == self.0).then(|| Token::new(self.1).expect("a token"));
        Box::pin(std::future::ready(Ok(token)))
    }
}
