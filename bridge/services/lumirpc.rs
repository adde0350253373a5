//! The legacy engine (`lumi`, 2017): its service, its plugin, and the state that it cannot store.
//!
//! That engine loads one plugin per package. Of a resource it stores the id, inputs and outputs,
//! but no Terraform state. So the state store holds what a provider returns, and each call looks
//! its prior state up there; the operations themselves are those of [`isthmus_operations::resource`].

pub mod identity;
mod name;
mod service;
pub mod stored_resource;
mod work;

/// Prefix of a legacy plugin's name; the package follows.
pub const PLUGIN_PREFIX: &str = "lumi-resource-";

pub(crate) use service::LumiService;
