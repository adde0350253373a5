//! TCP connections to other machines.

use std::io;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::TcpStream;

/// Unanswered probes after which a machine is gone.
const PROBES: u32 = 3;

/// Sends messages at once, and notices a machine that is gone, also in the midst of a call: one that is silent for this long is
/// probed, and the connection is lost if it does not answer within one and a half times as long again.
///
/// # Errors
/// When the system refuses an option.
pub fn prepare_tcp(stream: &TcpStream, silence: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_tcp_keepidle(stream, silence)?;
    sockopt::set_tcp_keepintvl(stream, silence / 2)?;
    sockopt::set_tcp_keepcnt(stream, PROBES)?;
    sockopt::set_socket_keepalive(stream, true)?;
    Ok(())
}
