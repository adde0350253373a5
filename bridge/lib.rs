//! The Pulumi side of isthmus: serves Pulumi's resource-provider contracts and drives providers
//! through [`isthmus_provider`].
//!
//! Public items are for its tests.

mod attach;
pub mod cli;
mod config;
mod doctor;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod handover;
mod invoke;
mod list;
mod lumirpc;
mod pulumirpc;
mod replay;
mod serve;
mod status;
