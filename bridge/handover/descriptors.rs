//! The descriptors of a listening socket and its lock file, on their way between two processes.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixListener;

use rustix::cmsg_space;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg, sockopt,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// A socket that a daemon listens on.
#[derive(Debug)]
pub(crate) struct ListeningSocket {
    pub(crate) listener: UnixListener,
    /// The lock on its path; `None` if the service manager has opened the socket.
    pub(crate) lock: Option<File>,
}

impl ListeningSocket {
    /// Passes it on.
    pub(super) async fn send(&self, stream: &UnixStream) -> io::Result<()> {
        let descriptors =
            [Some(self.listener.as_fd()), self.lock.as_ref().map(|lock| lock.as_fd())].into_iter().flatten();
        let descriptors: Vec<_> = descriptors.collect();
        let count = [u8::try_from(descriptors.len()).unwrap_or(u8::MAX)];
        let send = || {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
                return Err(io::Error::from(io::ErrorKind::OutOfMemory));
            }
            sendmsg(stream, &[IoSlice::new(&count)], &mut control, SendFlags::empty())?;
            Ok(())
        };
        stream.async_io(Interest::WRITABLE, send).await
    }

    /// What [`Self::send`] has passed on.
    pub(super) async fn receive(stream: &UnixStream) -> io::Result<Self> {
        let receive = || {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut count = [0];
            let buffers = &mut [IoSliceMut::new(&mut count)];
            let received = recvmsg(stream, buffers, &mut control, RecvFlags::empty())?;
            let descriptors: Vec<_> = control.drain().flat_map(in_message).collect();
            match received.bytes {
                0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                _ => Ok((count[0], descriptors)),
            }
        };
        let (count, descriptors) = stream.async_io(Interest::READABLE, receive).await?;
        if usize::from(count) != descriptors.len() {
            return Err(invalid("descriptors are missing"));
        }
        // No process was started since, which could have them.
        descriptors.iter().try_for_each(|descriptor| fcntl_setfd(descriptor, FdFlags::CLOEXEC))?;
        let mut descriptors = descriptors.into_iter();
        let listener = descriptors.next().ok_or_else(|| invalid("there is no socket"))?;
        let listener = listening(UnixListener::from(listener))?;
        Ok(Self { listener, lock: descriptors.next().map(File::from) })
    }
}

fn in_message(message: RecvAncillaryMessage<'_>) -> Vec<OwnedFd> {
    match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    }
}

/// A socket that another process has opened: it must be one that accepts connections, by which it is awaited.
pub(crate) fn listening(listener: UnixListener) -> io::Result<UnixListener> {
    // Fails for a socket of another family.
    listener.local_addr()?;
    if !sockopt::socket_acceptconn(&listener)? {
        return Err(invalid("it accepts no connections"));
    }
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
