//! Build script of the crate in `proto/`: turns the contracts into code.
//!
//! protox compiles them, so that no protoc has to be installed. The descriptors are kept as they are written
//! (`descriptors.bin`), for tests that hold the contracts against each other. The code is made from descriptors with one
//! change: the schemas in the answer to a provider's schema call stay encoded until somebody wants one of them. On the wire,
//! a message and bytes are the same; in memory, a large provider's thousands of schemas would be hundreds of
//! megabytes, of which a program uses a handful.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use prost::Message as _;
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};

/// The contracts, one directory a family. A package may be spread over several files.
const CONTRACTS: [&str; 20] = [
    "google/rpc/status.proto",
    "goplugin/broker.proto",
    "goplugin/controller.proto",
    "goplugin/stdio.proto",
    "grpc/health.proto",
    "isthmus/daemon.proto",
    "lumirpc/engine.proto",
    "lumirpc/provider.proto",
    "pulumirpc/alias.proto",
    "pulumirpc/codegen/loader.proto",
    "pulumirpc/codegen/mapper.proto",
    "pulumirpc/engine.proto",
    "pulumirpc/errors.proto",
    "pulumirpc/plugin.proto",
    "pulumirpc/provider.proto",
    "pulumirpc/resource_status.proto",
    "tfplugin5/tfplugin5.10.proto",
    "tfplugin6/tfplugin6.11.proto",
    "tfstackdata1/planfile.proto",
    "tfstackdata1/tfstackdata1.proto",
];

/// The maps whose values stay encoded, by the names of their entries' messages. Functions are not among them: they are
/// few and small, and are wanted all at once.
const LAZY_MAPS: [&str; 6] = [
    "ResourceSchemasEntry",
    "DataSourceSchemasEntry",
    "EphemeralResourceSchemasEntry",
    "ListResourceSchemasEntry",
    "StateStoreSchemasEntry",
    "ActionSchemasEntry",
];

fn main() -> Result<(), Box<dyn Error>> {
    let contracts = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let output = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=../build.rs");
    for contract in CONTRACTS {
        println!("cargo:rerun-if-changed={}", contracts.join(contract).display());
    }

    let mut descriptors = protox::compile(CONTRACTS, [&contracts])?;
    write_if_changed(&output.join("descriptors.bin"), &descriptors.encode_to_vec())?;

    let left_encoded = leave_schemas_encoded(&mut descriptors);
    if left_encoded != 2 * LAZY_MAPS.len() - 1 {
        return Err(format!(
            "{left_encoded} maps of schemas found, a different number expected: the contracts have changed"
        )
        .into());
    }
    tonic_prost_build::configure()
        .build_transport(false)
        .generate_default_stubs(true)
        .bytes(".")
        .extern_path(".google.protobuf.Struct", "crate::property::Struct")
        .extern_path(".google.protobuf.Value", "crate::property::Value")
        .extern_path(".google.protobuf.ListValue", "crate::property::ListValue")
        .compile_fds(descriptors)?;
    Ok(())
}

/// Makes bytes of the values of the schema maps in both protocols, and returns how many maps it found. Protocol 5 has no
/// state stores, hence one less than twice the list.
fn leave_schemas_encoded(descriptors: &mut FileDescriptorSet) -> usize {
    descriptors
        .file
        .iter_mut()
        .filter(|file| matches!(file.package(), "tfplugin5" | "tfplugin6"))
        .flat_map(|file| &mut file.message_type)
        .filter(|message| message.name() == "GetProviderSchema")
        .flat_map(|message| &mut message.nested_type)
        .filter(|message| message.name() == "Response")
        .flat_map(|response| &mut response.nested_type)
        .filter(|entry| LAZY_MAPS.contains(&entry.name()))
        .map(make_value_bytes)
        .count()
}

fn make_value_bytes(entry: &mut DescriptorProto) {
    for field in entry.field.iter_mut().filter(|field| field.name() == "value") {
        field.set_type(Type::Bytes);
        field.type_name = None;
    }
}

/// Keeps the file's time when there is nothing new, so that nothing is built again.
fn write_if_changed(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    fs::write(path, content)
}
