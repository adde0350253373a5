//! The Pulumi side of isthmus: serves Pulumi's resource-provider contracts and drives providers
//! through [`isthmus_provider`].
//!
//! Public items are for its tests.

mod attach;
mod authorization;
pub mod cli;
mod config;
#[cfg(feature = "counting")]
#[doc(hidden)]
pub mod counting;
mod daemon;
mod doctor;
mod engine;
pub mod error_code;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod handover;
mod home;
mod installed_plugins;
mod invoke;
mod list;
mod lumirpc;
mod observe;
mod process_context;
mod project;
mod pulumirpc;
mod recording;
mod resource;
mod serve;
pub mod settings;
mod status;
mod timestamp;
mod transcript;
