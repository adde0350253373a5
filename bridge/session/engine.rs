//! The engine's own service: messages to the user, and the configuration of the legacy engine.

mod client;
mod log;

pub use client::{Engine, EngineError, Generation, OfferedConnections};
pub use log::{EngineLog, LogLine, Severity};
