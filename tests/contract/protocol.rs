//! The service itself: connections, messages, and who may send them.

mod engines;
mod hostile;
mod introduction;
mod messages;
pub(crate) mod peers;
mod provider_logs;
mod requests;
mod rpc_log;
mod sessions;
