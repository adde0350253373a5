//! The engine's own service: messages to the user, and the configuration of the legacy engine.

mod client;
mod log;
mod offered;
mod severity;

pub(crate) use client::{Engine, EngineError, Generation};
pub(crate) use log::{EngineLog, LogLine};
pub(crate) use offered::OfferedConnections;
pub(crate) use severity::Severity;
