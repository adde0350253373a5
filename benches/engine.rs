//! The engine's side of the wire: a program on grpc-go, as engines are (`tests/tools/bench-engine`), which calls plugins and takes
//! their log messages.
//!
//! What a call takes is what that program has measured: this harness is not on the way. With `--client tonic`, the harness calls by
//! itself, as contract tests do; the difference is what Go's connections are to a plugin.
//!
//! Its service is a real one and not a closed port, because bridges log each diagnostic to the engine, and that costs them time.

use std::collections::HashMap;
use std::path::Path;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use serde::Serialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tonic::body::Body;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tower::{Service, ServiceExt as _};

use crate::options::Caller;

/// The largest message that an engine takes, in bytes.
const LARGEST: usize = 400 << 20;

/// The bytes before a message on a connection: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// A running engine; it ends when dropped.
#[derive(Debug)]
pub(crate) struct Engine {
    address: String,
    caller: Caller,
    program: Arc<Asked>,
    _process: Child,
}

/// What is asked of the program.
#[derive(Debug)]
struct Asked {
    ids: AtomicU64,
    questions: mpsc::UnboundedSender<Bytes>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

#[derive(Debug)]
struct Answer {
    took: Duration,
    code: Code,
    /// A message, or the reason of an error.
    rest: Bytes,
}

/// How long a call took, beside its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took(Duration);

impl Took {
    /// Up to the end of this answer.
    pub(crate) fn of<T>(answer: &tonic::Response<T>) -> Duration {
        let Self(took) = answer.extensions().get().expect("connections measure");
        *took
    }
}

/// The calls of a plugin.
pub(crate) type Client = ResourceProviderClient<Connection>;

/// An engine's connection to a plugin. Copies share it.
#[derive(Clone, Debug)]
pub(crate) enum Connection {
    Tonic(Channel),
    GrpcGo(Arc<Line>),
}

/// A connection of the program; dropped, it hangs up.
#[derive(Debug)]
pub(crate) struct Line {
    port: u16,
    program: Arc<Asked>,
}

impl Engine {
    /// Starts the program.
    pub(crate) async fn start(program: &Path, caller: Caller) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let questions = process.stdin.take().context("the engine has no standard input")?;
        let mut answers = BufReader::new(process.stdout.take().context("the engine has no standard output")?);
        let mut address = String::new();
        answers.read_line(&mut address).await.context("the engine has ended")?;
        let (sender, receiver) = mpsc::unbounded_channel();
        let program =
            Arc::new(Asked { ids: AtomicU64::new(1), questions: sender, waiting: Mutex::default() });
        tokio::spawn(ask(questions, receiver));
        tokio::spawn(listen(answers, Arc::clone(&program)));
        Ok(Self { address: address.trim_end().to_owned(), caller, program, _process: process })
    }

    /// What a bridge is given as its only positional argument.
    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// Connects with a plugin that has just said its port.
    pub(crate) async fn connect(&self, port: u16) -> anyhow::Result<Client> {
        let connection = match self.caller {
            Caller::GrpcGo => Connection::GrpcGo(Arc::new(Line { port, program: Arc::clone(&self.program) })),
            Caller::Tonic => {
                let endpoint = tonic::transport::Endpoint::from_shared(format!("http://127.0.0.1:{port}"))?;
                let channel = endpoint.connect().await;
                Connection::Tonic(
                    channel.with_context(|| format!("nobody answers on the announced port {port}"))?,
                )
            }
        };
        Ok(Client::new(connection).max_decoding_message_size(LARGEST).max_encoding_message_size(LARGEST))
    }

    /// What was logged so far.
    pub(crate) async fn logged(&self) -> anyhow::Result<Logged> {
        let mut counts = self.program.ask(0, "/", &[]).await.map_err(|status| anyhow!(status))?.rest;
        if counts.len() != 16 {
            bail!("the engine has lost count");
        }
        Ok(Logged { messages: counts.get_u64(), errors: counts.get_u64() })
    }
}

impl Asked {
    /// Asks for a call of a plugin.
    async fn ask(&self, port: u16, method: &str, message: &[u8]) -> Result<Answer, Status> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        self.send(id, port, method, message);
        answer.await.map_err(|_| Status::internal("the engine has ended"))
    }

    fn send(&self, id: u64, port: u16, method: &str, message: &[u8]) {
        let length = 12 + method.len() + message.len();
        let mut question = BytesMut::with_capacity(4 + length);
        question.put_u32(u32::try_from(length).expect("a message of an engine"));
        question.put_u64(id);
        question.put_u16(port);
        question.put_u16(u16::try_from(method.len()).expect("the name of a method"));
        question.put_slice(method.as_bytes());
        question.put_slice(message);
        // Without the program, the answer does not come either.
        let _ = self.questions.send(question.freeze());
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.program.send(0, self.port, "", &[]);
    }
}

async fn ask(mut program: ChildStdin, mut questions: mpsc::UnboundedReceiver<Bytes>) -> std::io::Result<()> {
    while let Some(question) = questions.recv().await {
        program.write_all(&question).await?;
    }
    Ok(())
}

/// Passes answers on until the program ends; then nobody waits any more.
async fn listen(mut program: BufReader<ChildStdout>, asked: Arc<Asked>) {
    while let Ok(length) = program.read_u32().await {
        let mut answer = vec![0; length as usize];
        if program.read_exact(&mut answer).await.is_err() {
            break;
        }
        let mut rest = Bytes::from(answer);
        let id = rest.get_u64();
        let took = Duration::from_nanos(rest.get_u64());
        let code = Code::from(rest.get_u32().cast_signed());
        let waiting = asked.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(waiting) = waiting {
            // Who asked may have gone.
            let _ = waiting.send(Answer { took, code, rest });
        }
    }
    asked.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

impl Service<http::Request<Body>> for Connection {
    type Response = http::Response<Body>;
    type Error = tonic::transport::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut task::Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self {
            Self::Tonic(channel) => Service::poll_ready(channel, context),
            Self::GrpcGo(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match self {
            Self::Tonic(channel) => Box::pin(by_tonic(channel.clone(), request)),
            Self::GrpcGo(line) => Box::pin(by_grpc_go(Arc::clone(line), request)),
        }
    }
}

/// A call by this program, up to the end of its answer.
async fn by_tonic(
    channel: Channel,
    request: http::Request<Body>,
) -> Result<http::Response<Body>, tonic::transport::Error> {
    let began = Instant::now();
    let response = channel.oneshot(request).await?;
    let (mut parts, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(whole) => Body::new(whole),
        Err(status) => return Ok(status.into_http()),
    };
    parts.extensions.insert(Took(began.elapsed()));
    Ok(http::Response::from_parts(parts, body))
}

/// A call by the program on grpc-go.
async fn by_grpc_go(
    line: Arc<Line>,
    request: http::Request<Body>,
) -> Result<http::Response<Body>, tonic::transport::Error> {
    let (parts, body) = request.into_parts();
    let answer = async {
        let message = body.collect().await?.to_bytes();
        line.program.ask(line.port, parts.uri.path(), &message[PREFIX..]).await
    };
    let Answer { took, code, rest } = match answer.await {
        Ok(answer) => answer,
        Err(status) => return Ok(status.into_http()),
    };
    if code != Code::Ok {
        return Ok(Status::new(code, String::from_utf8_lossy(&rest)).into_http());
    }
    let mut frame = BytesMut::with_capacity(PREFIX + rest.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(rest.len()).expect("a message of a plugin"));
    frame.put_slice(&rest);
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let body = Full::new(frame.freeze()).with_trailers(std::future::ready(Some(Ok(trailers))));
    let mut response = http::Response::new(Body::new(body));
    response.extensions_mut().insert(Took(took));
    Ok(response)
}

/// How much was logged.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Logged {
    /// Messages of every severity.
    pub(crate) messages: u64,
    /// Errors among them. A run without failures has none.
    pub(crate) errors: u64,
}

impl Logged {
    /// What was logged since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { messages: self.messages - earlier.messages, errors: self.errors - earlier.errors }
    }
}
