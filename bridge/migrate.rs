//! Migration between a Terraform state and a Pulumi stack: the pure part of `isthmus migrate`.
//!
//! A state has addresses, a stack has names ([`names`]); a state lists dependencies without instance
//! keys, a stack lists resources, each after those that it depends on ([`dependencies`]). The stack
//! is written as the document that `pulumi stack import` reads ([`deployment`], [`property_json`], [`secrets_provider`]),
//! with the program that describes it ([`program`], [`yaml`], [`configured_text`]), in which a configuration's references may replace
//! literals ([`configuration`], [`references`]). What a stack cannot have is refused ([`reserved`]).
//!
//! It does no I/O. What needs a provider (upgrades, properties, inputs) is in
//! `bridge/resource/foreign.rs`; files and providers are the command's, in `bridge/cli/migrate`.

pub(crate) mod addresses;
pub(crate) mod configuration;
mod configured_text;
pub(crate) mod dependencies;
pub(crate) mod deployment;
pub(crate) mod hcl_names;
pub(crate) mod names;
pub(crate) mod numbers;
pub(crate) mod program;
pub(crate) mod property_json;
pub(crate) mod references;
pub(crate) mod reserved;
pub(crate) mod secrets_provider;
pub(crate) mod shown;
pub(crate) mod yaml;
