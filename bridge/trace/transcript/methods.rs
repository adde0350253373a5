//! The messages of all gRPC methods, by their descriptors.

use std::collections::HashMap;
use std::sync::LazyLock;

use isthmus_proto::DESCRIPTOR_SET;
use prost_reflect::{DescriptorPool, MessageDescriptor};

/// The messages of a method.
#[derive(Clone, Debug)]
pub struct Method {
    pub request: MessageDescriptor,
    pub response: MessageDescriptor,
}

/// The methods of all services by path, such as `/tfplugin6.Provider/ReadResource`.
pub static METHODS: LazyLock<HashMap<String, Method>> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(DESCRIPTOR_SET).expect("the contracts were compiled to this");
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let methods = methods.map(|method| {
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        (path, Method { request: method.input(), response: method.output() })
    });
    methods.collect()
});
