//! The methods of the services for engines, as labels.

use isthmus_proto::lumirpc::resource_provider_server::SERVICE_NAME as LUMI;
use isthmus_proto::pulumirpc::resource_provider_server::SERVICE_NAME as PULUMI;

/// The methods of both services, in the order of the alphabet.
const METHODS: [&str; 23] = [
    "Attach",
    "Call",
    "Cancel",
    "Check",
    "CheckConfig",
    "Configure",
    "Construct",
    "Create",
    "Delete",
    "Diff",
    "DiffConfig",
    "Get",
    "GetMapping",
    "GetMappings",
    "GetPluginInfo",
    "GetSchema",
    "Handshake",
    "Invoke",
    "List",
    "Name",
    "Parameterize",
    "Read",
    "Update",
];

/// A method of a service for engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineRpc(usize);

impl EngineRpc {
    /// How many there are.
    pub(super) const COUNT: usize = METHODS.len();

    /// The method of a request, by its path; `None` if no service has it.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        if service != PULUMI && service != LUMI {
            return None;
        }
        METHODS.binary_search(&method).ok().map(Self)
    }

    /// Its name in the contract.
    pub(super) fn name(self) -> &'static str {
        METHODS[self.0]
    }

    pub(super) fn index(self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn every_method_of_both_services_has_a_label_of_its_own() {
        let contracts = prost_types::FileDescriptorSet::decode(isthmus_proto::DESCRIPTOR_SET)
            .expect("they were written so");
        let mut seen = 0;
        for file in contracts.file.iter().filter(|file| ["pulumirpc", "lumirpc"].contains(&file.package())) {
            for service in file.service.iter().filter(|service| service.name() == "ResourceProvider") {
                for method in &service.method {
                    let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                    let rpc = EngineRpc::of_path(&path).unwrap_or_else(|| panic!("{path} has no label"));
                    assert_eq!(rpc.name(), method.name());
                    seen += 1;
                }
            }
        }
        assert!(seen > 20, "{seen}");
        for path in
            ["", "/", "/pulumirpc.ResourceProvider", "/pulumirpc.ResourceProvider/Invent", "/other/Create"]
        {
            assert_eq!(EngineRpc::of_path(path), None, "{path}");
        }
    }
}
