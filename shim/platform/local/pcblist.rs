//! The user of one socket in the table of macOS's kernel, `net.inet.tcp.pcblist_n`.
//!
//! The layouts are those of `netinet/in_pcblist.c`, `netinet/in_pcb.h`, `sys/socketvar.h` and `netinet/tcp_var.h` of XNU, which
//! no header of the SDK declares: a head, then six records for each socket, and a head again. Each begins with its length, each
//! record then has its kind, and the next one begins at a multiple of 8. Fields have no padding beyond a multiple of 4. Numbers
//! are in host order, ports and addresses in network order. Systems since 10.7 have only appended fields to records.
//!
//! A system that had another layout could make any number look like a user. So the same table must have our own end of the
//! connection, with our own user.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::ends::{Ends, canonical};

/// Length of a head, and of what begins each record: its length and its kind.
const HEAD: usize = 24;
const RECORD: usize = 8;

/// Kinds of records: `xinpcb_n`, `xsocket_n`, `xtcpcb_n`.
const ADDRESSES: u32 = 0x10;
const SOCKET: u32 = 0x1;
const CONNECTION: u32 = 0x20;

/// Positions of fields of [`ADDRESSES`].
const REMOTE_PORT: usize = 16;
const LOCAL_PORT: usize = 18;
const VERSIONS: usize = 44;
const REMOTE_ADDRESS: usize = 48;
const LOCAL_ADDRESS: usize = 64;

/// Positions of fields of [`SOCKET`].
const HANDLE: usize = 8;
const FLAGS: usize = 26;
const PROTOCOL: usize = 36;
const USER: usize = 64;

/// Position of the field of [`CONNECTION`] that is its state.
const STATE: usize = 36;

const IS_IPV4: u8 = 1;
const IS_IPV6: u8 = 2;
/// No process has the socket open.
const IS_CLOSED: u16 = 1;
const PROTOCOL_TCP: u32 = 6;
const ESTABLISHED: u32 = 4;

/// The user that holds the socket with these addresses open; `None` if there is none.
///
/// # Errors
/// If the table is not laid out as described above, or does not have the other end with `own`, which must be this process's.
pub(super) fn owner(table: &[u8], ends: Ends, own: u32) -> Result<Option<u32>, &'static str> {
    let sockets = sockets(table).ok_or("it is cut short")?;
    let find = |ends| sockets.iter().find(|socket| socket.ends() == Some(ends));
    let Some(peer) = find(ends) else { return Ok(None) };
    let this = find(swapped(ends)).ok_or("it does not have this process's end of the connection")?;
    if this.holder() != Some(own) {
        return Err("it has another user for this process's end of the connection");
    }
    Ok(if peer.is_established() { peer.holder() } else { None })
}

/// The other end of the same connection.
fn swapped(ends: Ends) -> Ends {
    Ends { local: ends.remote, remote: ends.local }
}

/// The records of one socket, from where they begin.
#[derive(Clone, Copy, Debug, Default)]
struct Socket<'table> {
    addresses: &'table [u8],
    socket: &'table [u8],
    connection: &'table [u8],
}

impl Socket<'_> {
    fn ends(&self) -> Option<Ends> {
        let end = |address: usize, port: usize| {
            let bytes: &[u8; 16] = self.addresses.get(address..)?.first_chunk()?;
            let versions = *self.addresses.get(VERSIONS)?;
            // A socket of IPv6 that communicates by IPv4 is one of IPv4 here; the address is at the end.
            let ip = match (versions & IS_IPV4 != 0, versions & IS_IPV6 != 0) {
                (true, _) => IpAddr::from(Ipv4Addr::from(*bytes.last_chunk::<4>()?)),
                (false, true) => IpAddr::from(Ipv6Addr::from(*bytes)),
                (false, false) => return None,
            };
            let port = self.addresses.get(port..)?.first_chunk()?;
            Some(canonical(SocketAddr::new(ip, u16::from_be_bytes(*port))))
        };
        Some(Ends { local: end(LOCAL_ADDRESS, LOCAL_PORT)?, remote: end(REMOTE_ADDRESS, REMOTE_PORT)? })
    }

    /// The user whose process has it open. Connections without a socket of the kernel have handle and user 0.
    fn holder(&self) -> Option<u32> {
        let handle = u64::from_ne_bytes(*self.socket.get(HANDLE..)?.first_chunk()?);
        let flags = u16::from_ne_bytes(*self.socket.get(FLAGS..)?.first_chunk()?);
        let is_open = handle != 0 && flags & IS_CLOSED == 0 && number(self.socket, PROTOCOL)? == PROTOCOL_TCP;
        is_open.then(|| number(self.socket, USER)).flatten()
    }

    fn is_established(&self) -> bool {
        number(self.connection, STATE) == Some(ESTABLISHED)
    }
}

/// All sockets of a table; `None` if it does not end with a head.
fn sockets(table: &[u8]) -> Option<Vec<Socket<'_>>> {
    let mut sockets: Vec<Socket<'_>> = Vec::new();
    let mut rest = table.get(length(table).filter(|length| *length == HEAD)?..)?;
    while length(rest)? != HEAD {
        let record = rest.get(..length(rest)?)?;
        let kind = number(record, 4)?;
        if kind == ADDRESSES {
            sockets.push(Socket { addresses: record, ..Socket::default() });
        } else {
            let socket = sockets.last_mut()?;
            match kind {
                SOCKET => socket.socket = record,
                CONNECTION => socket.connection = record,
                // Buffers and statistics.
                _ => {}
            }
        }
        rest = rest.get(record.len().next_multiple_of(8)..)?;
    }
    Some(sockets)
}

/// The length of the head or record that is next.
fn length(rest: &[u8]) -> Option<usize> {
    usize::try_from(number(rest, 0)?).ok().filter(|length| (RECORD..=rest.len()).contains(length))
}

/// A number in host order.
fn number(record: &[u8], place: usize) -> Option<u32> {
    record.get(place..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 501;
    const OTHER: u32 = 502;
    const TIME_WAIT: u32 = 10;

    /// A socket, as the kernel would list it.
    struct Listed {
        ends: Ends,
        user: u32,
        handle: u64,
        flags: u16,
        state: u32,
    }

    impl Listed {
        fn new(ends: Ends, user: u32) -> Self {
            Self { ends, user, handle: 0x9e37_79b9_7f4a_7c15, flags: 2, state: ESTABLISHED }
        }

        fn records(&self) -> Vec<Vec<u8>> {
            let mut addresses = record(ADDRESSES, 104);
            for (address, [at, port]) in [
                (self.ends.remote, [REMOTE_ADDRESS, REMOTE_PORT]),
                (self.ends.local, [LOCAL_ADDRESS, LOCAL_PORT]),
            ] {
                put(&mut addresses, port, &address.port().to_be_bytes());
                let version = match address.ip() {
                    IpAddr::V4(ip) => {
                        put(&mut addresses, at + 12, &ip.octets());
                        IS_IPV4
                    }
                    IpAddr::V6(ip) => {
                        put(&mut addresses, at, &ip.octets());
                        IS_IPV6
                    }
                };
                addresses[VERSIONS] = version;
            }
            let mut socket = record(SOCKET, 104);
            put(&mut socket, HANDLE, &self.handle.to_ne_bytes());
            put(&mut socket, FLAGS, &self.flags.to_ne_bytes());
            put(&mut socket, PROTOCOL, &PROTOCOL_TCP.to_ne_bytes());
            put(&mut socket, USER, &self.user.to_ne_bytes());
            let mut connection = record(CONNECTION, 204);
            put(&mut connection, STATE, &self.state.to_ne_bytes());
            vec![addresses, socket, record(2, 32), record(4, 32), record(8, 136), connection]
        }
    }

    fn record(kind: u32, length: u32) -> Vec<u8> {
        let mut record = vec![0; usize::try_from(length).expect("a short one")];
        put(&mut record, 0, &length.to_ne_bytes());
        put(&mut record, 4, &kind.to_ne_bytes());
        record
    }

    fn put(record: &mut [u8], place: usize, bytes: &[u8]) {
        record[place..place + bytes.len()].copy_from_slice(bytes);
    }

    fn table(sockets: &[Listed]) -> Vec<u8> {
        let mut table = record(0, 24);
        for mut record in sockets.iter().flat_map(Listed::records) {
            record.resize(record.len().next_multiple_of(8), 0);
            table.extend(record);
        }
        table.extend(record(0, 24));
        table
    }

    /// The other end of a connection to this process, from its side.
    fn peer() -> Ends {
        ends("127.0.0.1:50000", "127.0.0.1:2024")
    }

    fn ends(local: &str, remote: &str) -> Ends {
        let address = |text: &str| canonical(text.parse().expect("an address"));
        Ends { local: address(local), remote: address(remote) }
    }

    fn ours() -> Listed {
        Listed::new(swapped(peer()), OWN)
    }

    #[test]
    fn the_owner_is_the_one_of_the_other_end() {
        let unrelated = || Listed::new(ends("127.0.0.1:50001", "127.0.0.1:2024"), 503);
        for user in [OWN, OTHER, 0] {
            let table = table(&[unrelated(), ours(), Listed::new(peer(), user)]);
            assert_eq!(owner(&table, peer(), OWN), Ok(Some(user)));
        }
        assert_eq!(owner(&table(&[unrelated(), ours()]), peer(), OWN), Ok(None));
    }

    #[test]
    fn addresses_of_either_version_are_found() {
        let six = ends("[::1]:50000", "[::1]:2024");
        let table_of_six = table(&[Listed::new(swapped(six), OWN), Listed::new(six, OTHER)]);
        assert_eq!(owner(&table_of_six, six, OWN), Ok(Some(OTHER)));
        let mapped = ends("[::ffff:127.0.0.1]:50000", "[::ffff:127.0.0.1]:2024");
        assert_eq!(owner(&table(&[ours(), Listed::new(peer(), OTHER)]), mapped, OWN), Ok(Some(OTHER)));
    }

    #[test]
    fn a_socket_that_no_process_has_open_has_no_owner() {
        // In all of these the user may be 0 without being root.
        for closed in [
            Listed { state: TIME_WAIT, ..Listed::new(peer(), 0) },
            Listed { flags: IS_CLOSED, ..Listed::new(peer(), 0) },
            Listed { handle: 0, ..Listed::new(peer(), 0) },
        ] {
            assert_eq!(owner(&table(&[ours(), closed]), peer(), OWN), Ok(None));
        }
    }

    #[test]
    fn a_table_that_does_not_have_our_own_end_tells_no_owner() {
        let theirs = || Listed::new(peer(), 0);
        for sockets in [
            vec![theirs()],
            vec![theirs(), Listed { user: OTHER, ..ours() }],
            vec![theirs(), Listed { handle: 0, ..ours() }],
        ] {
            owner(&table(&sockets), peer(), OWN).expect_err("another layout");
        }
    }

    #[test]
    fn records_may_be_longer_and_of_unknown_kinds() {
        let mut table = record(0, 24);
        for listed in [ours(), Listed::new(peer(), OTHER)] {
            for mut known in listed.records() {
                let longer = u32::try_from(known.len() + 8).expect("a short one");
                put(&mut known, 0, &longer.to_ne_bytes());
                known.resize((known.len() + 8).next_multiple_of(8), 0xff);
                table.extend(known);
            }
            table.extend(record(0x400, 16));
        }
        table.extend(record(0, 24));
        assert_eq!(owner(&table, peer(), OWN), Ok(Some(OTHER)));
    }

    #[test]
    fn what_is_cut_short_tells_no_owner() {
        let whole = table(&[ours(), Listed::new(peer(), OTHER)]);
        for length in 0..whole.len() {
            assert!(owner(&whole[..length], peer(), OWN).is_err(), "{length} bytes");
        }
        // A record that goes nowhere.
        let mut endless = whole;
        put(&mut endless, HEAD, &0_u32.to_ne_bytes());
        assert!(owner(&endless, peer(), OWN).is_err());
    }
}
