//! The Pulumi side of isthmus: it serves Pulumi's resource-provider contracts and drives [`isthmus_shim`] beneath.

pub mod names;
pub mod package;
pub mod translate;
