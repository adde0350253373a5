//! The two addresses of a connection, by which a system's table of sockets has it.

use std::net::SocketAddr;

use tokio::net::TcpStream;

use super::UnknownPeer;

/// The addresses of a socket, from its own side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

impl Ends {
    /// The addresses of the socket at the other end, from its side. Fails if our end is not connected any more.
    pub(super) fn of_peer(stream: &TcpStream) -> Result<Self, UnknownPeer> {
        let address =
            |address: std::io::Result<SocketAddr>| address.map(canonical).map_err(|_| UnknownPeer::NoSocket);
        Ok(Self { local: address(stream.peer_addr())?, remote: address(stream.local_addr())? })
    }
}

/// Maps an IPv4-mapped IPv6 address to IPv4.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
