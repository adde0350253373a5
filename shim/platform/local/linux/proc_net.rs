//! One socket from the kernel's tables in `/proc`: text, a line per socket.
//!
//! `/proc/self/net` exists where `/proc` shows only processes (`subset=pid`), and lists the sockets
//! of all users where it hides their processes (`hidepid`). An IPv6 socket that communicates by
//! IPv4 is in the IPv6 table.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::super::ends::{Ends, canonical};
use super::socket::Listed;

const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// The kernel's entry of the socket with these addresses, if any.
///
/// # Errors
/// If a table cannot be read, and the socket is not in the other one.
pub(super) fn find(ends: Ends) -> io::Result<Option<Listed>> {
    let mut failure = None;
    for table in TABLES {
        match find_in(table, ends) {
            Ok(Some(listed)) => return Ok(Some(listed)),
            Ok(None) => {}
            // A machine without IPv6 has no table of it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && table == TABLES[1] => {}
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(None), Err)
}

fn find_in(table: &str, ends: Ends) -> io::Result<Option<Listed>> {
    for line in BufReader::new(File::open(table)?).lines() {
        if let Some((found, listed)) = listed(&line?)
            && found == ends
        {
            return Ok(Some(listed));
        }
    }
    Ok(None)
}

/// Parses a line: number, local address, remote address, state, queues, timer, retransmissions,
/// user, timeout, inode.
fn listed(line: &str) -> Option<(Ends, Listed)> {
    let mut fields = line.split_whitespace().skip(1);
    let ends = Ends { local: address(fields.next()?)?, remote: address(fields.next()?)? };
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    let user = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some((ends, Listed { state, user, inode }))
}

/// Parses an address, one number in host order per four bytes, and a port in usual notation.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let (words, rest) = ip.as_bytes().as_chunks::<8>();
    let bytes: Vec<u8> = words
        .iter()
        .filter_map(|word| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok())
        .flat_map(u32::to_ne_bytes)
        .collect();
    let ip = match *bytes {
        _ if !rest.is_empty() => return None,
        [a, b, c, d] => IpAddr::from(Ipv4Addr::new(a, b, c, d)),
        _ => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    Some(canonical(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn a_line_of_either_table_is_understood() {
        let four = "   1: 0100007F:D819 0100007F:07E8 01 00000000:00000000 00:00000000 00000000 65534        0 70382 1 0000";
        let (ends, found) = listed(four).expect("a line");
        assert_eq!(
            (ends.local, ends.remote),
            ("127.0.0.1:55321".parse().expect("one"), "127.0.0.1:2024".parse().expect("one"))
        );
        assert_eq!(found, Listed { state: 1, user: 65534, inode: 70382 });
        let mapped = four.replace("0100007F", "0000000000000000FFFF00000100007F");
        assert_eq!(listed(&mapped), Some((ends, found)));
        let six = four.replace("0100007F", "00000000000000000000000001000000");
        assert_eq!(listed(&six).expect("a line").0.local, "[::1]:55321".parse().expect("one"));
    }

    #[test]
    fn what_is_no_line_is_passed_over() {
        let heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        for line in [
            heading,
            "",
            "1:",
            "1: 0100007F:D819 0100007F:07E8 01",
            "1: 01:D819 0100007F:07E8 01 0 0 0 0 0 0 0",
            "1: é00007F:D819 0100007F:07E8 01 0 0 0 0 0 0 0",
        ] {
            assert_eq!(listed(line), None, "{line}");
        }
    }
}
