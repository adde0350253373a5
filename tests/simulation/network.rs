//! Connections between parties: what is written arrives later, in the order in which it was written, as far as nobody dies.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use isthmus_grpc::LoadLimits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::system::{self, Fate};
use crate::world;

/// What a server of the simulation takes: more than any party sends.
pub(crate) const LOAD: LoadLimits = LoadLimits {
    calls: 4096,
    messages: 1 << 30,
    messages_of_connection: 1 << 30,
    answers: 32,
    answers_of_connection: 4,
    patience: Duration::from_secs(10),
};

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    /// What is under way, and when it arrives.
    under_way: VecDeque<(Duration, Bytes)>,
    /// Nothing follows.
    is_closed: bool,
    /// Nobody reads it any more.
    is_unread: bool,
    is_cut: bool,
    reader: Option<Waker>,
}

/// One direction, as it is shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire(Arc<Mutex<Direction>>);

impl Wire {
    fn direction(&self) -> MutexGuard<'_, Direction> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something has arrived.
    pub(crate) fn wake(&self) {
        if let Some(reader) = { self.direction().reader.take() } {
            reader.wake();
        }
    }

    /// Cuts it: what is under way is lost.
    pub(crate) fn cut(&self) {
        {
            let mut direction = self.direction();
            direction.is_cut = true;
            direction.under_way.clear();
        }
        self.wake();
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    reads: Wire,
    writes: Wire,
}

/// A connection.
pub(crate) fn connection() -> (End, End) {
    let (there, back) = (Wire::default(), Wire::default());
    world::connected(there.clone(), back.clone());
    (End { reads: back.clone(), writes: there.clone() }, End { reads: there, writes: back })
}

impl Drop for End {
    fn drop(&mut self) {
        self.writes.direction().is_closed = true;
        self.reads.direction().is_unread = true;
        self.writes.wake();
    }
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if system::is_dead() {
            return Poll::Pending;
        }
        let mut direction = self.reads.direction();
        let mut has_read = false;
        while buffer.remaining() > 0
            && let Some((arrives, bytes)) = direction.under_way.front_mut()
            && *arrives <= system::now()
        {
            let part = bytes.split_to(bytes.len().min(buffer.remaining()));
            buffer.put_slice(part.chunk());
            has_read = true;
            if bytes.is_empty() {
                direction.under_way.pop_front();
            }
        }
        if has_read {
            return Poll::Ready(Ok(()));
        }
        if direction.is_cut {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if direction.is_closed && direction.under_way.is_empty() {
            return Poll::Ready(Ok(()));
        }
        direction.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = match system::step() {
            Fate::Dead => return Poll::Pending,
            Fate::Half => &bytes[..bytes.len() / 2],
            Fate::Done => bytes,
        };
        let arrives = {
            let mut direction = self.writes.direction();
            if direction.is_cut || direction.is_unread {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let last = direction.under_way.back().map_or(Duration::ZERO, |(arrives, _)| *arrives);
            let arrives = last.max(system::now() + world::delay());
            direction.under_way.push_back((arrives, Bytes::copy_from_slice(written)));
            arrives
        };
        world::arrives(arrives, self.writes.clone());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writes.direction().is_closed = true;
        self.writes.wake();
        Poll::Ready(Ok(()))
    }
}
