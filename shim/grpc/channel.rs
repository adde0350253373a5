//! The client's side: calls on a connection that is made again when it is lost.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::SendStream;
use h2::client::SendRequest;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body::Body as _;
use isthmus_common::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tonic::Status;
use tonic::body::Body;

use crate::error::{broken, not_sent};
use crate::{Coalesced, Incoming};

/// Bytes in both directions, such as a socket or a TLS session.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<Io: AsyncRead + AsyncWrite + Send + Unpin> Stream for Io {}

/// Parameters of a connection, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct ChannelSettings {
    /// What one response may have under way.
    pub stream_window: u32,
    /// What all responses together may have under way.
    pub connection_window: u32,
    /// The largest header list, which includes statuses and their details.
    pub largest_headers: u32,
}

/// A connection to a server, made with the first call, and again by the call that finds it lost. Clones share it.
#[derive(Clone)]
pub struct Channel(Arc<Connections>);

type Connect = Arc<dyn Fn() -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync>;

struct Connections {
    authority: Authority,
    settings: ChannelSettings,
    connect: Connect,
    current: Mutex<Option<SendRequest<Bytes>>>,
}

impl Channel {
    /// A channel over the streams that `connect` opens. The server is told `authority`.
    pub fn new<Opened>(
        authority: Authority,
        settings: ChannelSettings,
        connect: impl Fn() -> Opened + Send + Sync + 'static,
    ) -> Self
    where
        Opened: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        let connect = Arc::new(move || -> BoxFuture<'static, _> { Box::pin(connect()) });
        Self(Arc::new(Connections { authority, settings, connect, current: Mutex::new(None) }))
    }

    /// A channel to the same server with a connection of its own: what is not read of its responses takes no room of others.
    #[must_use]
    pub fn apart(&self, settings: ChannelSettings) -> Self {
        let Connections { authority, connect, .. } = &*self.0;
        let (authority, connect) = (authority.clone(), Arc::clone(connect));
        Self(Arc::new(Connections { authority, settings, connect, current: Mutex::new(None) }))
    }

    /// A channel to an address such as `127.0.0.1:4000`, which has this long to take a connection.
    pub fn tcp(address: Authority, settings: ChannelSettings, within: Duration) -> Self {
        let target = address.to_string();
        Self::new(address, settings, move || {
            let connecting = TcpStream::connect(target.clone());
            async move {
                let stream = tokio::time::timeout(within, connecting).await??;
                // Each message is waited for.
                stream.set_nodelay(true)?;
                Ok(Box::new(stream) as Box<dyn Stream>)
            }
        })
    }

    /// Connects now, unless it is connected.
    ///
    /// # Errors
    /// When the stream cannot be opened, or ends before HTTP/2 begins.
    pub async fn connect(&self) -> io::Result<()> {
        self.0.ready().await.map(drop)
    }

    async fn call(&self, request: Request<Body>) -> Result<Response<Incoming>, Status> {
        let mut sender = self.0.ready().await.map_err(not_sent)?;
        let (mut head, body) = request.into_parts();
        head.uri = self.0.absolute(head.uri)?;
        let mut body = Box::pin(body);
        // The first part is encoded before anything is sent, so that both are sent together.
        let mut part = next_part(body.as_mut()).await?;
        let (response, mut stream) =
            sender.send_request(Request::from_parts(head, ()), part.is_none()).map_err(not_sent)?;
        while let Some(data) = part {
            let Some(next) = poll_fn(|context| Poll::Ready(ready_part(body.as_mut(), context))).await else {
                stream.send_data(data, false).map_err(broken)?;
                tokio::spawn(send_rest(body, stream));
                break;
            };
            part = next?;
            stream.send_data(data, part.is_none()).map_err(broken)?;
        }
        Ok(response.await.map_err(broken)?.map(Incoming::new))
    }
}

impl Connections {
    /// A connection that takes a request.
    async fn ready(&self) -> io::Result<SendRequest<Bytes>> {
        let known = self.current.lock().await.clone();
        if let Some(known) = known
            && let Ok(ready) = known.ready().await
        {
            return Ok(ready);
        }
        let mut current = self.current.lock().await;
        // Another call may have connected meanwhile.
        if let Some(known) = current.clone()
            && let Ok(ready) = known.ready().await
        {
            return Ok(ready);
        }
        let stream = (self.connect)().await?;
        let ChannelSettings { stream_window, connection_window, largest_headers } = self.settings;
        let handshake = h2::client::Builder::new()
            .initial_window_size(stream_window)
            .initial_connection_window_size(connection_window)
            .max_header_list_size(largest_headers)
            .enable_push(false)
            .handshake(Coalesced::new(stream));
        let (sender, connection) = handshake.await.map_err(io::Error::other)?;
        // It ends with the last sender and call, or when the connection is lost, which its calls notice.
        tokio::spawn(async move { drop(connection.await) });
        *current = Some(sender.clone());
        sender.ready().await.map_err(io::Error::other)
    }

    fn absolute(&self, path: Uri) -> Result<Uri, Status> {
        let mut parts = path.into_parts();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(self.authority.clone());
        Uri::from_parts(parts).map_err(not_sent)
    }
}

/// Sends the rest of a stream of messages as they come and its peer has room.
async fn send_rest(mut body: Pin<Box<Body>>, mut stream: SendStream<Bytes>) {
    loop {
        // The peer may end the call at any time.
        let part = tokio::select! {
            part = next_part(body.as_mut()) => part,
            _ = poll_fn(|context| stream.poll_reset(context)) => return,
        };
        let sent = match part {
            Ok(Some(data)) => has_room(&mut stream).await && stream.send_data(data, false).is_ok(),
            Ok(None) => {
                drop(stream.send_data(Bytes::new(), true));
                false
            }
            Err(_) => {
                stream.send_reset(h2::Reason::CANCEL);
                false
            }
        };
        if !sent {
            return;
        }
    }
}

/// Waits until the peer has room for a part, which is buffered as far as it is larger. False if the call has ended.
async fn has_room(stream: &mut SendStream<Bytes>) -> bool {
    stream.reserve_capacity(1);
    while stream.capacity() == 0 {
        match poll_fn(|context| stream.poll_capacity(context)).await {
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return false,
        }
    }
    true
}

/// The next part of a message; tonic's requests have no trailers.
async fn next_part(mut body: Pin<&mut Body>) -> Result<Option<Bytes>, Status> {
    poll_fn(|context| poll_part(body.as_mut(), context)).await
}

fn poll_part(body: Pin<&mut Body>, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Status>> {
    body.poll_frame(context).map(|frame| Ok(frame.transpose()?.and_then(|frame| frame.into_data().ok())))
}

/// The next part, unless it has to be waited for.
fn ready_part(body: Pin<&mut Body>, context: &mut Context<'_>) -> Option<Result<Option<Bytes>, Status>> {
    match poll_part(body, context) {
        Poll::Ready(part) => Some(part),
        Poll::Pending => None,
    }
}

impl tower::Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Response<Incoming>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let channel = self.clone();
        Box::pin(async move { Self::call(&channel, request).await })
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Channel").field(&self.0.authority).finish()
    }
}
