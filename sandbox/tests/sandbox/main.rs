//! The sandbox over real gRPC, for clients of both protocols.
//!
//! `lifecycle.rs` is compiled twice, once with each protocol's messages, like the edge that it
//! tests.

#![expect(clippy::duplicate_mod, reason = "lifecycle.rs is meant to be compiled once for each protocol")]

mod ages;
mod harness;
mod process;
mod protocol5;
mod protocol6;
