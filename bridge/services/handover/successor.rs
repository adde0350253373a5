//! The process that replaces a daemon.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Authority;
use isthmus_grpc::{Channel, ChannelSettings, Stream};
use isthmus_platform::files::os_bytes;
use isthmus_platform::local::{self, Listener, ListeningSocket};
use isthmus_platform::process::User;
use isthmus_proto::daemon::HandOverRequest;
use isthmus_proto::daemon::daemon_client::DaemonClient;
use tonic::{Code, Status};

use crate::attach::{DaemonSocket, SocketError};

const SETTINGS: ChannelSettings =
    ChannelSettings { stream_window: 1 << 16, connection_window: 1 << 16, largest_headers: 1 << 16 };

/// How long a daemon may take to hand its socket over.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is asked: meanwhile, another process may have replaced it, which is asked then, or it may have died.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// The socket of a daemon that was replaced.
#[derive(Debug)]
pub struct Taken {
    pub socket: ListeningSocket,
    /// The process of that daemon; not every system says which it is.
    pub predecessor: Option<i32>,
}

/// Why a daemon is not replaced.
#[derive(Debug, thiserror::Error)]
pub enum TakeOverError {
    #[error("the socket does not belong to a daemon of this user, so isthmus leaves it alone")]
    Socket(#[source] SocketError),
    #[error("failed to open a socket in {directory}, by which the daemon would be replaced", directory = directory.display())]
    Meeting {
        directory: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the process that listens on {path} does not hand its socket over: {reason}", path = path.display(), reason = status.message())]
    Refused { path: PathBuf, status: Box<Status> },
    #[error("the daemon that listens on {path} has not handed its socket over within {} seconds", PATIENCE.as_secs(), path = .0.display())]
    Silent(PathBuf),
    #[error("failed to take over the socket {path}", path = path.display())]
    Taken {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the daemon that listens on {path} is being replaced by other processes", path = .0.display())]
    Contended(PathBuf),
}

/// Takes over the socket of the daemon that listens on `path`; `None` if none does.
pub async fn take_over(path: &Path) -> Result<Option<Taken>, TakeOverError> {
    let mut fault = TakeOverError::Contended(path.to_owned());
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let stream = match DaemonSocket::connect(path).await {
            Ok(stream) => stream,
            Err(SocketError::Absent { .. } | SocketError::Kind(_)) => return Ok(None),
            Err(error) => return Err(TakeOverError::Socket(error)),
        };
        let directory = path.parent().unwrap_or(Path::new("/"));
        let meeting = meeting_in(directory)
            .map_err(|source| TakeOverError::Meeting { directory: directory.to_owned(), source })?;
        let taken = tokio::time::timeout(PATIENCE, taken(path, stream, meeting));
        match taken.await.unwrap_or_else(|_| Err(TakeOverError::Silent(path.to_owned()))) {
            // It has a successor, or ends.
            Err(TakeOverError::Refused { status, .. }) if status.code() == Code::FailedPrecondition => {}
            // It may have died: then nothing listens at the next attempt, or a successor.
            Err(error @ TakeOverError::Taken { .. }) => fault = error,
            Err(TakeOverError::Refused { path, status }) if may_be_lost(&status) => {
                fault = TakeOverError::Refused { path, status };
            }
            taken => return taken.map(Some),
        }
    }
    Err(fault)
}

/// Whether this may be the end of the connection, and not an answer.
fn may_be_lost(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::Cancelled | Code::Unknown)
}

/// A socket for the daemon to connect to, with a path that is removed with it.
type Meeting = tempfile::NamedTempFile<Listener>;

fn meeting_in(directory: &Path) -> io::Result<Meeting> {
    tempfile::Builder::new().prefix(".").make_in(directory, |path| Listener::bind(path))
}

async fn taken(path: &Path, stream: local::Stream, meeting: Meeting) -> Result<Taken, TakeOverError> {
    let stream = Mutex::new(Some(Box::new(stream) as Box<dyn Stream>));
    let channel = Channel::new(Authority::from_static("isthmus"), SETTINGS, move || {
        let stream = stream.lock().map_or(None, |mut stream| stream.take());
        std::future::ready(stream.ok_or_else(|| io::ErrorKind::ConnectionReset.into()))
    });
    let request = HandOverRequest { socket: Bytes::copy_from_slice(os_bytes(meeting.path().as_os_str())) };
    let mut client = DaemonClient::new(channel);
    let refused = |status| TakeOverError::Refused { path: path.to_owned(), status: Box::new(status) };
    let failed = |source| TakeOverError::Taken { path: path.to_owned(), source };
    tokio::select! {
        // It answers after its successor has taken over.
        answer = client.hand_over(request) => match answer {
            Err(status) => Err(refused(status)),
            Ok(_) => Err(failed(io::ErrorKind::UnexpectedEof.into())),
        },
        taken = received(meeting.as_file()) => taken.map_err(failed),
    }
}

/// What the daemon hands over.
async fn received(meeting: &Listener) -> io::Result<Taken> {
    loop {
        let (stream, _) = meeting.accept().await?;
        let peer = local::peer(&stream)?;
        if peer.user != User::current() {
            continue;
        }
        let socket = ListeningSocket::receive(&stream).await?;
        // From here on, this process is the owner. At once, so that nothing else can come first. One that does not read it any more has died
        // or ends, and leaves the socket to this process.
        local::send_byte(&stream, 1);
        return Ok(Taken { socket, predecessor: peer.process });
    }
}
