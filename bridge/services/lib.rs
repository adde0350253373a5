//! Both resource-provider services, and the server that carries them.
//!
//! [`serve`] accepts connections and gives each a session. [`pulumirpc`] and [`lumirpc`] decode the messages of today's engines and
//! of the legacy engine, and call the operations of `isthmus_operations` and, for what is not a resource, of `config`, `invoke` and
//! `list`. [`status`] turns failures into gRPC statuses. A plugin that finds a shared daemon passes its calls on ([`attach`]); a daemon
//! that is replaced passes its listening socket on ([`handover`]). [`replay`] serves a recorded session again.

pub mod attach;
pub mod config;
pub mod handover;
mod invoke;
mod list;
pub mod lumirpc;
mod pulumirpc;
pub mod replay;
pub mod serve;
mod status;
