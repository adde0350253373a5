//! The code that was made of the contracts: the services' names on the wire, and the schemas that stay encoded.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use prost::Message as _;
use prost::encoding::{encode_varint, hash_map, message, string};

use super::facts::ours;
use crate::tfplugin6::{Schema, get_provider_schema, schema};

#[test]
fn every_service_of_the_contracts_has_a_server_under_its_name() {
    let contracts = ours();
    let in_contracts: BTreeSet<String> = contracts
        .file
        .iter()
        .flat_map(|file| file.service.iter().map(|service| format!("{}.{}", file.package(), service.name())))
        .collect();
    let in_code = [
        crate::codegen::loader_server::SERVICE_NAME,
        crate::codegen::mapper_server::SERVICE_NAME,
        crate::goplugin::grpc_broker_server::SERVICE_NAME,
        crate::goplugin::grpc_controller_server::SERVICE_NAME,
        crate::goplugin::grpc_stdio_server::SERVICE_NAME,
        crate::health::health_server::SERVICE_NAME,
        crate::daemon::daemon_server::SERVICE_NAME,
        crate::daemon::inspect_server::SERVICE_NAME,
        crate::lumirpc::engine_server::SERVICE_NAME,
        crate::lumirpc::resource_provider_server::SERVICE_NAME,
        crate::pulumirpc::engine_server::SERVICE_NAME,
        crate::pulumirpc::package_resolver_server::SERVICE_NAME,
        crate::pulumirpc::resource_provider_server::SERVICE_NAME,
        crate::pulumirpc::resource_status_server::SERVICE_NAME,
        crate::tfplugin5::provider_server::SERVICE_NAME,
        crate::tfplugin5::provisioner_server::SERVICE_NAME,
        crate::tfplugin6::provider_server::SERVICE_NAME,
    ];
    assert_eq!(in_contracts, in_code.map(str::to_owned).into());
    for name in
        ["codegen.Mapper", "grpc.health.v1.Health", "plugin.GRPCController", "pulumirpc.ResourceProvider"]
    {
        assert!(in_contracts.contains(name), "{name} is not among {in_contracts:?}");
    }
}

#[test]
fn a_schema_that_stays_encoded_is_on_the_wire_as_a_message_is() {
    let block = schema::Block { description: "pet".to_owned(), ..Default::default() };
    let pet = Schema { version: 3, block: Some(block) };
    let schemas = HashMap::from([("random_pet".to_owned(), pet.clone())]);
    let mut as_messages = Vec::new();
    hash_map::encode(
        string::encode,
        string::encoded_len,
        message::encode,
        message::encoded_len,
        2,
        &schemas,
        &mut as_messages,
    );

    let left_encoded = get_provider_schema::Response {
        resource_schemas: HashMap::from([("random_pet".to_owned(), Bytes::from(pet.encode_to_vec()))]),
        ..Default::default()
    };
    assert_eq!(left_encoded.encode_to_vec(), as_messages);

    let received = Bytes::from(as_messages);
    let decoded = get_provider_schema::Response::decode(received.clone()).unwrap();
    let schema = &decoded.resource_schemas["random_pet"];
    assert_eq!(Schema::decode(schema.clone()).unwrap(), pet);
    assert!(received.as_ptr_range().contains(&schema.as_ptr()), "the schema was copied out of the answer");
}

/// Recursion in generated code is prost's, and so is its limit of 100 messages. A feature of prost lifts it, in all
/// crates at once; then these bytes, which any provider could send, end the process.
#[test]
fn messages_nested_without_end_are_an_error() {
    let opened_group_of_unknown_field = vec![0x7b; 100_000];
    assert!(get_provider_schema::Response::decode(opened_group_of_unknown_field.as_slice()).is_err());
    assert!(schema::Block::decode(nested_blocks(10_000).as_slice()).is_err());
}

#[test]
fn blocks_may_be_nested_deeper_than_any_provider_does() {
    let mut block = schema::Block::decode(nested_blocks(45).as_slice()).unwrap();
    let mut levels = 0;
    while let Some(inner) = block.block_types.pop().and_then(|nested| nested.block) {
        block = inner;
        levels += 1;
    }
    assert_eq!(levels, 45);
}

/// An encoded block with as many blocks inside each other.
fn nested_blocks(levels: usize) -> Vec<u8> {
    const BLOCK_TYPES: u8 = 3;
    const BLOCK: u8 = 2;

    let mut content = Vec::new();
    for _ in 0..levels {
        for tag in [BLOCK, BLOCK_TYPES] {
            let mut around = vec![tag << 3 | 2];
            encode_varint(content.len() as u64, &mut around);
            around.append(&mut content);
            content = around;
        }
    }
    content
}
