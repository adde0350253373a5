//! One socket from the kernel's table, by netlink: a request of 72 bytes and a response of 88.
//!
//! The layouts are those of `linux/netlink.h`, `linux/sock_diag.h` and `linux/inet_diag.h`: numbers
//! are in host order, ports and addresses in network order. The kernel responds during the send, so
//! receiving never blocks.

use std::io::{self, Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::super::ends::{Ends, canonical};
use super::socket::Listed;

/// Of `nlmsghdr`: length, type, flags, sequence number, port.
const HEADER: usize = 16;
/// The header and `inet_diag_req_v2`: family, protocol, extensions, padding, states, and the socket's id.
const REQUEST: usize = HEADER + 8 + ID;
/// The header and `inet_diag_msg`: family, state, timer, retransmissions, the socket's id, expiry, queues, user, inode.
const ANSWER: usize = HEADER + 4 + ID + 20;
/// Of `inet_diag_sockid`: two ports, two addresses of 16 bytes, an interface, a cookie.
const ID: usize = 48;

const NLMSG_ERROR: u16 = 2;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const PROTOCOL_TCP: u8 = 6;
/// Look up by addresses alone.
const NO_COOKIE: [u8; 8] = [0xff; 8];

/// A `sock_diag` netlink socket.
#[derive(Debug)]
pub(super) struct SockDiag {
    socket: OwnedFd,
    sequence: u32,
}

impl SockDiag {
    /// Opens the socket.
    ///
    /// # Errors
    /// If the kernel or a filter of system calls denies it.
    pub(super) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The kernel's entry of the socket with these addresses, if any.
    ///
    /// # Errors
    /// If the kernel returns an error or an unexpected message.
    pub(super) fn find(&mut self, ends: Ends) -> io::Result<Option<Listed>> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = request(ends, self.sequence);
        rustix::net::sendto(&self.socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut buffer = [0; 1024];
        loop {
            let (_, length, sender) =
                rustix::net::recvfrom(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            let from_kernel = sender
                .and_then(|sender| SocketAddrNetlink::try_from(sender).ok())
                .is_some_and(|sender| sender.pid() == 0);
            let message = buffer.get(..length).ok_or_else(|| invalid("an answer that is too long"))?;
            // Another process may send to this socket, and a response may be to an abandoned
            // request.
            if from_kernel && number(message, 8) == Some(self.sequence) {
                return answer(message, ends);
            }
        }
    }
}

fn request(ends: Ends, sequence: u32) -> [u8; REQUEST] {
    let mut request = [0; REQUEST];
    let family = match ends.local {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let length = u32::try_from(REQUEST).unwrap_or(u32::MAX);
    request[0..4].copy_from_slice(&length.to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    request[8..12].copy_from_slice(&sequence.to_ne_bytes());
    // Address families fit into a byte.
    request[16] = family.as_raw().to_le_bytes()[0];
    request[17] = PROTOCOL_TCP;
    // In any state, which the response contains.
    request[20..24].copy_from_slice(&u32::MAX.to_ne_bytes());
    let id = &mut request[24..];
    id[0..2].copy_from_slice(&ends.local.port().to_be_bytes());
    id[2..4].copy_from_slice(&ends.remote.port().to_be_bytes());
    write_address(&mut id[4..20], ends.local.ip());
    write_address(&mut id[20..36], ends.remote.ip());
    id[40..48].copy_from_slice(&NO_COOKIE);
    request
}

fn write_address(place: &mut [u8], address: IpAddr) {
    match address {
        IpAddr::V4(address) => place[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => place[..16].copy_from_slice(&address.octets()),
    }
}

/// Parses the response about the socket with these addresses.
fn answer(message: &[u8], ends: Ends) -> io::Result<Option<Listed>> {
    let kind = message.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    match kind {
        Some(NLMSG_ERROR) => {
            let errno = number(message, HEADER).map(|number| number.cast_signed().wrapping_neg());
            match errno.map(Error::from_raw_os_error) {
                Some(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => Ok(None),
                Some(error) => Err(error),
                None => Err(invalid("an error that is cut short")),
            }
        }
        Some(SOCK_DIAG_BY_FAMILY) if message.len() >= ANSWER => {
            let listed =
                listed(&message[HEADER..]).ok_or_else(|| invalid("an address of no known family"))?;
            // The kernel may return a listening socket instead.
            Ok((listed.0 == ends).then_some(listed.1))
        }
        Some(_) | None => Err(invalid("a message of another type")),
    }
}

/// Parses an `inet_diag_msg`.
fn listed(message: &[u8]) -> Option<(Ends, Listed)> {
    let (family, id) = (u16::from(*message.first()?), message.get(4..4 + ID)?);
    let address = |port: usize, place: usize| {
        let address = id.get(place..place + 16)?;
        let ip = match AddressFamily::from_raw(family) {
            AddressFamily::INET => IpAddr::from(Ipv4Addr::from(*address.first_chunk::<4>()?)),
            AddressFamily::INET6 => IpAddr::from(Ipv6Addr::from(*address.first_chunk::<16>()?)),
            _ => return None,
        };
        let port = id.get(port..)?.first_chunk::<2>()?;
        Some(canonical(SocketAddr::new(ip, u16::from_be_bytes(*port))))
    };
    let ends = Ends { local: address(0, 4)?, remote: address(2, 20)? };
    let rest = 4 + ID;
    let (user, inode) = (number(message, rest + 12)?, number(message, rest + 16)?);
    Some((ends, Listed { state: *message.get(1)?, user, inode: u64::from(inode) }))
}

/// A number in host order.
fn number(message: &[u8], place: usize) -> Option<u32> {
    message.get(place..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the kernel answered with {what}"))
}
