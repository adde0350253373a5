//! Sessions: an engine's connection to a package, and the provider processes that sessions share.
//!
//! [`daemon`] has the sessions and their processes, [`process_context`] the surroundings of the process that a session is for,
//! [`engine`] the client of the engine's own service, [`authorization`] who may connect, [`observe`] what operators see of calls, and
//! [`error_code`] which error has which code.

pub mod authorization;
pub mod daemon;
pub mod engine;
pub mod error_code;
pub mod observe;
pub mod process_context;
