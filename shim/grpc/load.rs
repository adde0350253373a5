//! What the connections of a server take together, within limits: calls, and large messages on their way.
//!
//! What a peer may send of a call before anything is asked of it fits into the window of its stream, and the connection's window
//! has room for all of them: a call that is not read holds no other one up. A message that fits is read at once. A larger one
//! is read when there is room for all of it, so that each one that was begun can be read to its end; the others wait, and their
//! peers with them, by flow control.
//!
//! Room is shared by all connections while a message arrives. Of one connection, messages take room until their calls end.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use isthmus_common::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::Status;

/// Bytes before a message: whether it is compressed, and its length.
pub(crate) const PREFIX: usize = 5;

/// The unit of room.
const KIBIBYTE: usize = 1024;

/// How many bytes of a message arrive in a second at least, while others wait for its room.
const BYTES_PER_SECOND: usize = 4 << 20;

/// How often it is looked at whether others wait.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The limits of a server, for all of its connections.
#[derive(Clone, Copy, Debug)]
pub struct LoadLimits {
    /// Calls in progress. When there are so many, connections with less than their share of them may make more: all of them
    /// together at most as many again, or 4 each.
    pub calls: usize,
    /// Bytes of large messages that arrive.
    pub messages: usize,
    /// Bytes of large messages of the calls of one connection. A message that is larger than this has all of it.
    pub messages_of_connection: usize,
    /// How long a large message may take to arrive, while others wait for its room: this, and a second for each 4 MiB.
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
    /// Messages that wait for room.
    waiting: AtomicUsize,
}

/// What one connection takes of it.
#[derive(Debug)]
pub(crate) struct ConnectionLoad {
    shared: Arc<Shared>,
    calls: AtomicUsize,
    room: Arc<Semaphore>,
}

/// A call in progress, and the room of its messages.
#[derive(Debug)]
pub(crate) struct CallLoad {
    connection: Arc<ConnectionLoad>,
    messages: Mutex<Vec<OwnedSemaphorePermit>>,
}

impl Load {
    /// Of a server with these limits, which serves nothing yet.
    pub fn new(limits: LoadLimits) -> Self {
        let room = Arc::new(Semaphore::new(limits.messages / KIBIBYTE));
        let (calls, busy, waiting) = Default::default();
        Self(Arc::new(Shared { limits, calls, busy, room, waiting }))
    }

    /// Without limits, for peers that are trusted.
    pub fn unlimited() -> Self {
        let messages = u32::MAX as usize;
        let patience = Duration::from_secs(86_400);
        Self::new(LoadLimits { calls: usize::MAX, messages, messages_of_connection: messages, patience })
    }

    pub(crate) fn connection(&self) -> Arc<ConnectionLoad> {
        let room = Arc::new(Semaphore::new(self.0.limits.messages_of_connection / KIBIBYTE));
        Arc::new(ConnectionLoad { shared: Arc::clone(&self.0), calls: AtomicUsize::new(0), room })
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
        Some(Arc::new(CallLoad { connection: Arc::clone(self), messages: Mutex::default() }))
    }
}

impl CallLoad {
    /// Waits for room, which is the result as long as the message arrives, and until the call ends for its connection.
    async fn room(self: Arc<Self>, bytes: usize) -> OwnedSemaphorePermit {
        let (connection, shared) = (&self.connection, &self.connection.shared);
        let of_connection = acquire(&connection.room, bytes, shared.limits.messages_of_connection).await;
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(of_connection);
        let _waiting = Waiting::new(&shared.waiting);
        acquire(&shared.room, bytes, shared.limits.messages).await
    }

    fn others_wait(&self) -> bool {
        self.connection.shared.waiting.load(Ordering::Relaxed) > 0
    }
}

async fn acquire(room: &Arc<Semaphore>, bytes: usize, most: usize) -> OwnedSemaphorePermit {
    let units = u32::try_from(bytes.min(most) / KIBIBYTE).unwrap_or(u32::MAX);
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
    room: Room,
}

/// The room of the message that arrives.
enum Room {
    /// It needs none.
    Unneeded,
    Awaited(BoxFuture<'static, OwnedSemaphorePermit>, usize),
    Taken {
        _room: OwnedSemaphorePermit,
        until: Pin<Box<Sleep>>,
    },
}

impl Arrival {
    pub(crate) fn new(call: Arc<CallLoad>, window: u32) -> Self {
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        Self { call, window, prefix: [0; PREFIX], begun: 0, left: 0, room: Room::Unneeded }
    }

    /// Whether more may be read now.
    pub(crate) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Room::Awaited(room, size) = &mut self.room {
            let taken = ready!(room.as_mut().poll(context));
            let seconds = u64::try_from(*size / BYTES_PER_SECOND).unwrap_or(u64::MAX);
            let patience = self.call.connection.shared.limits.patience;
            let until = Box::pin(sleep(patience + Duration::from_secs(seconds)));
            self.room = Room::Taken { _room: taken, until };
        }
        Poll::Ready(())
    }

    /// Called when nothing has arrived: whether the message has taken too long, for which others wait.
    pub(crate) fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        let Room::Taken { until, .. } = &mut self.room else { return Poll::Pending };
        while until.as_mut().poll(context).is_ready() {
            if self.call.others_wait() {
                return Poll::Ready(Status::resource_exhausted(
                    "the message has not arrived in time, and others wait for the memory that it takes",
                ));
            }
            until.set(sleep(LOOK_AGAIN));
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
                    let room = Box::pin(Arc::clone(&self.call).room(self.left));
                    self.room = Room::Awaited(room, self.left);
                }
            }
            if self.left == 0 {
                self.room = Room::Unneeded;
            }
        }
    }
}
