//! The daemon's services over real gRPC: an engine's side is played by the tests, a provider's by real providers.
//!
//! The sandbox provider is ours and misbehaves on request; the conformance provider is built on HashiCorp's libraries and
//! proves what a peer of our own making cannot. Both speak both protocols, and so does nearly every test.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the test runner shows it when a test failed")]

mod harness;

mod actions;
mod addresses;
mod ages;
mod autonaming;
mod broken;
mod cancelling;
mod check_failures;
mod checks;
mod commands;
mod computed_blocks;
mod configuration;
mod deaths;
mod deferrals;
mod deletions;
mod differences;
mod endings;
mod ephemeral;
mod failures;
mod features;
mod files;
mod functions;
mod hostile;
mod identities;
mod ignoring;
mod importing;
mod installing;
mod introduction;
mod invokes;
mod journal;
mod lifecycle;
mod lists;
mod lumirpc;
mod messages;
mod nested_sets;
mod numbers;
mod open_files;
mod package;
mod parameterize;
mod peers;
mod plans;
mod previews;
mod provenance;
mod provider_meta;
mod reading;
mod redaction;
mod remembering;
mod requests;
mod rpc_log;
mod secrets;
mod sessions;
mod settings;
mod shapes;
mod timeouts;
mod write_only;
