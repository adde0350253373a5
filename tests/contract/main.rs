//! The daemon's services over real gRPC: an engine's side is played by the tests, a provider's by real providers.
//!
//! The sandbox provider is ours and misbehaves on request; the conformance provider is built on HashiCorp's libraries and
//! proves what a peer of our own making cannot. Both speak both protocols. What depends on the protocol is tested on both, and the
//! rest on one.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the test runner shows it when a test failed")]

mod harness;

mod changes;
mod commands;
mod daemons;
mod installing;
mod invokes;
mod kills;
mod load;
mod lumirpc;
mod processes;
mod protocol;
mod providers;
mod schemas;
mod secrets;
mod services;
mod stored;
