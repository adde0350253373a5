//! The daemon's connection to the engine, which this process makes for it.

use std::time::Duration;

use bytes::Bytes;
use isthmus_proto::daemon::daemon_client::DaemonClient;
use isthmus_proto::daemon::{self};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::io::ReaderStream;

use super::link::AuthorizedChannel;

/// Messages that the engine has sent and the daemon has not taken. They are answers to lines of a log.
const WAITING: usize = 16;

/// Pause before a connection is offered again, so that an engine that is gone is not asked incessantly.
const PAUSE: Duration = Duration::from_millis(100);

/// Offers connections to the engine, one after another, until the daemon is gone.
pub(super) async fn carry(
    mut daemon: DaemonClient<AuthorizedChannel>,
    engine: watch::Receiver<Option<String>>,
) {
    loop {
        let (send, from_engine) = mpsc::channel(WAITING);
        // The call begins with its first message.
        if send.send(message(Bytes::new())).await.is_err() {
            return;
        }
        let Ok(offered) = daemon.engine(ReceiverStream::new(from_engine)).await else { return };
        let mut to_engine = offered.into_inner();
        // The daemon has something to say: it is connected now, not for each plugin that starts.
        let first = match to_engine.next().await {
            Some(Ok(first)) => first.content,
            Some(Err(_)) | None => return,
        };
        let address = engine.borrow().clone();
        if let Some(Ok(stream)) = connect(address).await {
            let (read, mut write) = stream.into_split();
            let sent = async {
                if write.write_all(&first).await.is_err() {
                    return;
                }
                while let Some(Ok(message)) = to_engine.next().await {
                    if write.write_all(&message.content).await.is_err() {
                        return;
                    }
                }
            };
            let received = async {
                let mut read = ReaderStream::new(read);
                while let Some(Ok(content)) = read.next().await {
                    if send.send(message(content)).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = sent => {}
                () = received => {}
            }
        }
        drop(send);
        tokio::time::sleep(PAUSE).await;
    }
}

async fn connect(address: Option<String>) -> Option<std::io::Result<TcpStream>> {
    let stream = TcpStream::connect(address?).await;
    Some(stream.and_then(|stream| stream.set_nodelay(true).map(|()| stream)))
}

fn message(content: Bytes) -> daemon::Bytes {
    daemon::Bytes { content }
}
