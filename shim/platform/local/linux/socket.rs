//! A socket, as the kernel lists it.

use std::net::SocketAddr;

/// The kernel's number of the state.
pub(super) const ESTABLISHED: u8 = 1;

/// The addresses of a socket, from its own side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

/// The kernel's entry of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) state: u8,
    pub(super) user: u32,
    pub(super) inode: u64,
}

impl Listed {
    /// The user that holds the socket open.
    pub(super) fn owner(self) -> Option<u32> {
        (self.state == ESTABLISHED && self.inode != 0).then_some(self.user)
    }
}

/// Maps an IPv4-mapped IPv6 address to IPv4.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
