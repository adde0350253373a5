//! Migration between a Terraform state and a Pulumi stack: the pure part of `isthmus migrate`.
//!
//! A state has addresses, a stack has names (`names`); a state lists dependencies without instance
//! keys, a stack lists resources, each after those that it depends on (`dependencies`). The stack
//! is written as the document that `pulumi stack import` reads (`deployment`, `property_json`, `secrets_provider`),
//! with the program that describes it (`program`, `yaml`, `configured_text`), in which a configuration's references may replace
//! literals (`configuration`, `references`). What a stack cannot have is refused (`reserved`).
//!
//! It does no I/O. What needs a provider (upgrades, properties, inputs) is in
//! `bridge/operations/resource/foreign.rs`; files and providers are the command's, in `bridge/cli/migrate`.

pub mod addresses;
pub mod configuration;
mod configured_text;
pub mod dependencies;
pub mod deployment;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod hcl_names;
pub mod names;
pub mod numbers;
pub mod program;
pub mod property_json;
pub mod references;
pub mod reserved;
pub mod secrets_provider;
pub mod shown;
pub mod yaml;
