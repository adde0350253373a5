//! The engine's side of the services for tests: property bags as JSON, the engine's own service,
//! and a bridge as a process. Besides, a collector of traces.

mod bag;
mod collector;
mod details;
mod engine;
mod process;

pub use bag::{SIGNATURE, bag, json_of, secret, unknown};
pub use collector::{Collector, Span};
pub use details::{half_made, is_awaited};
pub use engine::{Engine, Line, Severity};
pub use process::{Output, PATIENCE, PLUGIN, Process, connect, first_line, isolate, provider_logging};
