//! Hands the listening sockets of a daemon over to the process that replaces it.
//!
//! The socket itself is passed on, and the lock file beside it, so that there is no moment without a listener, no connection in
//! the queue is lost, and neither the path nor the lock ever belongs to two daemons or to none. What is passed on is asked for
//! by a call of `isthmus.daemon.v1`, and goes over a socket that the successor opens for it, because descriptors cannot go over
//! an HTTP/2 connection.
//!
//! The predecessor remains the owner until the successor has taken over, by one byte, and a successor that dies before has
//! changed nothing. After that byte, the successor is the owner whatever happens to its predecessor.

mod predecessor;
mod successor;

pub use predecessor::{Handover, HandoverError};
pub use successor::{TakeOverError, take_over};
