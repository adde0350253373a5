//! The engine's side of the services for tests: property bags as JSON, the engine's own service,
//! and a bridge as a process.

mod bag;
mod engine;
mod half_made;
mod process;

pub use bag::{SIGNATURE, bag, json_of, secret, unknown};
pub use engine::{Engine, Line, Severity};
pub use half_made::half_made;
pub use process::{PATIENCE, Process, first_line, provider_logging};
