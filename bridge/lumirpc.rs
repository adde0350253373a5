//! The legacy engine (`lumi`, 2017): its service, its plugin, and the state that it cannot keep itself.
//!
//! That engine loads one plugin for each package and knows of a resource its id, its inputs and its outputs, nothing of Terraform's
//! state. So what a provider returns is kept in the state store, and each call's prior state is looked up there; the operations
//! themselves are those of [`crate::resource`].

pub(crate) mod link;
mod name;
pub(crate) mod plugin;
mod service;
pub(crate) mod stored_resource;
mod work;

/// What the plugin of a legacy engine is called, before the package.
pub(crate) const PLUGIN_PREFIX: &str = "lumi-resource-";

pub(crate) use service::LumiService;
