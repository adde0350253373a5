//! The server's side of a connection.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::SendStream;
use h2::server::SendResponse;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;
use tonic::body::Body;

use crate::load::{Arrival, CallLoad};
use crate::{Coalesced, Incoming, Load};

/// Parameters of a server's connections.
#[derive(Clone, Copy, Debug)]
pub struct ServerSettings {
    /// Bytes that each request may have under way before it is read.
    pub window: u32,
    /// Concurrent calls of a connection.
    pub most_calls: u32,
}

/// Bytes of a request's headers. Those of engines have some hundred.
const LARGEST_HEADERS: u32 = 16 * 1024;

/// How long a peer may take to begin with HTTP/2.
const GREETING: Duration = Duration::from_secs(30);

/// The largest window of HTTP/2.
const LARGEST_WINDOW: u32 = u32::MAX >> 1;

/// How long an ended connection without calls in progress remains, for a peer that still reads its answers.
const FAREWELL: Duration = Duration::from_secs(3);

/// Serves the calls of a connection until its peer closes it. After `ended`, no further call is accepted, those in progress
/// are answered, and the connection is closed seconds later even if the peer is silent.
///
/// What it takes is counted in `load`; calls that are too many are answered with RESOURCE_EXHAUSTED. A call is in progress until
/// its peer has room for all of its answer.
///
/// A call that its peer cancels is dropped, as are all of a connection that is lost, or whose peer violates HTTP/2. A panic
/// ends its call only.
pub async fn serve_connection<Answer>(
    io: impl AsyncRead + AsyncWrite + Unpin,
    mut call: impl FnMut(Request<Incoming>) -> Answer,
    settings: ServerSettings,
    load: &Load,
    ended: &CancellationToken,
) where
    Answer: Future<Output = Response<Body>> + Send + 'static,
{
    let handshake = h2::server::Builder::new()
        .initial_window_size(settings.window)
        // Requests that are not read leave room for all others.
        .initial_connection_window_size(
            settings.window.saturating_mul(settings.most_calls).min(LARGEST_WINDOW),
        )
        .max_concurrent_streams(settings.most_calls)
        .max_header_list_size(LARGEST_HEADERS)
        .handshake::<_, Bytes>(Coalesced::new(io));
    let connection = tokio::select! {
        connection = tokio::time::timeout(GREETING, handshake) => connection,
        () = ended.cancelled() => return,
    };
    let Ok(Ok(mut connection)) = connection else { return };
    let load = load.connection();
    let calls = TaskTracker::new();
    let mut is_ending = false;
    let unanswered = async {
        calls.wait().await;
        tokio::time::sleep(FAREWELL).await;
    };
    let mut unanswered = pin!(unanswered);
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, mut response))) => match load.begin() {
                    Some(place) => {
                        let arrival = Arrival::new(Arc::clone(&place), settings.window);
                        let mut request = request.map(|stream| Incoming::of_request(stream, arrival));
                        request.extensions_mut().insert(place.long_answer());
                        calls.spawn(answer(call(request), response, place, ended.clone()));
                    }
                    None => {
                        let (head, _) = too_many_calls().into_parts();
                        // An error means that the peer has gone.
                        drop(response.send_response(Response::from_parts(head, ()), true));
                    }
                },
                Some(Err(_)) | None => return,
            },
            () = ended.cancelled(), if !is_ending => {
                is_ending = true;
                calls.close();
                connection.graceful_shutdown();
            }
            () = &mut unanswered, if is_ending => return,
        }
    }
}

/// Makes a call and sends its response, unless that takes too long. The peer may cancel it at any time.
async fn answer(
    call: impl Future<Output = Response<Body>>,
    mut response: SendResponse<Bytes>,
    place: Arc<CallLoad>,
    ended: CancellationToken,
) {
    let mut call = pin!(call);
    let answered = poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => response.poll_reset(context).map(|_| None),
    });
    let Some(answer) = answered.await else { return };
    let (head, body) = answer.into_parts();
    let is_whole = body.is_end_stream();
    // An error means that the peer has gone, whom nothing more can be sent.
    if let Ok(mut stream) = response.send_response(Response::from_parts(head, ()), is_whole)
        && !is_whole
    {
        let (mut body, mut waiting, sent) = (pin!(body), Bytes::new(), AtomicUsize::new(0));
        let mut unread = pin!(place.is_unread(&sent, &ended));
        loop {
            let part = poll_fn(|context| send_part(&mut stream, body.as_mut(), &mut waiting, context));
            let sending = tokio::select! {
                biased;
                sending = part => sending,
                () = &mut unread => {
                    let status = Status::resource_exhausted("the answer was not read in time");
                    // An error means that the peer has gone.
                    drop(trailers_of(&status).map(|trailers| stream.send_trailers(trailers)));
                    None
                }
            };
            let Some(bytes) = sending else { return };
            sent.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

fn trailers_of(status: &Status) -> Result<HeaderMap, Status> {
    let mut trailers = HeaderMap::new();
    status.add_header(&mut trailers)?;
    Ok(trailers)
}

/// Sends the next part of a body, and returns its size: data as far as its peer has room, whose rest is in `waiting` until it has
/// more, and trailers at once, which need no room. `None` after the last.
fn send_part(
    stream: &mut SendStream<Bytes>,
    body: Pin<&mut Body>,
    waiting: &mut Bytes,
    context: &mut Context<'_>,
) -> Poll<Option<usize>> {
    if stream.poll_reset(context).is_ready() {
        return Poll::Ready(None);
    }
    if waiting.is_empty() {
        *waiting = match ready!(body.poll_frame(context)).map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => data,
            Some(Ok(Err(frame))) => {
                let Ok(trailers) = frame.into_trailers() else { return Poll::Ready(Some(0)) };
                // They end the stream.
                drop(stream.send_trailers(trailers));
                return Poll::Ready(None);
            }
            Some(Err(_)) => {
                stream.send_reset(h2::Reason::INTERNAL_ERROR);
                return Poll::Ready(None);
            }
            None => {
                drop(stream.send_data(Bytes::new(), true));
                return Poll::Ready(None);
            }
        };
    }
    // What a peer does not read is not buffered by its connection.
    stream.reserve_capacity(waiting.len());
    while stream.capacity() == 0 && !waiting.is_empty() {
        match ready!(stream.poll_capacity(context)) {
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Poll::Ready(None),
        }
    }
    let part = waiting.split_to(stream.capacity().min(waiting.len()));
    let size = part.len();
    Poll::Ready(stream.send_data(part, false).ok().map(|()| size))
}

fn too_many_calls() -> Response<Body> {
    let text = "the server has too many calls in progress, most of them of this connection\nhelp: make fewer at a time";
    Status::resource_exhausted(text).into_http()
}

/// The response to a call of a service that is not served.
pub fn unimplemented(path: &str) -> Response<Body> {
    let service = path.split('/').nth(1).unwrap_or_default();
    Status::unimplemented(format!("unknown service {service}")).into_http()
}
