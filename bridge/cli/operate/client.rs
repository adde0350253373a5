//! The connection to a daemon's service for operators.

use std::future::ready;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use http::uri::Authority;
use isthmus_grpc::{Channel, ChannelSettings, Stream};
use isthmus_proto::daemon::inspect_client::InspectClient;
use isthmus_proto::daemon::{LogLine, LogsRequest, OverviewRequest, OverviewResponse};
use tonic::{Status, Streaming};

use crate::cli::output::detail;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::settings::{self, DaemonChoice};
use isthmus_services::attach::of_socket;
use isthmus_services::attach::{DaemonSocket, SocketError};
use isthmus_session::process_context::ProcessContext;

const SETTINGS: ChannelSettings =
    ChannelSettings { stream_window: 1 << 20, connection_window: 1 << 20, largest_headers: 1 << 16 };

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("no directory for a daemon's socket")]
    NoSocket,
    #[error(
        "{} names a daemon by its address, and this command needs its socket",
        settings::DAEMON.name
    )]
    Addresses,
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("the daemon does not answer within {} seconds", PATIENCE.as_secs())]
    Silent,
    #[error("the daemon answers: {}", .0.message())]
    Refused(Box<Status>),
    #[error("failed to use the terminal")]
    Terminal(#[source] io::Error),
}

impl ClientError {
    /// The code of its kind, if that has a page.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::NoSocket | Self::Addresses => Some(ErrorCode::NoDaemon),
            Self::Socket(error) => Some(of_socket(error)),
            Self::Silent | Self::Refused(_) | Self::Terminal(_) => None,
        }
    }

    pub(super) fn help(&self) -> Option<&'static str> {
        match self {
            Self::NoSocket | Self::Socket(_) => {
                Some("start a daemon with `isthmus daemon`, or name its socket with `--socket`")
            }
            Self::Addresses => {
                Some("run it on the daemon's machine, and name the socket there with `--socket PATH`")
            }
            Self::Silent | Self::Refused(_) | Self::Terminal(_) => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Client(InspectClient<Channel>);

impl Client {
    pub(super) async fn connect(
        context: &ProcessContext,
        socket: Option<&Path>,
    ) -> Result<Self, ClientError> {
        let chosen = socket.map(|path| context.resolve(path));
        let path = match chosen {
            Some(path) => path,
            None if matches!(context.settings().daemon, DaemonChoice::Addresses(_)) => {
                return Err(ClientError::Addresses);
            }
            None => DaemonSocket::for_operator(context).ok_or(ClientError::NoSocket)?,
        };
        detail(|| format!("the daemon's socket is {}", path.display()));
        let stream = Mutex::new(Some(DaemonSocket::reach(&path).await?));
        // One that is lost is not made again: the daemon has ended.
        let channel = Channel::new(Authority::from_static("isthmus"), SETTINGS, move || {
            let stream = stream.lock().map_or(None, |mut stream| stream.take());
            ready(match stream {
                Some(stream) => Ok(Box::new(stream) as Box<dyn Stream>),
                None => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            })
        });
        Ok(Self(InspectClient::new(channel)))
    }

    pub(super) async fn overview(&mut self) -> Result<OverviewResponse, ClientError> {
        answered(self.0.overview(OverviewRequest {})).await
    }

    pub(super) async fn logs(&mut self, follow: bool) -> Result<Streaming<LogLine>, ClientError> {
        answered(self.0.logs(LogsRequest { follow })).await
    }
}

async fn answered<Answer>(
    call: impl Future<Output = Result<tonic::Response<Answer>, Status>>,
) -> Result<Answer, ClientError> {
    let answer = tokio::time::timeout(PATIENCE, call).await.map_err(|_| ClientError::Silent)?;
    answer.map(tonic::Response::into_inner).map_err(|status| ClientError::Refused(Box::new(status)))
}
