//! Both sides of a connection, over a pipe in memory.

use std::convert::Infallible;
use std::future::{pending, poll_fn, ready};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::Service as _;

use super::*;

const SIZE: u32 = 1 << 20;
const CLIENT: ChannelSettings =
    ChannelSettings { stream_window: SIZE, connection_window: SIZE, largest_headers: SIZE };
const SERVER: ServerSettings = ServerSettings { window: SIZE, most_calls: 100 };

/// A stream that counts the writes that its peer sees.
struct Counted {
    stream: DuplexStream,
    writes: Arc<AtomicUsize>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A channel, and what it is connected to.
struct Pair {
    channel: Channel,
    ended: CancellationToken,
    serving: JoinHandle<()>,
    writes: [Arc<AtomicUsize>; 2],
}

impl Pair {
    fn serving<Answer>(call: impl FnMut(Request<Incoming>) -> Answer + Send + 'static) -> Self
    where
        Answer: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::within(&Load::unlimited(), call)
    }

    /// On one of the connections of a server with limits.
    fn within<Answer>(load: &Load, call: impl FnMut(Request<Incoming>) -> Answer + Send + 'static) -> Self
    where
        Answer: Future<Output = Response<Body>> + Send + 'static,
    {
        let (ours, theirs) = duplex(1 << 22);
        let writes = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let theirs = Counted { stream: theirs, writes: Arc::clone(&writes[1]) };
        let ended = CancellationToken::new();
        let until = ended.clone();
        let load = load.clone();
        let serving =
            tokio::spawn(async move { serve_connection(theirs, call, SERVER, &load, &until).await });
        let ours = Mutex::new(Some(Counted { stream: ours, writes: Arc::clone(&writes[0]) }));
        let channel = Channel::new(Authority::from_static("localhost"), CLIENT, move || {
            let stream = ours.lock().expect("no panic elsewhere").take();
            ready(match stream {
                Some(stream) => Ok(Box::new(stream) as Box<dyn Stream>),
                None => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
            })
        });
        Self { channel, ended, serving, writes }
    }

    fn written(&self) -> [usize; 2] {
        [0, 1].map(|side| self.writes[side].load(Ordering::Relaxed))
    }
}

fn request(content: &'static [u8]) -> Request<Body> {
    let body = Body::new(Full::new(Bytes::from_static(content)).map_err(|never: Infallible| match never {}));
    Request::post("/test.Service/Method").body(body).expect("a request")
}

/// Data and trailers, as of every gRPC response.
fn response(content: Bytes) -> Response<Body> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let frames = [Frame::data(content), Frame::trailers(trailers)].map(Ok::<_, Status>);
    Response::new(Body::new(StreamBody::new(tokio_stream::iter(frames))))
}

async fn call(channel: &Channel, content: &'static [u8]) -> Result<Bytes, Status> {
    let answer = channel.clone().call(request(content)).await?.into_body().collect().await?;
    assert_eq!(answer.trailers().map(HeaderMap::len), Some(1));
    Ok(answer.to_bytes())
}

async fn echo(request: Request<Incoming>) -> Response<Body> {
    assert_eq!(request.uri().path(), "/test.Service/Method");
    response(request.into_body().collect().await.expect("a whole body").to_bytes())
}

#[tokio::test]
async fn a_message_and_its_answer_are_one_write_each() {
    let pair = Pair::serving(echo);
    // Settings are exchanged with the first.
    for _ in 0..2 {
        call(&pair.channel, b"first").await.expect("an answer");
    }
    let large: &'static [u8] = &[7; 6000];
    for content in [b"small", large] {
        let before = pair.written();
        assert_eq!(call(&pair.channel, content).await.expect("an answer"), content);
        let after = pair.written();
        assert_eq!([after[0] - before[0], after[1] - before[1]], [1, 1], "{} bytes", content.len());
    }
}

#[tokio::test]
async fn many_calls_at_once_are_answered_each_with_its_own() {
    let pair = Pair::serving(echo);
    let contents: [&'static [u8]; 3] = [b"a", &[1; 100_000], b"c"];
    let calls = contents.map(|content| {
        let channel = pair.channel.clone();
        tokio::spawn(async move { call(&channel, content).await })
    });
    for (content, call) in contents.into_iter().zip(calls) {
        assert_eq!(call.await.expect("no panic").expect("an answer"), content);
    }
}

#[tokio::test]
async fn a_stream_of_messages_may_wait_for_the_answers_to_its_first_ones() {
    let pair = Pair::serving(|request: Request<Incoming>| {
        let frames = BodyStream::new(request.into_body());
        ready(Response::new(Body::new(StreamBody::new(frames))))
    });
    let (send, parts) = tokio::sync::mpsc::channel(1);
    let frames = ReceiverStream::new(parts).map(|part| Ok::<_, Status>(Frame::data(part)));
    let body = Body::new(StreamBody::new(frames));
    send.send(Bytes::from_static(b"0")).await.expect("it is read");
    let request = Request::post("/test.Service/Method").body(body).expect("a request");
    let mut answer = BodyStream::new(pair.channel.clone().call(request).await.expect("headers").into_body());
    for number in 1..100 {
        let echo = answer.next().await.expect("a part").expect("no failure").into_data().expect("data");
        assert_eq!(echo, format!("{}", number - 1));
        send.send(format!("{number}").into()).await.expect("it is read");
    }
    drop(send);
    let mut last = Vec::new();
    while let Some(part) = answer.next().await {
        last.extend_from_slice(&part.expect("no failure").into_data().expect("data"));
    }
    assert_eq!(last, b"99", "the last echo, and the end of both streams");
}

#[tokio::test]
async fn a_call_that_its_caller_drops_is_dropped_by_the_server() {
    let (started, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (has_started, was_dropped) = (Arc::clone(&started), Arc::clone(&dropped));
    struct OnDrop(Arc<Notify>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let pair = Pair::serving(move |_| {
        let (started, dropped) = (Arc::clone(&has_started), OnDrop(Arc::clone(&was_dropped)));
        async move {
            let _dropped = dropped;
            started.notify_one();
            pending().await
        }
    });
    let channel = pair.channel.clone();
    let calling = tokio::spawn(async move { call(&channel, b"x").await });
    started.notified().await;
    calling.abort();
    dropped.notified().await;
}

#[tokio::test]
async fn at_the_end_calls_in_progress_are_answered_and_others_are_not_sent() {
    let (release, released) = oneshot::channel::<()>();
    let started = Arc::new(Notify::new());
    let has_started = Arc::clone(&started);
    let mut released = Some(released);
    let pair = Pair::serving(move |_| {
        let (released, started) = (released.take(), Arc::clone(&has_started));
        async move {
            started.notify_one();
            released.expect("one call").await.expect("the test goes on");
            response(Bytes::from_static(b"late"))
        }
    });
    let channel = pair.channel.clone();
    let calling = tokio::spawn(async move { call(&channel, b"x").await });
    started.notified().await;
    pair.ended.cancel();
    release.send(()).expect("the call waits");
    assert_eq!(calling.await.expect("no panic").expect("an answer"), "late");
    pair.serving.await.expect("no panic");
    // The channel connects again, which this test's refuses.
    let status = call(&pair.channel, b"y").await.expect_err("nobody serves");
    assert_eq!(status.code(), Code::Unavailable);
    assert!(std::error::Error::source(&status).is_some_and(|source| source.is::<NotSent>()), "{status:?}");
}

#[tokio::test]
async fn a_panic_ends_its_call_only() {
    let mut count = 0;
    let pair = Pair::serving(move |request| {
        count += 1;
        let is_first = count == 1;
        async move {
            assert!(!is_first, "as the test wants it");
            echo(request).await
        }
    });
    let status = call(&pair.channel, b"x").await.expect_err("a panic");
    assert!(std::error::Error::source(&status).is_some(), "{status:?}");
    assert_eq!(call(&pair.channel, b"y").await.expect("an answer"), "y");
}

#[tokio::test]
async fn a_response_is_made_as_far_as_its_reader_has_room() {
    const PART: usize = 64 * 1024;
    let made = Arc::new(AtomicUsize::new(0));
    let parts = Arc::clone(&made);
    let pair = Pair::serving(move |_| {
        let parts = Arc::clone(&parts);
        let frames = tokio_stream::iter(std::iter::from_fn(move || {
            (parts.fetch_add(1, Ordering::Relaxed) < 1000)
                .then(|| Ok::<_, Status>(Frame::data(Bytes::from(vec![0; PART]))))
        }));
        ready(Response::new(Body::new(StreamBody::new(frames))))
    });
    let answer = pair.channel.clone().call(request(b"x")).await.expect("headers");
    let mut body = pin!(answer.into_body());
    let mut received = 0;
    let mut most_ahead = 0;
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        received += frame.expect("a frame").into_data().map_or(0, |data| data.len());
        most_ahead = most_ahead.max((made.load(Ordering::Relaxed) * PART).saturating_sub(received));
    }
    assert_eq!(received, 1000 * PART);
    // The window, the pipe, and what h2 buffers.
    assert!(most_ahead <= 8 << 20, "{most_ahead}");
}

#[tokio::test]
async fn a_connection_that_is_lost_is_made_again_by_the_next_call() {
    let (stop, connections) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
    let (stopped, count) = (stop.clone(), Arc::clone(&connections));
    let ended = Arc::new(Notify::new());
    let has_ended = Arc::clone(&ended);
    let channel = Channel::new(Authority::from_static("localhost"), CLIENT, move || {
        let (ours, theirs) = duplex(1 << 16);
        // The first connection ends with the token.
        let until = if count.fetch_add(1, Ordering::Relaxed) == 0 {
            stopped.clone()
        } else {
            CancellationToken::new()
        };
        let ended = Arc::clone(&has_ended);
        tokio::spawn(async move {
            serve_connection(theirs, echo, SERVER, &Load::unlimited(), &until).await;
            ended.notify_one();
        });
        ready(Ok(Box::new(ours) as Box<dyn Stream>))
    });
    assert_eq!(call(&channel, b"x").await.expect("an answer"), "x");
    stop.cancel();
    ended.notified().await;
    assert_eq!(call(&channel, b"y").await.expect("an answer"), "y");
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}

const LIMITS: LoadLimits = LoadLimits {
    calls: 8,
    messages: 3 << 20,
    messages_of_connection: 3 << 20,
    answers: 3,
    answers_of_connection: 2,
    patience: Duration::from_millis(100),
};

/// A gRPC message of 2 MiB.
fn large_message() -> &'static [u8] {
    message_of(2 << 20)
}

fn message_of(size: u32) -> &'static [u8] {
    let mut message = vec![0; 5 + size as usize];
    message[1..5].copy_from_slice(&size.to_be_bytes());
    message.leak()
}

/// Answers when the message has arrived, or why it has not.
async fn received(request: Request<Incoming>) -> Response<Body> {
    match request.into_body().only_message(3 << 20).await {
        Ok(message) => response(message),
        Err(status) => status.into_http(),
    }
}

#[tokio::test]
async fn calls_are_refused_on_the_connection_that_has_too_many_and_on_no_other() {
    let load = Load::new(LIMITS);
    let greedy = Pair::within(&load, |_| pending());
    let held: Vec<_> = (0..LIMITS.calls)
        .map(|_| {
            let channel = greedy.channel.clone();
            tokio::spawn(async move { call(&channel, b"").await })
        })
        .collect();
    let refused = loop {
        // One that is not refused comes before those that are held.
        let answer =
            tokio::time::timeout(Duration::from_millis(100), greedy.channel.clone().call(request(b"")));
        if let Ok(answer) = answer.await {
            break answer.expect("headers");
        }
    };
    let status = Status::from_header_map(refused.headers()).expect("a status");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let other = Pair::within(&load, echo);
    assert_eq!(call(&other.channel, b"").await.expect("it is answered"), "");
    held.into_iter().for_each(|call| call.abort());
}

/// A call of whose message only this arrives, as long as the sender is there.
fn begun(pair: &Pair, part: &'static [u8]) -> (Sending, JoinHandle<Result<Response<Incoming>, Status>>) {
    let (send, parts) = tokio::sync::mpsc::channel(1);
    send.try_send(Bytes::from_static(part)).expect("it is the first");
    let frames = ReceiverStream::new(parts).map(|part| Ok::<_, Status>(Frame::data(part)));
    let request =
        Request::post("/test.Service/Method").body(Body::new(StreamBody::new(frames))).expect("a request");
    let mut channel = pair.channel.clone();
    (send, tokio::spawn(async move { channel.call(request).await }))
}

type Sending = tokio::sync::mpsc::Sender<Bytes>;

#[tokio::test]
async fn messages_that_are_announced_and_do_not_arrive_take_no_room() {
    let load = Load::new(LoadLimits { patience: Duration::from_secs(86_400), ..LIMITS });
    let message = large_message();
    let silent: Vec<_> = (0..8)
        .map(|_| {
            let pair = Pair::within(&load, received);
            let begun = begun(&pair, &message[..100]);
            (pair, begun)
        })
        .collect();
    let other = Pair::within(&load, received);
    assert_eq!(call(&other.channel, message).await.expect("an answer").len(), message.len());
    assert!(silent.iter().all(|(_, (_, call))| !call.is_finished()), "none of them disturbs it");
}

#[tokio::test]
async fn a_message_waits_for_room_until_those_that_do_not_arrive_are_given_up() {
    let load = Load::new(LIMITS);
    let message = large_message();
    let (most, pairs) = (&message[..message.len() - 1], [(); 4].map(|()| Pair::within(&load, received)));
    let slow: Vec<_> = pairs.iter().map(|pair| begun(pair, most)).collect();
    let other = Pair::within(&load, received);
    // A small one needs no room.
    assert_eq!(call(&other.channel, &[0, 0, 0, 0, 1, 7]).await.expect("an answer"), [0, 0, 0, 0, 1, 7][..]);
    assert_eq!(call(&other.channel, message).await.expect("an answer").len(), message.len());
    let mut given_up = 0;
    for (send, call) in slow {
        drop(send);
        let answer = call.await.expect("no panic").expect("headers");
        let status = Status::from_header_map(answer.headers());
        given_up += usize::from(status.is_some_and(|status| status.code() == Code::ResourceExhausted));
    }
    assert!(given_up > 0, "one of them had to make room");
}

#[tokio::test]
async fn messages_that_have_some_of_the_room_each_do_not_wait_for_each_other_for_ever() {
    let load = Load::new(LoadLimits { patience: Duration::from_secs(86_400), ..LIMITS });
    // Each takes its room in pieces, of which there are fewer than all of them need.
    let message = message_of(3 << 20);
    let pairs = [(); 6].map(|()| Pair::within(&load, received));
    let mut calls = tokio::task::JoinSet::new();
    for pair in &pairs {
        let channel = pair.channel.clone();
        calls.spawn(async move { call(&channel, message).await.map(|answer| answer.len()) });
    }
    for answered in calls.join_all().await {
        assert_eq!(answered.expect("an answer"), message.len());
    }
}

/// Bytes of a long answer: more than its reader has room for.
const LENGTH: usize = 2 << 20;

/// Answers at length, once there is a place for that. Counts the answers that have begun.
async fn at_length(request: Request<Incoming>, begun: Arc<AtomicUsize>) -> Response<Body> {
    LongAnswer::place(&tonic::Request::from_http(request.map(drop))).await;
    begun.fetch_add(1, Ordering::Relaxed);
    response(Bytes::from(vec![0; LENGTH]))
}

/// A connection whose calls are answered at length, and how many answers have begun.
fn lengthy(load: &Load) -> (Pair, Arc<AtomicUsize>) {
    let begun = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&begun);
    (Pair::within(load, move |request| at_length(request, Arc::clone(&count))), begun)
}

/// Calls whose answers are not read.
fn unread(pair: &Pair, count: usize) -> Vec<JoinHandle<Result<Response<Incoming>, Status>>> {
    let calls = (0..count).map(|_| {
        let mut channel = pair.channel.clone();
        tokio::spawn(async move { channel.call(request(b"x")).await })
    });
    calls.collect()
}

#[tokio::test]
async fn long_answers_that_are_not_read_leave_places_to_other_connections() {
    let load = Load::new(LoadLimits { patience: Duration::from_secs(86_400), ..LIMITS });
    let ((greedy, begun), (other, _)) = (lengthy(&load), lengthy(&load));
    let held = unread(&greedy, 10);
    while begun.load(Ordering::Relaxed) < LIMITS.answers_of_connection {
        tokio::task::yield_now().await;
    }
    for _ in 0..3 {
        assert_eq!(call(&other.channel, b"x").await.expect("an answer").len(), LENGTH);
    }
    assert_eq!(begun.load(Ordering::Relaxed), LIMITS.answers_of_connection);
    drop(held);
}

#[tokio::test]
async fn a_long_answer_that_is_not_read_is_given_up_for_one_that_waits() {
    let load = Load::new(LIMITS);
    let ((first, begun), (second, also), (other, _)) = (lengthy(&load), lengthy(&load), lengthy(&load));
    let held = [unread(&first, 2), unread(&second, 2)];
    while begun.load(Ordering::Relaxed) + also.load(Ordering::Relaxed) < LIMITS.answers {
        tokio::task::yield_now().await;
    }
    assert_eq!(call(&other.channel, b"x").await.expect("an answer").len(), LENGTH);
    drop(held);
}

#[tokio::test]
async fn an_answer_that_is_not_read_does_not_keep_an_ended_connection() {
    let load = Load::new(LIMITS);
    let (pair, begun) = lengthy(&load);
    let held = unread(&pair, 1);
    while begun.load(Ordering::Relaxed) < 1 {
        tokio::task::yield_now().await;
    }
    pair.ended.cancel();
    pair.serving.await.expect("no panic");
    drop(held);
}

#[tokio::test]
async fn a_call_has_one_message_of_a_limited_size() {
    let pair = Pair::serving(received);
    for content in [&[0, 0, 0, 0, 0, 0][..], &[0, 0, 0x31, 0, 0, 0]] {
        let answer = pair.channel.clone().call(request(content)).await.expect("headers");
        let status = Status::from_header_map(answer.headers()).expect("a status");
        assert!([Code::Internal, Code::OutOfRange].contains(&status.code()), "{status}");
    }
}

#[tokio::test]
async fn what_is_not_served_is_unimplemented() {
    let pair = Pair::serving(|request| ready(unimplemented(request.uri().path())));
    let answer = pair.channel.clone().call(request(b"x")).await.expect("headers");
    let status = Status::from_header_map(answer.headers()).expect("a status");
    assert_eq!((status.code(), status.message()), (Code::Unimplemented, "unknown service test.Service"));
}

/// What is served to a client by h2 itself, which has so much room for each response, and reads only where the test polls it.
struct Raw {
    requests: h2::client::SendRequest<Bytes>,
    connection: h2::client::Connection<DuplexStream, Bytes>,
    ended: CancellationToken,
    serving: JoinHandle<()>,
}

impl Raw {
    async fn with_room(room: u32) -> Self {
        let (ours, theirs) = duplex(1 << 16);
        let ended = CancellationToken::new();
        let until = ended.clone();
        let serving =
            tokio::spawn(
                async move { serve_connection(theirs, echo, SERVER, &Load::unlimited(), &until).await },
            );
        let handshake = h2::client::Builder::new().initial_window_size(room).handshake(ours).await;
        let (requests, connection) = handshake.expect("a connection");
        Self { requests, connection, ended, serving }
    }

    /// Calls, and returns the response's data and trailers, without ever giving room back.
    async fn call(&mut self, content: &'static [u8]) -> (Bytes, Option<HeaderMap>) {
        let head = Request::post("http://localhost/test.Service/Method").body(()).expect("a request");
        let (answer, mut body) = self.requests.send_request(head, false).expect("a new connection");
        body.send_data(Bytes::from_static(content), true).expect("there is room");
        let answer = async {
            let mut body = answer.await.expect("headers").into_body();
            let data = body.data().await.expect("data").expect("data");
            (data, body.trailers().await.expect("trailers"))
        };
        tokio::select! {
            answer = answer => answer,
            ended = &mut self.connection => panic!("the connection ended: {ended:?}"),
        }
    }
}

#[tokio::test]
async fn trailers_need_no_room() {
    let mut raw = Raw::with_room(5).await;
    let (data, trailers) = raw.call(b"whole").await;
    assert_eq!((data, trailers.map(|trailers| trailers.len())), (Bytes::from_static(b"whole"), Some(1)));
}

#[tokio::test]
async fn a_silent_peer_without_calls_does_not_keep_the_connection() {
    let mut raw = Raw::with_room(SIZE).await;
    raw.call(b"x").await;
    // From here on it reads nothing, not even the PING of the end, and its stream stays open.
    raw.ended.cancel();
    raw.serving.await.expect("no panic");
}
