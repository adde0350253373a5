//! The user that owns the socket at the other end of a loopback connection.
//!
//! Both ends are sockets of this machine, which the kernel lists with their users: by netlink
//! (`sock_diag`), one socket by its two addresses; or in `/proc/net/tcp`, all of them, where
//! seccomp or an older kernel refuses netlink.
//!
//! A socket counts only while it is ESTABLISHED and has an inode. One that was closed with data in
//! flight is listed with user 0 and inode 0: without that rule, a client that sends and closes at
//! once would count as root.

mod proc_net;
mod sock_diag;
mod socket;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::net::sockopt::socket_acceptconn;
use tokio::net::TcpStream;

use super::ends::Ends;
use super::{Owner, UnknownPeer};
use crate::process::User;
use sock_diag::SockDiag;
use socket::Listed;

/// Default id of users without one in our user namespace.
const OVERFLOW_USER: u32 = 65534;

/// The users of TCP connections.
#[derive(Debug)]
pub struct PeerUsers {
    /// Or why it cannot be opened.
    diag: Result<Mutex<SockDiag>, String>,
    /// Whether netlink has found a socket: the kernel has its module.
    has_found: AtomicBool,
    namespace: UserNamespace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UserNamespace {
    overflow: u32,
    /// Every user has an id, and the overflow id is a real user's.
    maps_everyone: bool,
}

impl PeerUsers {
    /// Opens the netlink socket. If that fails, lookups by netlink fail.
    pub fn open() -> Self {
        if cfg!(feature = "portable") {
            return Self::by(Err("only the table of all sockets, as on macOS".to_owned()));
        }
        Self::by(netlink())
    }

    fn by(diag: Result<Mutex<SockDiag>, String>) -> Self {
        Self { diag, has_found: AtomicBool::new(false), namespace: UserNamespace::own() }
    }

    /// The owner of the socket at the other end.
    ///
    /// # Errors
    /// If there is no open socket, or the system denies the lookup.
    pub async fn of_peer(&self, stream: &TcpStream) -> Result<Owner, UnknownPeer> {
        let ends = Ends::of_peer(stream)?;
        let listed = self.find(ends).await?.ok_or(UnknownPeer::NoSocket)?;
        // While our own end is connected, no other socket can have these addresses.
        if Ends::of_peer(stream)? != ends {
            return Err(UnknownPeer::NoSocket);
        }
        let user = listed.owner().ok_or(UnknownPeer::NoSocket)?;
        Ok(self.namespace.owner(user))
    }

    /// The user that a connection seems to be of, if the system tells at once.
    pub fn listed(&self, stream: &TcpStream) -> Option<User> {
        self.find_by_netlink(Ends::of_peer(stream).ok()?).ok()??.owner().map(User::from_id)
    }

    async fn find(&self, ends: Ends) -> Result<Option<Listed>, UnknownPeer> {
        let netlink = self.find_by_netlink(ends);
        match netlink {
            Ok(Some(listed)) => return Ok(Some(listed)),
            // The table in /proc is long in a flood of connections that are closed at once.
            Ok(None) if self.has_found.load(Ordering::Relaxed) => return Ok(None),
            Ok(None) | Err(_) => {}
        }
        // Without its module, the kernel's netlink answers that there is no such socket.
        let by_proc = tokio::task::spawn_blocking(move || proc_net::find(ends)).await;
        match (by_proc.map_err(|error| error.to_string()), netlink) {
            (Ok(Ok(listed)), _) => Ok(listed),
            (_, Ok(listed)) => Ok(listed),
            (Ok(Err(proc)), Err(netlink)) => {
                Err(UnknownPeer::Undetermined(format!("netlink: {netlink}; /proc: {proc}")))
            }
            (Err(proc), Err(netlink)) => {
                Err(UnknownPeer::Undetermined(format!("netlink: {netlink}; /proc: {proc}")))
            }
        }
    }

    /// The kernel answers synchronously, so this never blocks.
    fn find_by_netlink(&self, ends: Ends) -> Result<Option<Listed>, String> {
        let mut diag = self.diag.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let found = diag.find(ends).map_err(|error| error.to_string())?;
        if found.is_some() {
            self.has_found.store(true, Ordering::Relaxed);
        }
        Ok(found)
    }
}

fn netlink() -> Result<Mutex<SockDiag>, String> {
    SockDiag::open().map(Mutex::new).map_err(|error| error.to_string())
}

impl UserNamespace {
    fn own() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Self::new(&read("/proc/self/uid_map"), &read("/proc/sys/kernel/overflowuid"))
    }

    /// If neither file can be read, the overflow id identifies no user.
    fn new(uid_map: &str, overflow: &str) -> Self {
        let lengths = uid_map.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u32>().ok());
        Self {
            overflow: overflow.trim().parse().unwrap_or(OVERFLOW_USER),
            maps_everyone: lengths.max() == Some(u32::MAX),
        }
    }

    fn owner(self, user: u32) -> Owner {
        if user == self.overflow && !self.maps_everyone {
            Owner::Unmapped
        } else {
            Owner::User(User::from_id(user))
        }
    }
}

/// Whether a socket accepts connections.
pub(super) fn is_accepting(socket: impl AsFd) -> std::io::Result<bool> {
    Ok(socket_acceptconn(socket)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    use std::time::Instant;

    use tokio::net::TcpListener;

    use super::socket::ESTABLISHED;
    use super::*;

    /// A connection through one address to a listener on another: our end, and the other.
    async fn connection(listen: IpAddr, dial: IpAddr) -> std::io::Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind((listen, 0)).await?;
        let port = listener.local_addr()?.port();
        let (accepted, dialled) = tokio::try_join!(listener.accept(), TcpStream::connect((dial, port)))?;
        Ok((accepted.0, dialled))
    }

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn user(id: u32) -> Owner {
        Owner::User(User::from_id(id))
    }

    fn both_ways(owners: &PeerUsers, ends: Ends) -> [Option<Listed>; 2] {
        [owners.find_by_netlink(ends).expect("netlink"), proc_net::find(ends).expect("/proc")]
    }

    #[tokio::test]
    async fn both_ways_of_looking_find_the_same_owner() {
        let mapped = IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        let everywhere = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
        let owners = PeerUsers::by(netlink());
        let own = User::current();
        for (listen, dial) in [
            (LOOPBACK, LOOPBACK),
            (LOOPBACK, mapped),
            (everywhere, LOOPBACK),
            (everywhere, mapped),
            (six, six),
        ] {
            let (accepted, dialled) = match connection(listen, dial).await {
                // A machine may have no IPv6.
                Err(_) if listen.is_ipv6() || dial.is_ipv6() => continue,
                connected => connected.expect("a connection"),
            };
            let ends = Ends::of_peer(&accepted).expect("it is connected");
            let [netlink, proc] = both_ways(&owners, ends);
            let listed = netlink.expect("it is listed");
            assert_eq!((listed.state, listed.user), (ESTABLISHED, own.id()), "{dial} to {listen}");
            assert_ne!(listed.inode, 0);
            assert_eq!(proc, netlink, "{dial} to {listen}");
            assert_eq!(owners.of_peer(&accepted).await.expect("its owner"), Owner::User(own));
            // Our own end is another socket, with the addresses the other way round.
            let swapped = Ends { local: ends.remote, remote: ends.local };
            assert_ne!(both_ways(&owners, swapped)[0].expect("our end").inode, listed.inode);
            drop(dialled);
        }
    }

    #[tokio::test]
    async fn a_socket_that_sent_and_was_closed_at_once_has_no_owner() {
        let owners = PeerUsers::by(netlink());
        let (accepted, dialled) = connection(LOOPBACK, LOOPBACK).await.expect("a connection");
        let ends = Ends::of_peer(&accepted).expect("it is connected");
        let mut dialled = dialled.into_std().expect("a socket");
        dialled.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("a few bytes");
        drop(dialled);
        for listed in both_ways(&owners, ends).into_iter().flatten() {
            assert_eq!((listed.user, listed.inode), (0, 0), "what makes it look like root's");
            assert_eq!(listed.owner(), None);
        }
        let denied = owners.of_peer(&accepted).await.expect_err("it is closed");
        assert!(matches!(denied, UnknownPeer::NoSocket), "{denied}");
        // The bytes are there all the same, and would be read.
        accepted.readable().await.expect("a socket");
    }

    #[tokio::test]
    async fn a_socket_that_was_reset_has_no_owner() {
        let owners = PeerUsers::by(netlink());
        let (accepted, dialled) = connection(LOOPBACK, LOOPBACK).await.expect("a connection");
        dialled.set_zero_linger().expect("an option of sockets");
        drop(dialled);
        let denied = owners.of_peer(&accepted).await.expect_err("it is closed");
        assert!(matches!(denied, UnknownPeer::NoSocket), "{denied}");
    }

    #[tokio::test]
    async fn without_netlink_the_table_in_proc_tells() {
        let owners = PeerUsers::by(Err("not permitted".to_owned()));
        let (accepted, dialled) = connection(LOOPBACK, LOOPBACK).await.expect("a connection");
        let own = User::current();
        assert_eq!(owners.of_peer(&accepted).await.expect("its owner"), Owner::User(own));
        drop(dialled);
    }

    #[test]
    fn the_overflow_id_identifies_a_user_only_where_every_user_is_mapped() {
        let initial = UserNamespace::new("         0          0 4294967295\n", "65534\n");
        assert_eq!(initial.owner(65534), user(65534));
        for partial in ["0 1000 1\n", "0 100000 65536\n", "0 1000 1\n1 100000 65536\n", ""] {
            let partial = UserNamespace::new(partial, "65534\n");
            assert_eq!(partial.owner(65534), Owner::Unmapped);
            assert_eq!(partial.owner(0), user(0));
        }
        assert_eq!(UserNamespace::new("", "").owner(65534), Owner::Unmapped);
        assert_eq!(UserNamespace::new("0 0 1\n", "99\n").owner(99), Owner::Unmapped);
    }

    #[tokio::test]
    async fn looking_takes_less_than_a_millisecond() {
        let owners = PeerUsers::by(netlink());
        let (accepted, dialled) = connection(LOOPBACK, LOOPBACK).await.expect("a connection");
        let mut times = Vec::new();
        for _ in 0..101 {
            let start = Instant::now();
            owners.of_peer(&accepted).await.expect("its owner");
            times.push(start.elapsed());
        }
        times.sort();
        assert!(times[50].as_micros() < 1000, "the median is {:?}", times[50]);
        drop(dialled);
    }
}
