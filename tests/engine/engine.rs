//! The engine's own services, scripted: they record log messages and return configured responses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_proto::{lumirpc, pulumirpc};
use serde_json::Value as Json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use crate::{PATIENCE, bag};

/// A log message from a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub severity: Severity,
    pub message: String,
    pub urn: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Debug,
    Info,
    Warning,
    Error,
}

/// A running engine, today's and legacy; stopped on drop.
#[derive(Debug)]
pub struct Engine {
    address: String,
    state: State,
    server: tokio::task::JoinHandle<()>,
}

#[derive(Clone, Debug)]
struct State {
    lines: Arc<watch::Sender<Vec<Line>>>,
    variables: Arc<Mutex<BTreeMap<String, Result<Json, String>>>>,
    asked: Arc<Mutex<Vec<String>>>,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Engine {
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = State {
            lines: Arc::new(watch::Sender::new(Vec::new())),
            variables: Arc::default(),
            asked: Arc::default(),
            refused: Arc::default(),
        };
        let router = tonic::transport::Server::builder()
            .add_service(pulumirpc::engine_server::EngineServer::new(state.clone()))
            .add_service(lumirpc::engine_server::EngineServer::new(state.clone()));
        let server = tokio::spawn(async move {
            router.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("the engine serves");
        });
        Self { address, state, server }
    }

    /// Its address, as passed to a plugin.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Makes today's engine refuse log messages that contain this text.
    pub fn refuse_lines(&self, text: &str) {
        self.state.refused.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }

    /// All log messages so far.
    pub fn lines(&self) -> Vec<Line> {
        self.state.lines.borrow().clone()
    }

    /// Log messages so far, without those for debugging.
    pub fn shown(&self) -> Vec<Line> {
        self.lines().into_iter().filter(|line| line.severity != Severity::Debug).collect()
    }

    /// The texts of the warnings so far.
    pub fn warnings(&self) -> Vec<String> {
        let warned = |line: Line| (line.severity == Severity::Warning).then_some(line.message);
        self.lines().into_iter().filter_map(warned).collect()
    }

    /// Waits for a log message.
    pub async fn line(&self, what: &str, is_it: impl Fn(&Line) -> bool) -> Line {
        let mut lines = self.state.lines.subscribe();
        let found = lines.wait_for(|lines| lines.iter().any(&is_it));
        let found = match tokio::time::timeout(PATIENCE, found).await {
            Ok(Ok(lines)) => lines.iter().find(|line| is_it(line)).cloned(),
            Ok(Err(_)) | Err(_) => None,
        };
        found.unwrap_or_else(|| panic!("the engine was not told {what}; it was told {:#?}", self.lines()))
    }

    /// Sets the variables of a legacy engine for a token such as `sandbox:config/vars`.
    pub fn set_variables(&self, token: &str, variables: Json) {
        let mut all = self.state.variables.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(token.to_owned(), Ok(variables));
    }

    /// Makes a legacy engine fail to evaluate the variables of a token.
    pub fn refuse_variables(&self, token: &str, reason: &str) {
        let mut all = self.state.variables.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(token.to_owned(), Err(reason.to_owned()));
    }

    /// The tokens of requested variables so far.
    pub fn asked_variables(&self) -> Vec<String> {
        self.state.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl State {
    fn record(&self, severity: i32, message: String, urn: String) {
        let severity = match severity {
            0 => Severity::Debug,
            1 => Severity::Info,
            2 => Severity::Warning,
            3 => Severity::Error,
            other => panic!("no engine knows a severity {other} ({message})"),
        };
        self.lines.send_modify(|lines| lines.push(Line { severity, message, urn }));
    }
}

#[tonic::async_trait]
impl pulumirpc::engine_server::Engine for State {
    async fn log(&self, request: Request<pulumirpc::LogRequest>) -> Result<Response<()>, Status> {
        let line = request.into_inner();
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if refused.iter().any(|text| line.message.contains(text)) {
            return Err(Status::invalid_argument("as the test wants it"));
        }
        self.record(line.severity, line.message, line.urn);
        Ok(Response::new(()))
    }
}

#[tonic::async_trait]
impl lumirpc::engine_server::Engine for State {
    async fn log(&self, request: Request<lumirpc::LogRequest>) -> Result<Response<()>, Status> {
        let line = request.into_inner();
        self.record(line.severity, line.message, String::new());
        Ok(Response::new(()))
    }

    async fn read_locations(
        &self,
        request: Request<lumirpc::ReadLocationsRequest>,
    ) -> Result<Response<lumirpc::ReadLocationsResponse>, Status> {
        let token = request.into_inner().token;
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(token.clone());
        let variables = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        let variables = variables.get(&token).cloned().transpose().map_err(Status::unknown)?;
        let properties = variables.as_ref().map(bag);
        Ok(Response::new(lumirpc::ReadLocationsResponse { properties }))
    }
}
