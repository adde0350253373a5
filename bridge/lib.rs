//! The Pulumi side of isthmus: it serves Pulumi's resource-provider contracts and drives providers through [`isthmus_provider`] beneath.

pub mod cli;
pub mod config;
pub mod daemon;
pub mod engine;
pub mod invoke;
mod lumirpc;
pub mod names;
pub mod package;
pub mod project;
mod pulumirpc;
pub mod resource;
pub mod serve;
pub mod settings;
mod status;
pub mod translate;
pub mod urn;
