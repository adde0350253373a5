//! The Pulumi side of isthmus: it serves Pulumi's resource-provider contracts and drives providers through [`isthmus_provider`] beneath.

pub mod cli;
pub mod config;
pub mod daemon;
pub mod engine;
pub mod invoke;
pub mod names;
pub mod package;
pub mod project;
pub mod resource;
pub mod serve;
pub mod settings;
pub mod translate;
pub mod urn;
