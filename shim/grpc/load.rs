//! What the connections of a server take together, within limits: calls, and large messages on their way.
//!
//! What a peer may send of a call before anything is asked of it fits into the window of its stream, and the connection's window
//! has room for all of them: a call that is not read holds no other one up. A message that fits is read at once. A larger one
//! takes room of all connections as it arrives, a piece at a time: what is announced and not sent takes none. When none is left,
//! messages wait with what they have, and their peers with them, by flow control. One of those that wait has the right of way: it
//! is read to its end without more room, so that they do not wait for each other for ever.
//!
//! Of one connection, messages begin when there is room for all of their bytes, which they take until their calls end.
//!
//! A long answer, which is read from a file as it is sent, takes a place until it is sent. Others wait for a place before they open
//! their files.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use isthmus_common::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tonic::Status;

/// Bytes before a message: whether it is compressed, and its length.
pub(crate) const PREFIX: usize = 5;

/// The unit of room.
const KIBIBYTE: usize = 1024;

/// What a large message takes of the room of all connections at a time.
const PIECE: usize = 1 << 20;

/// How many bytes of a message arrive in a second at least, or of a long answer are read, while others wait for its room.
const BYTES_PER_SECOND: usize = 4 << 20;

/// How often it is looked at whether others wait.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The limits of a server, for all of its connections.
#[derive(Clone, Copy, Debug)]
pub struct LoadLimits {
    /// Calls in progress. When there are so many, connections with less than their share of them may make more: all of them
    /// together at most as many again, or 4 each.
    pub calls: usize,
    /// Bytes of large messages that arrive. One message may have more than is left.
    pub messages: usize,
    /// Bytes of large messages of the calls of one connection. A message that is larger than this has all of it.
    pub messages_of_connection: usize,
    /// Long answers that are being sent.
    pub answers: usize,
    /// Long answers that are being sent on one connection.
    pub answers_of_connection: usize,
    /// How long a large message may take to arrive, or a long answer to be read, while others wait for its room or its place:
    /// this, and a second for each 4 MiB.
    pub patience: Duration,
}

/// Calls that a connection may make in any case.
const LEAST_SHARE: usize = 4;

/// What the connections of a server take. Clones share it.
#[derive(Clone, Debug)]
pub struct Load(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: LoadLimits,
    calls: AtomicUsize,
    /// Connections with calls in progress.
    busy: AtomicUsize,
    room: Arc<Semaphore>,
    /// Of a message that needs no more room.
    right_of_way: Arc<Semaphore>,
    /// Messages that wait for room.
    waiting: AtomicUsize,
    answers: Arc<Semaphore>,
    /// Long answers that wait for a place.
    waiting_answers: AtomicUsize,
}

/// What one connection takes of it.
#[derive(Debug)]
pub(crate) struct ConnectionLoad {
    shared: Arc<Shared>,
    calls: AtomicUsize,
    room: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

/// A call in progress, with the room of its messages and the place of its answer.
#[derive(Debug)]
pub(crate) struct CallLoad {
    connection: Arc<ConnectionLoad>,
    messages: Mutex<Vec<OwnedSemaphorePermit>>,
    answer: OnceLock<[OwnedSemaphorePermit; 2]>,
}

/// In the extensions of a request whose answer may be long.
#[derive(Clone, Debug)]
pub struct LongAnswer(Arc<CallLoad>);

impl LongAnswer {
    /// Waits for a place for the answer to a request, which it has until it is sent.
    pub async fn place<Content>(request: &tonic::Request<Content>) {
        if let Some(Self(call)) = request.extensions().get().cloned() {
            call.place().await;
        }
    }
}

impl Load {
    /// Of a server with these limits, which serves nothing yet.
    pub fn new(limits: LoadLimits) -> Self {
        let room = Arc::new(Semaphore::new(limits.messages / KIBIBYTE));
        let right_of_way = Arc::new(Semaphore::new(1));
        let answers = Arc::new(Semaphore::new(limits.answers));
        let (calls, busy, waiting, waiting_answers) = Default::default();
        Self(Arc::new(Shared { limits, calls, busy, room, right_of_way, waiting, answers, waiting_answers }))
    }

    /// Without limits, for peers that are trusted.
    pub fn unlimited() -> Self {
        let messages = u32::MAX as usize;
        let answers = Semaphore::MAX_PERMITS;
        Self::new(LoadLimits {
            calls: usize::MAX,
            messages,
            messages_of_connection: messages,
            answers,
            answers_of_connection: answers,
            patience: Duration::from_secs(86_400),
        })
    }

    pub(crate) fn connection(&self) -> Arc<ConnectionLoad> {
        let room = Arc::new(Semaphore::new(self.0.limits.messages_of_connection / KIBIBYTE));
        let answers = Arc::new(Semaphore::new(self.0.limits.answers_of_connection));
        Arc::new(ConnectionLoad { shared: Arc::clone(&self.0), calls: AtomicUsize::new(0), room, answers })
    }
}

impl ConnectionLoad {
    /// Begins a call; `None` if the server has too many, and this connection its share of them.
    pub(crate) fn begin(self: &Arc<Self>) -> Option<Arc<CallLoad>> {
        let (own, all) = (self.calls.load(Ordering::Relaxed), self.shared.calls.load(Ordering::Relaxed));
        let share = self.shared.limits.calls / self.shared.busy.load(Ordering::Relaxed).max(1);
        if all >= self.shared.limits.calls && own >= share.max(LEAST_SHARE) {
            return None;
        }
        self.shared.calls.fetch_add(1, Ordering::Relaxed);
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.shared.busy.fetch_add(1, Ordering::Relaxed);
        }
        let (messages, answer) = Default::default();
        Some(Arc::new(CallLoad { connection: Arc::clone(self), messages, answer }))
    }
}

impl CallLoad {
    /// For the request's handler.
    pub(crate) fn long_answer(self: &Arc<Self>) -> LongAnswer {
        LongAnswer(Arc::clone(self))
    }

    async fn place(&self) {
        if self.answer.get().is_some() {
            return;
        }
        let (connection, shared) = (&self.connection, &self.connection.shared);
        let _waiting = Waiting::new(&shared.waiting_answers);
        let of_connection = acquire(&connection.answers, 1).await;
        // An error means that it has one already.
        drop(self.answer.set([of_connection, acquire(&shared.answers, 1).await]));
    }

    /// Waits until its answer has taken too long to be read, of which so many bytes were sent: others wait for its place, or the
    /// server has ended.
    pub(crate) async fn is_unread(&self, sent: &AtomicUsize, ended: &CancellationToken) {
        let (shared, began) = (&self.connection.shared, Instant::now());
        let others_wait =
            || self.answer.get().is_some() && shared.waiting_answers.load(Ordering::Relaxed) > 0;
        loop {
            sleep(LOOK_AGAIN.min(shared.limits.patience)).await;
            let patience = shared.limits.patience + time_of(sent.load(Ordering::Relaxed));
            if began.elapsed() > patience && (ended.is_cancelled() || others_wait()) {
                return;
            }
        }
    }

    /// Waits for the room of its connection for a message of so many bytes, which it has until the call ends.
    async fn begin_message(self: Arc<Self>, bytes: usize) -> Granted {
        let connection = &self.connection;
        let bytes = bytes.min(connection.shared.limits.messages_of_connection);
        let permit = acquire(&connection.room, bytes / KIBIBYTE).await;
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(permit);
        Granted { room: None, bytes: 0 }
    }

    /// Waits for room for so many bytes more, or for the right of way.
    async fn more(self: Arc<Self>, bytes: usize) -> Granted {
        let shared = &self.connection.shared;
        let units = bytes.min(shared.limits.messages) / KIBIBYTE;
        let _waiting = Waiting::new(&shared.waiting);
        tokio::select! {
            biased;
            room = acquire(&shared.room, units) => Granted { room: Some(room), bytes },
            right_of_way = acquire(&shared.right_of_way, 1) => Granted { room: Some(right_of_way), bytes: usize::MAX },
        }
    }

    fn others_wait(&self) -> bool {
        self.connection.shared.waiting.load(Ordering::Relaxed) > 0
    }
}

/// What a message was waiting for.
struct Granted {
    room: Option<OwnedSemaphorePermit>,
    /// How much more of it may be read.
    bytes: usize,
}

/// How long so many bytes may take.
fn time_of(bytes: usize) -> Duration {
    Duration::from_secs(u64::try_from(bytes / BYTES_PER_SECOND).unwrap_or(u64::MAX))
}

async fn acquire(room: &Arc<Semaphore>, units: usize) -> OwnedSemaphorePermit {
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    Arc::clone(room).acquire_many_owned(units).await.expect("the semaphore is never closed")
}

impl Drop for CallLoad {
    fn drop(&mut self) {
        let shared = &self.connection.shared;
        shared.calls.fetch_sub(1, Ordering::Relaxed);
        if self.connection.calls.fetch_sub(1, Ordering::Relaxed) == 1 {
            shared.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A message that waits for room, as long as this is held.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The messages of a call as they arrive.
pub(crate) struct Arrival {
    call: Arc<CallLoad>,
    /// Larger messages need room.
    window: usize,
    prefix: [u8; PREFIX],
    /// How much of a prefix has arrived.
    begun: usize,
    /// How much of the message is missing.
    left: usize,
    /// How much may be read without more room.
    free: usize,
    /// What it has of the room.
    room: Vec<OwnedSemaphorePermit>,
    awaited: Option<Awaited>,
    /// When a large message has taken too long.
    until: Option<Pin<Box<Sleep>>>,
}

struct Awaited {
    granted: BoxFuture<'static, Granted>,
    since: Instant,
}

impl Arrival {
    pub(crate) fn new(call: Arc<CallLoad>, window: u32) -> Self {
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let (prefix, begun, left, free) = ([0; PREFIX], 0, 0, usize::MAX);
        Self { call, window, prefix, begun, left, free, room: Vec::new(), awaited: None, until: None }
    }

    /// Whether more may be read now.
    pub(crate) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(Awaited { granted, since }) = &mut self.awaited {
                let Granted { room, bytes } = ready!(granted.as_mut().poll(context));
                let time = since.elapsed() + time_of(bytes.min(self.left));
                let patience = self.call.connection.shared.limits.patience;
                match &mut self.until {
                    // The time for which it has waited is not its own.
                    Some(until) => {
                        let deadline = until.deadline() + time;
                        until.as_mut().reset(deadline);
                    }
                    None => self.until = Some(Box::pin(sleep(patience))),
                }
                self.room.extend(room);
                self.free = self.free.saturating_add(bytes);
                self.awaited = None;
            }
            if self.free > 0 {
                return Poll::Ready(());
            }
            let more = Arc::clone(&self.call).more(self.left.min(PIECE));
            self.awaited = Some(Awaited { granted: Box::pin(more), since: Instant::now() });
        }
    }

    /// Called when nothing has arrived: whether the message has taken too long, and others wait for its room.
    pub(crate) fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        let Some(until) = self.until.as_mut().filter(|_| !self.room.is_empty()) else { return Poll::Pending };
        while until.as_mut().poll(context).is_ready() {
            if self.call.others_wait() {
                return Poll::Ready(Status::resource_exhausted(
                    "the message has not arrived in time, and others wait for the memory that it takes",
                ));
            }
            until.as_mut().reset(Instant::now() + LOOK_AGAIN);
        }
        Poll::Pending
    }

    /// Notes what has arrived.
    pub(crate) fn arrived(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let missing = if self.left == 0 { PREFIX - self.begun } else { self.left };
            let (part, rest) = data.split_at(missing.min(data.len()));
            data = rest;
            if self.left > 0 {
                self.left -= part.len();
                self.free = self.free.saturating_sub(part.len());
            } else {
                self.prefix[self.begun..self.begun + part.len()].copy_from_slice(part);
                self.begun += part.len();
                if self.begun < PREFIX {
                    return;
                }
                let [_, length @ ..] = self.prefix;
                self.begun = 0;
                self.left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                if self.left > self.window {
                    // As much of it as of a small one needs no room.
                    self.free = self.window;
                    let begin = Arc::clone(&self.call).begin_message(self.left);
                    self.awaited = Some(Awaited { granted: Box::pin(begin), since: Instant::now() });
                }
            }
            if self.left == 0 {
                self.free = usize::MAX;
                self.room.clear();
                (self.awaited, self.until) = (None, None);
            }
        }
    }
}
