//! The engine's own service, as far as a provider needs one: it takes log messages and forgets them.
//!
//! It is a real service and not a closed port, because bridges log each diagnostic to the engine, and that costs them time.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Ipv4Addr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use isthmus_proto::pulumirpc::engine_server::{Engine, EngineServer};
use isthmus_proto::pulumirpc::{LogRequest, LogSeverity};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// A running service, in a process of its own, as engines are; it ends when dropped.
#[derive(Debug)]
pub(crate) struct EngineService {
    address: String,
    process: Mutex<EngineProcess>,
}

#[derive(Debug)]
struct EngineProcess {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl EngineService {
    /// Starts this program again, as the service.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("the path of this program is not known")?;
        let mut command = Command::new(program);
        command.arg(ENGINE).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("the engine's service cannot be started")?;
        let questions = child.stdin.take().context("the service has no standard input")?;
        let answers = BufReader::new(child.stdout.take().context("the service has no standard output")?);
        let mut process = EngineProcess { child, questions, answers };
        let address = process.line()?;
        Ok(Self { address, process: Mutex::new(process) })
    }

    /// What a bridge is given as its only positional argument.
    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// What was logged so far.
    pub(crate) fn logged(&self) -> anyhow::Result<Logged> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.questions.write_all(b"\n").context("the engine's service has ended")?;
        serde_json::from_str(&process.line()?).context("the engine's service has lost count")
    }
}

impl EngineProcess {
    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).context("the engine's service has ended")?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        // It ends by itself at the end of its input; nobody waits for it longer than that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The argument that makes this program the service.
pub(crate) const ENGINE: &str = "engine";

/// Serves on a port of its own. The address goes to standard output, and what was logged after each line of standard input.
pub(crate) async fn serve() -> anyhow::Result<()> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port for the engine's service")?;
    println!("{}", listener.local_addr().context("the port of the engine's service")?);
    let counts = Arc::new(Counts::default());
    let service = EngineServer::new(Swallow(Arc::clone(&counts)));
    // Without TCP_NODELAY every message costs its sender 40 ms, the time that a kernel holds an acknowledgement back.
    // Go's servers set it, so an engine's bridge never waits like that.
    let connections = TcpListenerStream::new(listener).map(|connection| {
        let connection = connection?;
        connection.set_nodelay(true)?;
        std::io::Result::Ok(connection)
    });
    let serving = Server::builder().add_service(service).serve_with_incoming(connections);
    let mut questions = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(tokio::io::stdin()));
    let answering = async {
        while let Some(_question) = questions.next_line().await? {
            let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
            let logged = Logged { messages: count(&counts.messages), errors: count(&counts.errors) };
            println!("{}", serde_json::to_string(&logged)?);
        }
        anyhow::Ok(())
    };
    tokio::select! {
        served = serving => served.context("the engine's service failed"),
        answered = answering => answered,
    }
}

/// How much was logged.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Logged {
    /// Messages of every severity.
    pub(crate) messages: usize,
    /// Errors among them. A run without failures has none.
    pub(crate) errors: usize,
}

impl Logged {
    /// What was logged since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { messages: self.messages - earlier.messages, errors: self.errors - earlier.errors }
    }
}

#[derive(Debug, Default)]
struct Counts {
    messages: AtomicUsize,
    errors: AtomicUsize,
}

#[derive(Debug)]
struct Swallow(Arc<Counts>);

#[tonic::async_trait]
impl Engine for Swallow {
    async fn log(&self, request: Request<LogRequest>) -> Result<Response<()>, Status> {
        self.0.messages.fetch_add(1, Ordering::Relaxed);
        if request.get_ref().severity() == LogSeverity::Error {
            self.0.errors.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Response::new(()))
    }
}
