//! Fewer system calls for HTTP/2.
//!
//! An HTTP/2 library flushes its connection each time that the connection's task runs: after the headers of a message,
//! again after its data, and again after its trailers, since other tasks provide these one after another. Each flush is a
//! system call, with TLS a record as well, and wakes the peer. Here a flush lets the tasks that are ready run first, so
//! that one flush sends what all of them have written.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};

/// How often a flush lets other tasks run after the last write. A message passes from task to task a few times.
const TURNS: u8 = 4;

/// A stream that sends what tasks write in turns together.
#[derive(Debug)]
pub struct Coalesced<Stream> {
    stream: BufWriter<Stream>,
    turns: u8,
}

impl<Stream: AsyncWrite> Coalesced<Stream> {
    /// Wraps a stream.
    pub fn new(stream: Stream) -> Self {
        Self { stream: BufWriter::new(stream), turns: 0 }
    }
}

impl<Stream: AsyncWrite + AsyncRead + Unpin> AsyncRead for Coalesced<Stream> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<Stream: AsyncWrite + Unpin> AsyncWrite for Coalesced<Stream> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.turns = 0;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.turns < TURNS && !self.stream.buffer().is_empty() {
            self.turns += 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.turns = 0;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.turns = 0;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// What was written, by system call.
    #[derive(Clone, Debug, Default)]
    struct Written(Arc<Mutex<Vec<Vec<u8>>>>);

    impl AsyncWrite for Written {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.0.lock().expect("one thread").push(bytes.to_owned());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_ready_tasks_write_is_sent_at_once() {
        let written = Written::default();
        let stream = Arc::new(tokio::sync::Mutex::new(Coalesced::new(written.clone())));
        let write = |bytes: &'static [u8]| {
            let stream = Arc::clone(&stream);
            async move { stream.lock().await.write_all(bytes).await.expect("it takes anything") }
        };
        let flush = std::future::poll_fn(|context| {
            let mut stream = stream.try_lock().expect("no task holds it across an await");
            Pin::new(&mut *stream).poll_flush(context)
        });
        let later = async {
            tokio::task::yield_now().await;
            write(b"data").await;
        };
        write(b"headers ").await;
        let (flushed, ()) = tokio::join!(flush, later);
        flushed.expect("it takes anything");
        assert_eq!(*written.0.lock().expect("one thread"), [b"headers data".to_vec()]);
    }
}
