//! The engine's own service: messages to the user, and the configuration of the legacy engine.

mod client;
mod log;
mod offered;
mod severity;

pub use client::{Engine, EngineError, Generation};
pub use log::{EngineLog, LogLine};
pub use offered::OfferedConnections;
pub use severity::Severity;
