//! What a provider sends before and at its start.

use isthmus_provider::plugin::{Handshake, ProtocolVersion, Transport, parse_reattach_providers};
use isthmus_provider::schema::{Catalogue, SchemaAnswer};

/// The handshake line. An error quotes no more than a part of it.
pub(crate) fn handshake(bytes: &[u8]) {
    for transport in [Transport::MutualTls, Transport::Plain] {
        if let Err(error) = Handshake::parse(bytes, transport) {
            assert!(error.to_string().len() < 4096, "{error}");
        }
    }
}

/// The response of GetProviderSchema in both protocols; all schemas in it are compiled.
pub(crate) fn schema(bytes: &[u8]) {
    for protocol in [ProtocolVersion::V5, ProtocolVersion::V6] {
        let answer = SchemaAnswer { protocol, bytes: bytes.to_vec().into() };
        assert_eq!(answer.fingerprint(), answer.fingerprint());
        if let Ok(contents) = answer.decode() {
            compile_all(&contents.catalogue);
        }
    }
}

fn compile_all(catalogue: &Catalogue) {
    let _ = (catalogue.provider(), catalogue.provider_meta());
    for name in catalogue.resource_names() {
        let _ = catalogue.list_resource(name);
        if let Ok(schema) = catalogue.resource(name) {
            let again = catalogue.passing_resource(name).expect("it was compiled before");
            assert_eq!(schema.block.implied_type, again.block.implied_type);
        }
    }
    for name in catalogue.data_source_names() {
        let _ = catalogue.data_source(name);
    }
    for name in catalogue.ephemeral_resource_names() {
        let _ = catalogue.ephemeral_resource(name);
    }
    for name in catalogue.action_names() {
        let _ = catalogue.action(name);
    }
}

/// `TF_REATTACH_PROVIDERS`.
pub(crate) fn reattach(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = parse_reattach_providers(text);
    }
}
