//! Linux and macOS: Unix sockets.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType, connect, send, socket, sockopt};
use tokio::net::{TcpListener, TcpStream};

use super::Peer;
use crate::process::User;

/// Accepts local connections, within a runtime.
pub type Listener = tokio::net::UnixListener;
/// The same, of the standard library.
pub type StdListener = std::os::unix::net::UnixListener;
/// A local connection.
pub type Stream = tokio::net::UnixStream;

/// Longest path of a socket, in bytes: `sun_path` is 108 bytes on Linux and 104 on macOS, with a terminating NUL.
pub const LONGEST_PATH: usize =
    if cfg!(all(target_os = "linux", not(feature = "portable"))) { 107 } else { 103 };

/// Who has opened the other end.
///
/// # Errors
/// When the system does not say.
pub fn peer(stream: &Stream) -> io::Result<Peer> {
    let credentials = stream.peer_cred()?;
    Ok(Peer { user: User::from_id(credentials.uid()), process: credentials.pid() })
}

/// Listens at a path, where nothing may be.
///
/// # Errors
/// When something is there, or the directory does not allow it.
pub fn bind(path: &Path) -> io::Result<StdListener> {
    let listener = StdListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Accepts from a listener, within a runtime, which stays as it is.
///
/// # Errors
/// When this process has no descriptor left.
pub fn serve(listener: &StdListener) -> io::Result<Listener> {
    Listener::from_std(listener.try_clone()?)
}

/// The path of a listener, if it has one.
pub fn path_of(listener: &StdListener) -> Option<PathBuf> {
    Some(listener.local_addr().ok()?.as_pathname()?.to_owned())
}

/// Whether a local socket is at a path.
pub fn is_socket(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_socket())
}

/// Whether nothing listens on a socket. Does not wait for a listener with a full queue.
pub fn has_no_listener(path: &Path) -> bool {
    let connected = || {
        let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        connect(&socket, &SocketAddrUnix::new(path)?)
    };
    connected() == Err(Errno::CONNREFUSED)
}

/// Sends one byte, if there is still a reader; never waits.
pub fn send_byte(stream: &Stream, byte: u8) {
    let _ = send(stream, &[byte], SendFlags::empty());
}

/// The same listener, for another process.
///
/// # Errors
/// When this process has no descriptor left.
pub fn shared_listener(listener: &TcpListener) -> io::Result<std::net::TcpListener> {
    Ok(listener.as_fd().try_clone_to_owned()?.into())
}

/// Unanswered probes after which a machine is gone.
const PROBES: u32 = 3;

/// Probes a TCP connection that is silent for this long; it is lost if the other end does not answer within one and a half times
/// as long again.
///
/// # Errors
/// When the system refuses an option.
pub fn keep_alive(stream: &TcpStream, silence: Duration) -> io::Result<()> {
    sockopt::set_tcp_keepidle(stream, silence)?;
    sockopt::set_tcp_keepintvl(stream, silence / 2)?;
    sockopt::set_tcp_keepcnt(stream, PROBES)?;
    sockopt::set_socket_keepalive(stream, true)?;
    Ok(())
}

/// Whether a connection could not be accepted because the process or the system has no descriptor or memory left.
pub fn is_exhaustion(error: &io::Error) -> bool {
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    exhausted.into_iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
