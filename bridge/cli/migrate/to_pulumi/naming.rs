//! How resources of a state are named in a stack, by the language of the program.

use std::collections::HashMap;

use isthmus_state::{ModuleStep, ObjectAddress};

use crate::cli::migrate::Runtime;
use isthmus_migrate::configuration::Configuration;
use isthmus_migrate::hcl_names::{Component, components, resource_name};
use isthmus_migrate::names::{Name, names};

/// How resources are named, and what programs set.
#[derive(Clone, Copy)]
pub(super) struct Naming<'a> {
    pub(super) runtime: Runtime,
    pub(super) configuration: &'a Configuration,
}

impl Naming<'_> {
    pub(super) fn names<'a>(
        self,
        addresses: impl IntoIterator<Item = &'a ObjectAddress>,
    ) -> HashMap<ObjectAddress, Name> {
        match self.runtime {
            Runtime::Yaml => names(addresses),
            Runtime::Hcl => {
                let current =
                    addresses.into_iter().map(|address| ObjectAddress { deposed: None, ..address.clone() });
                let named = current.map(|address| {
                    let name = resource_name(&address);
                    (address, Name { key: name.clone(), name })
                });
                named.collect()
            }
        }
    }

    /// The components of an instance of a module; `None` if they are not known.
    pub(super) fn parents(self, module: &[ModuleStep]) -> Option<Vec<Component>> {
        match self.runtime {
            Runtime::Yaml => Some(Vec::new()),
            Runtime::Hcl => components(module, self.configuration),
        }
    }
}
