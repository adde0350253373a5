//! The service for operators, `isthmus.daemon.v1.Inspect`: what runs, and the recent log lines.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use isthmus_proto::daemon::inspect_server::Inspect;
use isthmus_proto::daemon::log_line::Severity as Shown;
use isthmus_proto::daemon::{
    LogLine, LogsRequest, OverviewRequest, OverviewResponse, ProcessOverview, ProviderName, SessionOverview,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

use super::plugins::connection;
use crate::status::RequestError;
use isthmus_session::daemon::{Inventory, ProcessView, SessionView};
use isthmus_session::engine::Severity;
use isthmus_session::observe::{self, Line, Observation};

/// Lines between the daemon and a reader that is slower.
const BUFFERED: usize = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct InspectService;

#[tonic::async_trait]
impl Inspect for InspectService {
    async fn overview(
        &self,
        request: Request<OverviewRequest>,
    ) -> Result<Response<OverviewResponse>, Status> {
        let connection = connection(&request)?;
        let observation = observation(connection.sessions().daemon().observation())?;
        let Inventory { sessions, processes } = connection.sessions().inventory().await;
        Ok(Response::new(OverviewResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_milliseconds: milliseconds(observation.uptime()),
            draining: observation.is_draining(),
            sessions: sessions.into_iter().map(of_session).collect(),
            processes: processes.into_iter().map(of_process).collect(),
        }))
    }

    async fn logs(&self, request: Request<LogsRequest>) -> Result<Response<BoxStream<LogLine>>, Status> {
        let connection = connection(&request)?;
        let observation = Arc::clone(observation(connection.sessions().daemon().observation())?);
        let mut reader = observation.lines();
        let (follow, ending) = (request.into_inner().follow, connection.ending().clone());
        let (send, sent) = mpsc::channel(BUFFERED);
        tokio::spawn(async move {
            loop {
                for line in observation.unseen(&mut reader) {
                    if send.send(Ok(of_line(&line))).await.is_err() {
                        return;
                    }
                }
                if !follow || ending.is_cancelled() {
                    return;
                }
                tokio::select! {
                    is_more = reader.changed() => if !is_more { return },
                    () = ending.cancelled() => {}
                    () = send.closed() => return,
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(sent))))
    }
}

/// Plugins connect to a shared daemon, which observes.
fn observation(observation: Option<&Arc<Observation>>) -> Result<&Arc<Observation>, Status> {
    observation.ok_or_else(|| RequestError::NoConnection.into())
}

fn of_session(session: SessionView) -> SessionOverview {
    SessionOverview {
        number: session.number,
        identity: session.identity.to_string(),
        provider: session.provider.map(of_name),
        age_milliseconds: milliseconds(session.age),
        calls: session.calls,
        calls_in_flight: count(session.in_flight),
    }
}

fn of_process(process: ProcessView) -> ProcessOverview {
    ProcessOverview {
        provider: Some(of_name(process.provider)),
        process_id: process.process_id.unwrap_or_default(),
        identity: process.identity.to_string(),
        memory_bytes: process.memory,
        age_milliseconds: milliseconds(process.age),
        sessions: count(process.sessions),
        calls_in_flight: count(process.in_flight),
    }
}

fn of_name(name: observe::ProviderName) -> ProviderName {
    ProviderName { address: name.address, version: name.version }
}

fn of_line(line: &Line) -> LogLine {
    let severity = match line.severity {
        Severity::Debug | Severity::Info => Shown::Info,
        Severity::Warning => Shown::Warning,
        Severity::Error => Shown::Error,
    };
    LogLine {
        time_milliseconds: milliseconds(since_1970(line.at)),
        severity: severity.into(),
        identity: line.identity.to_string(),
        session: line.session,
        text: line.text.clone(),
    }
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
