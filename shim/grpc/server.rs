//! The server's side of a connection.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::SendStream;
use h2::server::SendResponse;
use http::{HeaderValue, Request, Response, header};
use http_body::Body as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;

use crate::{Coalesced, Incoming};

/// Parameters of a server's connections.
#[derive(Clone, Copy, Debug)]
pub struct ServerSettings {
    /// Bytes that a request, and all requests of a connection together, may have under way.
    pub window: u32,
    /// Concurrent calls of a connection.
    pub most_calls: u32,
}

/// Bytes of a request's headers. Those of engines have some hundred.
const LARGEST_HEADERS: u32 = 16 * 1024;

/// Serves the calls of a connection until its peer closes it. After `ended`, no further call is accepted, and those in
/// progress are answered.
///
/// A call that its peer cancels is dropped, as are all of a connection that is lost, or whose peer violates HTTP/2. A panic
/// ends its call only.
pub async fn serve_connection<Answer>(
    io: impl AsyncRead + AsyncWrite + Unpin,
    mut call: impl FnMut(Request<Incoming>) -> Answer,
    settings: ServerSettings,
    ended: &CancellationToken,
) where
    Answer: Future<Output = Response<Body>> + Send + 'static,
{
    let handshake = h2::server::Builder::new()
        .initial_window_size(settings.window)
        .initial_connection_window_size(settings.window)
        .max_concurrent_streams(settings.most_calls)
        .max_header_list_size(LARGEST_HEADERS)
        .handshake::<_, Bytes>(Coalesced::new(io));
    let connection = tokio::select! {
        connection = handshake => connection,
        () = ended.cancelled() => return,
    };
    let Ok(mut connection) = connection else { return };
    let mut is_ending = false;
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, response))) => {
                    tokio::spawn(answer(call(request.map(Incoming::new)), response));
                }
                Some(Err(_)) | None => return,
            },
            () = ended.cancelled(), if !is_ending => {
                is_ending = true;
                connection.graceful_shutdown();
            }
        }
    }
}

/// Makes a call and sends its response. The peer may cancel it at any time.
async fn answer(call: impl Future<Output = Response<Body>>, mut response: SendResponse<Bytes>) {
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
        let mut body = pin!(body);
        while let Some(()) = poll_fn(|context| send_part(&mut stream, body.as_mut(), context)).await {}
    }
}

/// Sends the next part of a body, when its peer has room. `None` after the last.
fn send_part(
    stream: &mut SendStream<Bytes>,
    body: Pin<&mut Body>,
    context: &mut Context<'_>,
) -> Poll<Option<()>> {
    if stream.poll_reset(context).is_ready() {
        return Poll::Ready(None);
    }
    // A part may be larger than the room: the rest is buffered, and the next part waits.
    stream.reserve_capacity(1);
    while stream.capacity() == 0 {
        match ready!(stream.poll_capacity(context)) {
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Poll::Ready(None),
        }
    }
    let sent = match ready!(body.poll_frame(context)) {
        Some(Ok(frame)) => match frame.into_data() {
            Ok(data) => stream.send_data(data, false),
            Err(frame) => match frame.into_trailers() {
                Ok(trailers) => {
                    // They end the stream.
                    drop(stream.send_trailers(trailers));
                    return Poll::Ready(None);
                }
                Err(_) => Ok(()),
            },
        },
        Some(Err(_)) => {
            stream.send_reset(h2::Reason::INTERNAL_ERROR);
            return Poll::Ready(None);
        }
        None => {
            drop(stream.send_data(Bytes::new(), true));
            return Poll::Ready(None);
        }
    };
    Poll::Ready(sent.ok())
}

/// The response to a call of a service or method that is not served.
pub fn unimplemented() -> Response<Body> {
    let mut response = Response::new(Body::default());
    let headers = response.headers_mut();
    headers.insert(tonic::Status::GRPC_STATUS, HeaderValue::from(tonic::Code::Unimplemented as i32));
    headers.insert(header::CONTENT_TYPE, tonic::metadata::GRPC_CONTENT_TYPE);
    response
}
