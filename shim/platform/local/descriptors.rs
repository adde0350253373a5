//! The descriptors of the sockets that a daemon listens on, and of its lock file, on their way between two processes.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;

use rustix::cmsg_space;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::system;

/// Most descriptors that are passed on: the socket, the lock and the listener of an address.
const MOST: usize = 3;

/// The sockets that a daemon listens on, and the lock on their path.
#[derive(Debug)]
pub struct ListeningSocket {
    /// The socket with a path.
    pub listener: UnixListener,
    /// The lock on its path; `None` if the service manager has opened the socket.
    pub lock: Option<File>,
    /// The listener of an address, if there is one. It is passed on as well, since connections wait in its queue.
    pub network: Option<TcpListener>,
}

impl ListeningSocket {
    /// Passes it on to the process at the other end.
    ///
    /// # Errors
    /// When the connection is lost.
    pub async fn send(&self, stream: &UnixStream) -> io::Result<()> {
        let (lock, network) =
            (self.lock.as_ref().map(File::as_fd), self.network.as_ref().map(TcpListener::as_fd));
        let follow = [u8::from(lock.is_some()), u8::from(network.is_some())];
        let descriptors: Vec<BorrowedFd<'_>> =
            [Some(self.listener.as_fd()), lock, network].into_iter().flatten().collect();
        let send = || {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
                return Err(io::Error::from(io::ErrorKind::OutOfMemory));
            }
            sendmsg(stream, &[IoSlice::new(&follow)], &mut control, SendFlags::empty())?;
            Ok(())
        };
        stream.async_io(Interest::WRITABLE, send).await
    }

    /// What [`Self::send`] has passed on.
    ///
    /// # Errors
    /// When the connection is lost, or something else came.
    pub async fn receive(stream: &UnixStream) -> io::Result<Self> {
        let receive = || {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut follow = [0; 2];
            let buffers = &mut [IoSliceMut::new(&mut follow)];
            let received = recvmsg(stream, buffers, &mut control, RecvFlags::empty())?;
            let descriptors: Vec<_> = control.drain().flat_map(in_message).collect();
            match received.bytes {
                0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                _ => Ok((follow.map(|follows| follows != 0), descriptors)),
            }
        };
        let ([has_lock, has_network], descriptors) = stream.async_io(Interest::READABLE, receive).await?;
        if descriptors.len() != 1 + usize::from(has_lock) + usize::from(has_network) {
            return Err(invalid("descriptors are missing"));
        }
        // No process was started since, which could have them.
        descriptors.iter().try_for_each(|descriptor| fcntl_setfd(descriptor, FdFlags::CLOEXEC))?;
        let mut descriptors = descriptors.into_iter();
        let listener = descriptors.next().ok_or_else(|| invalid("the socket is missing"))?;
        let listener = listening(UnixListener::from(listener))?;
        let lock = if has_lock { descriptors.next().map(File::from) } else { None };
        let network = descriptors.next().map(|network| listening_at_address(TcpListener::from(network)));
        Ok(Self { listener, lock, network: network.transpose()? })
    }
}

fn in_message(message: RecvAncillaryMessage<'_>) -> Vec<OwnedFd> {
    match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    }
}

/// A socket that another process has opened: it must be one that accepts connections, by which it is awaited.
///
/// # Errors
/// When it is another kind of socket, or accepts no connections.
pub(crate) fn listening(listener: UnixListener) -> io::Result<UnixListener> {
    // Fails for a socket of another family.
    listener.local_addr()?;
    require_accepting(&listener)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The same for one with an address.
fn listening_at_address(listener: TcpListener) -> io::Result<TcpListener> {
    listener.local_addr()?;
    require_accepting(&listener)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn require_accepting(listener: &impl AsFd) -> io::Result<()> {
    if system::is_accepting(listener)? { Ok(()) } else { Err(invalid("it accepts no connections")) }
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
