//! TCP connections to other machines.

use std::io;
use std::time::Duration;

use isthmus_platform::local::keep_alive;
use tokio::net::TcpStream;

/// Sends messages at once, and notices a machine that is gone, also in the midst of a call: one that is silent for this long is
/// probed, and the connection is lost if it does not answer within one and a half times as long again.
///
/// # Errors
/// When the system refuses an option.
pub fn prepare_tcp(stream: &TcpStream, silence: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    keep_alive(stream, silence)
}
