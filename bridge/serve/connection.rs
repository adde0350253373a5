//! A connection for a tonic server, with information for its calls.
//!
//! A response is one system call.

use std::pin::Pin;
use std::task::{Context, Poll};

use isthmus_common::Coalesced;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tonic::transport::server::Connected;

/// A connection, the information that its calls find in their extensions, and a guard that is
/// dropped with it.
#[derive(Debug)]
pub(super) struct Connection<Info, Guard> {
    stream: Coalesced<TcpStream>,
    info: Info,
    _guard: Guard,
}

impl<Info, Guard> Connection<Info, Guard> {
    pub(super) fn new(stream: TcpStream, info: Info, guard: Guard) -> Self {
        Self { stream: Coalesced::new(stream), info, _guard: guard }
    }
}

impl<Info: Clone + Send + Sync + 'static, Guard> Connected for Connection<Info, Guard> {
    type ConnectInfo = Info;

    fn connect_info(&self) -> Info {
        self.info.clone()
    }
}

impl<Info: Unpin, Guard: Unpin> AsyncRead for Connection<Info, Guard> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<Info: Unpin, Guard: Unpin> AsyncWrite for Connection<Info, Guard> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}
