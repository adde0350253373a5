//! Windows: named pipes. They are in a name space of their own, so the file at the path of a local socket has the name of its pipe.
//!
//! The access list of a pipe permits the user that creates it, the system and its administrators. A pipe refuses other machines.

use std::fs::File;
use std::io::{self, Read as _};
use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::os::windows::io::{AsRawHandle, AsRawSocket as _, FromRawSocket as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};
use tokio::net::{TcpListener, TcpStream};
use windows_sys::Win32::Foundation::{
    ERROR_FILE_NOT_FOUND, ERROR_NOT_ENOUGH_MEMORY, ERROR_PIPE_BUSY, ERROR_TOO_MANY_OPEN_FILES,
};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    GetExtendedTcpTable, MIB_TCP6ROW_OWNER_PID, MIB_TCPROW_OWNER_PID, TCP_TABLE_OWNER_PID_CONNECTIONS,
};
use windows_sys::Win32::Networking::WinSock::{AF_INET, AF_INET6, WSAEMFILE, WSAENOBUFS};
use windows_sys::Win32::Security::Cryptography::{BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::System::Pipes::{GetNamedPipeClientProcessId, GetNamedPipeServerProcessId};
use windows_sys::Win32::System::Threading::PROCESS_QUERY_LIMITED_INFORMATION;

use super::ends::Ends;
use super::{Owner, Peer, UnknownPeer};
use crate::files::{Descriptor, set_mode};
use crate::process::{User, windows as process};

/// Longest path of a local socket: it is a file.
pub const LONGEST_PATH: usize = 4096;

/// What precedes the name of a pipe in its file.
const HEAD: &str = "A daemon of isthmus listens on this pipe:\n";
const PIPES: &str = r"\\.\pipe\isthmus-";
const LONGEST_FILE: u64 = 256;

/// A new name, which no other process guesses.
#[expect(unsafe_code, reason = "the standard library has no random numbers")]
pub(crate) fn new_name() -> io::Result<String> {
    let mut random = [0_u8; 16];
    // SAFETY: the buffer has as many bytes as the call gets as its length.
    let status = unsafe {
        BCryptGenRandom(
            std::ptr::null_mut(),
            random.as_mut_ptr(),
            random.len() as u32,
            BCRYPT_USE_SYSTEM_PREFERRED_RNG,
        )
    };
    if status != 0 {
        return Err(io::Error::other("the system has no random numbers"));
    }
    Ok(format!("{PIPES}{:032x}", u128::from_ne_bytes(random)))
}

/// Whether a file stands for a local socket.
pub fn is_socket(path: &Path) -> bool {
    name_in(path).is_ok()
}

fn name_in(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    if !path.symlink_metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    File::open(path)?.take(LONGEST_FILE).read_to_string(&mut text)?;
    let name = text.strip_prefix(HEAD).map(str::trim_end).filter(|name| name.starts_with(PIPES));
    name.map(str::to_owned).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// A pipe that is not accepted from yet.
#[derive(Debug)]
pub struct StdListener {
    name: String,
    path: PathBuf,
}

/// Accepts local connections, within a runtime.
#[derive(Debug)]
pub struct Listener {
    name: String,
    /// The instance for the next connection: while there is none, no client can connect.
    next: tokio::sync::Mutex<NamedPipeServer>,
}

impl Listener {
    /// Listens at a path, where nothing may be.
    ///
    /// # Errors
    /// When something is there, or the directory does not allow it.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        serve(&bind(path.as_ref())?)
    }

    /// The next connection.
    ///
    /// # Errors
    /// When the system refuses another instance.
    pub async fn accept(&self) -> io::Result<(Stream, ())> {
        let mut next = self.next.lock().await;
        next.connect().await?;
        let connected = std::mem::replace(&mut *next, instance(&self.name, false)?);
        Ok((Stream(End::Server(connected)), ()))
    }
}

/// Listens at a path, where nothing may be.
///
/// # Errors
/// When something is there, or the directory does not allow it.
pub fn bind(path: &Path) -> io::Result<StdListener> {
    let name = new_name()?;
    let mut file = File::options().write(true).create_new(true).open(path)?;
    io::Write::write_all(&mut file, format!("{HEAD}{name}\n").as_bytes())?;
    drop(file);
    set_mode(path, 0o600)?;
    Ok(StdListener { name, path: path.to_owned() })
}

/// Accepts from a listener, within a runtime.
///
/// # Errors
/// When the system refuses the pipe.
pub fn serve(listener: &StdListener) -> io::Result<Listener> {
    let name = listener.name.clone();
    let next = tokio::sync::Mutex::new(instance(&name, true)?);
    Ok(Listener { name, next })
}

/// The path of a listener.
pub fn path_of(listener: &StdListener) -> Option<PathBuf> {
    Some(listener.path.clone())
}

#[expect(unsafe_code, reason = "tokio takes attributes by their address")]
fn instance(name: &str, is_first: bool) -> io::Result<NamedPipeServer> {
    let descriptor = Descriptor::private()?;
    let mut attributes = SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: descriptor.as_ptr(),
        bInheritHandle: 0,
    };
    let mut options = ServerOptions::new();
    options.first_pipe_instance(is_first).reject_remote_clients(true);
    // SAFETY: the attributes and the descriptor live until the call returns.
    unsafe { options.create_with_security_attributes_raw(name, (&raw mut attributes).cast()) }
}

/// A local connection.
#[derive(Debug)]
pub struct Stream(End);

#[derive(Debug)]
enum End {
    Server(NamedPipeServer),
    Client(NamedPipeClient),
}

impl Stream {
    /// Connects to a listener.
    ///
    /// # Errors
    /// When none is there.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let name = name_in(path.as_ref())?;
        loop {
            match ClientOptions::new().open(&name) {
                Ok(client) => return Ok(Self(End::Client(client))),
                // Between one connection and the next instance.
                Err(error) if has_number(&error, ERROR_PIPE_BUSY) => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            End::Server(pipe) => Pin::new(pipe).poll_read(context, buffer),
            End::Client(pipe) => Pin::new(pipe).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            End::Server(pipe) => Pin::new(pipe).poll_write(context, bytes),
            End::Client(pipe) => Pin::new(pipe).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            End::Server(pipe) => Pin::new(pipe).poll_flush(context),
            End::Client(pipe) => Pin::new(pipe).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            End::Server(pipe) => Pin::new(pipe).poll_shutdown(context),
            End::Client(pipe) => Pin::new(pipe).poll_shutdown(context),
        }
    }
}

/// Who has opened the other end.
///
/// # Errors
/// When the system does not say, or the process has ended.
#[expect(unsafe_code, reason = "tokio does not tell the other end of a pipe")]
pub fn peer(stream: &Stream) -> io::Result<Peer> {
    let mut id = 0;
    // SAFETY: the handle is open, and the number is written to during the call.
    let result = match &stream.0 {
        End::Server(pipe) => unsafe { GetNamedPipeClientProcessId(pipe.as_raw_handle(), &raw mut id) },
        End::Client(pipe) => unsafe { GetNamedPipeServerProcessId(pipe.as_raw_handle(), &raw mut id) },
    };
    if result == 0 {
        return Err(io::Error::last_os_error());
    }
    let user = user_of(id).ok_or_else(|| io::Error::other("the user of its process is not known"))?;
    Ok(Peer { user, process: i32::try_from(id).ok() })
}

fn user_of(process: u32) -> Option<User> {
    let process = process::opened(process, PROCESS_QUERY_LIMITED_INFORMATION)?;
    User::of_process(process.as_raw_handle())
}

/// Whether nothing listens on a socket.
pub fn has_no_listener(path: &Path) -> bool {
    let opened = name_in(path).and_then(|name| File::options().read(true).write(true).open(name));
    matches!(opened, Err(error) if has_number(&error, ERROR_FILE_NOT_FOUND))
}

/// Sends one byte, if there is still a reader; never waits.
pub fn send_byte(stream: &Stream, byte: u8) {
    let _ = match &stream.0 {
        End::Server(pipe) => pipe.try_write(&[byte]),
        End::Client(pipe) => pipe.try_write(&[byte]),
    };
}

/// The same listener, for another process.
///
/// # Errors
/// When the system refuses it.
#[expect(unsafe_code, reason = "tokio does not give another handle of a listener")]
pub fn shared_listener(listener: &TcpListener) -> io::Result<std::net::TcpListener> {
    // SAFETY: the socket is open, and the copy of the handle is not dropped, which would close it.
    let same = ManuallyDrop::new(unsafe { std::net::TcpListener::from_raw_socket(listener.as_raw_socket()) });
    same.try_clone()
}

/// Unanswered probes after which a machine is gone.
const PROBES: u32 = 3;

/// Probes a TCP connection that is silent for this long; it is lost if the other end does not answer within one and a half times
/// as long again.
///
/// # Errors
/// When the system refuses an option.
pub fn keep_alive(stream: &TcpStream, silence: Duration) -> io::Result<()> {
    let probes = TcpKeepalive::new().with_time(silence).with_interval(silence / 2);
    let stream = SockRef::from(stream);
    // Windows 10 before 1703 and Wine have a number of probes of their own.
    let with_retries = stream.set_tcp_keepalive(&probes.clone().with_retries(PROBES));
    with_retries.or_else(|_| stream.set_tcp_keepalive(&probes))
}

/// Whether a connection could not be accepted because the process or the system has no handle or memory left.
pub fn is_exhaustion(error: &io::Error) -> bool {
    let is_socket = [WSAEMFILE, WSAENOBUFS].into_iter().any(|number| error.raw_os_error() == Some(number));
    is_socket
        || [ERROR_TOO_MANY_OPEN_FILES, ERROR_NOT_ENOUGH_MEMORY]
            .into_iter()
            .any(|number| has_number(error, number))
}

fn has_number(error: &io::Error, number: u32) -> bool {
    error.raw_os_error() == Some(number.cast_signed())
}

/// The sockets that a daemon listens on, and the lock on their path. They do not go from one process to another here.
#[derive(Debug)]
pub struct ListeningSocket {
    /// The socket with a path.
    pub listener: StdListener,
    /// The lock on its path.
    pub lock: Option<File>,
    /// The listener of an address, if there is one.
    pub network: Option<std::net::TcpListener>,
}

impl ListeningSocket {
    /// Never: no daemon takes over from another one here.
    ///
    /// # Errors
    /// Always.
    pub async fn send(&self, _: &Stream) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never.
    ///
    /// # Errors
    /// Always.
    pub async fn receive(_: &Stream) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// How often the table is read, with a pause, until it has a connection with its process.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// The users of TCP connections.
#[derive(Debug)]
pub struct PeerUsers;

impl PeerUsers {
    /// For lookups.
    pub fn open() -> Self {
        Self
    }

    /// The user of the process at the other end.
    ///
    /// # Errors
    /// If no process of this machine has the other end, or its user is not known.
    pub async fn of_peer(&self, stream: &TcpStream) -> Result<Owner, UnknownPeer> {
        let ends = Ends::of_peer(stream)?;
        let mut tries = TRIES;
        let process = loop {
            tries -= 1;
            let found = tokio::task::spawn_blocking(move || process_at(ends)).await;
            match found.map_err(|error| UnknownPeer::Undetermined(error.to_string()))? {
                // A socket can be in the table before its process is.
                Err(UnknownPeer::NoSocket) if tries > 0 => tokio::time::sleep(PAUSE).await,
                found => break found?,
            }
        };
        // While our own end is connected, no other socket can have these addresses.
        if Ends::of_peer(stream)? != ends {
            return Err(UnknownPeer::NoSocket);
        }
        let unknown = || UnknownPeer::Undetermined(format!("the user of process {process} is not known"));
        user_of(process).map(Owner::User).ok_or_else(unknown)
    }

    /// The user that a connection seems to be of, if the system tells at once: it does not.
    pub fn listed(&self, _: &TcpStream) -> Option<User> {
        None
    }
}

/// The process that has the socket.
fn process_at(ends: Ends) -> Result<u32, UnknownPeer> {
    let undetermined = |error: io::Error| UnknownPeer::Undetermined(error.to_string());
    // A connection that a socket for both versions has accepted is in the table of version 6.
    let tables =
        [(AF_INET, size_of::<MIB_TCPROW_OWNER_PID>()), (AF_INET6, size_of::<MIB_TCP6ROW_OWNER_PID>())];
    for (family, size) in tables {
        let table = table(u32::from(family)).map_err(undetermined)?;
        for row in rows(&table, size) {
            let (listed, process) = if family == AF_INET { version_4(row) } else { version_6(row) };
            if listed == ends && process != 0 {
                return Ok(process);
            }
        }
    }
    Err(UnknownPeer::NoSocket)
}

/// The system's table of connections with their processes: a number of rows, and the rows.
#[expect(unsafe_code, reason = "connections are listed by no other interface")]
fn table(family: u32) -> io::Result<Vec<u8>> {
    const INSUFFICIENT: u32 = 122;
    let mut table = vec![0_u8; 1 << 14];
    loop {
        let mut length = u32::try_from(table.len()).unwrap_or(u32::MAX);
        // SAFETY: the buffer has as many bytes as `length` says.
        let result = unsafe {
            GetExtendedTcpTable(
                table.as_mut_ptr().cast(),
                &raw mut length,
                0,
                family,
                TCP_TABLE_OWNER_PID_CONNECTIONS,
                0,
            )
        };
        match result {
            0 => return Ok(table),
            // More may begin meanwhile.
            INSUFFICIENT => table.resize(usize::try_from(length).unwrap_or_default() + (1 << 14), 0),
            number => return Err(io::Error::from_raw_os_error(number.cast_signed())),
        }
    }
}

fn rows(table: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
    let (count, rows) = table.split_at(4);
    let count = number_at(count, 0);
    rows.chunks_exact(size).take(usize::try_from(count).unwrap_or_default())
}

fn number_at(bytes: &[u8], position: usize) -> u32 {
    bytes.get(position..position + 4).and_then(|number| number.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// Ports are in the order of the network, in the first two bytes of four.
fn port_at(row: &[u8], position: usize) -> u16 {
    row.get(position..position + 2).and_then(|port| port.try_into().ok()).map_or(0, u16::from_be_bytes)
}

/// State, local address and port, remote address and port, process.
fn version_4(row: &[u8]) -> (Ends, u32) {
    let end = |address: usize, port: usize| {
        let address: [u8; 4] = number_at(row, address).to_ne_bytes();
        SocketAddr::from((address, port_at(row, port)))
    };
    (Ends { local: end(4, 8), remote: end(12, 16) }, number_at(row, 20))
}

/// Local address, scope and port, remote address, scope and port, state, process.
fn version_6(row: &[u8]) -> (Ends, u32) {
    let end = |address: usize, port: usize| {
        let bytes = row.get(address..address + 16).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        let address = std::net::Ipv6Addr::from(bytes.unwrap_or_default()).to_canonical();
        SocketAddr::from((address, port_at(row, port)))
    };
    (Ends { local: end(0, 20), remote: end(24, 44) }, number_at(row, 52))
}
