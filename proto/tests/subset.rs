//! The contracts that the project was created from are part of ours, fact by fact.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

use super::facts::{Facts, missing, of_package, ours, testdata};

#[test]
fn the_provider_protocol_of_minor_3_is_part_of_minor_11() {
    let seed = of_package(&testdata("tfplugin6.3.proto"), "tfplugin6");
    // Minor 5 moved this message to the top level. Its name is not on the wire.
    let moved = |text: &str| text.replace("GetProviderSchema.ServerCapabilities", "ServerCapabilities");
    let seed: Facts = seed.iter().map(|(subject, fact)| (moved(subject), moved(fact))).collect();

    assert_eq!(missing(&seed, &of_package(&ours(), "tfplugin6")), Vec::<String>::new());
    assert_eq!(seed.len(), 184, "messages, fields, enums, values, services and methods in the contract");
}

#[test]
fn the_records_of_stacks_are_complete() {
    let seed = of_package(&testdata("tfstackdata1.proto"), "tfstackdata1");

    assert_eq!(missing(&seed, &of_package(&ours(), "tfstackdata1")), Vec::<String>::new());
    assert_eq!(seed.len(), 67, "messages, fields, enums and values in the contract");
}

#[test]
fn the_resource_provider_of_the_legacy_engine_is_complete() {
    let seed = of_package(&testdata("lumirpc.proto"), "lumirpc");

    assert_eq!(missing(&seed, &of_package(&ours(), "lumirpc")), Vec::<String>::new());
    assert_eq!(seed.len(), 51, "messages, fields, services and methods in the contract");
}

/// The comparison above proves something only if it sees each kind of difference.
#[test]
fn every_kind_of_difference_is_seen() {
    type Change = fn(&mut FileDescriptorProto);
    let changes: [(Change, &str); 12] = [
        (
            |file| field(message(file, "RawState"), "json").number = Some(9),
            "tfplugin6.RawState #9: json: bytes",
        ),
        (
            |file| field(message(file, "RawState"), "json").name = Some("text".to_owned()),
            "tfplugin6.RawState #1: text: bytes, but here json: bytes",
        ),
        (
            |file| field(message(file, "RawState"), "json").set_type(Type::String),
            "tfplugin6.RawState #1: json: string, but here json: bytes",
        ),
        (
            |file| field(message(file, "RawState"), "json").set_label(Label::Repeated),
            "tfplugin6.RawState #1: json: repeated bytes, but here json: bytes",
        ),
        (
            |file| field(&mut message(file, "RawState").nested_type[0], "value").set_type(Type::Bytes),
            "tfplugin6.RawState #2: flatmap: map<string, bytes>, but here flatmap: map<string, string>",
        ),
        (
            |file| field(message(file, "Schema"), "block").type_name = Some(".tfplugin6.RawState".to_owned()),
            "tfplugin6.Schema #2: block: tfplugin6.RawState, but here block: tfplugin6.Schema.Block",
        ),
        (
            |file| {
                let step = &mut message(file, "AttributePath").nested_type[0];
                field(step, "element_key_int").oneof_index = None;
            },
            "tfplugin6.AttributePath.Step #3: element_key_int: int64, but here element_key_int: int64 in selector",
        ),
        (|file| message(file, "RawState").name = Some("Raw".to_owned()), "tfplugin6.Raw: message"),
        (
            |file| file.enum_type[0].value[1].name = Some("RICH".to_owned()),
            "tfplugin6.StringKind #1: RICH, but here MARKDOWN",
        ),
        (|file| file.enum_type[0].value[1].number = Some(7), "tfplugin6.StringKind #7: MARKDOWN"),
        (
            |file| file.service[0].method[0].name = Some("Schema".to_owned()),
            "tfplugin6.Provider/Schema: tfplugin6.GetProviderSchema.Request -> tfplugin6.GetProviderSchema.Response",
        ),
        (
            |file| file.service[0].method[0].server_streaming = Some(true),
            "tfplugin6.Provider/GetProviderSchema: tfplugin6.GetProviderSchema.Request -> stream \
             tfplugin6.GetProviderSchema.Response, but here tfplugin6.GetProviderSchema.Request -> \
             tfplugin6.GetProviderSchema.Response",
        ),
    ];
    let original = testdata("tfplugin6.3.proto");
    let present = of_package(&original, "tfplugin6");
    for (change, expected) in changes {
        let mut changed = original.clone();
        change(file(&mut changed));
        let seen = missing(&of_package(&changed, "tfplugin6"), &present);
        assert!(seen.iter().any(|difference| difference == expected), "{expected:?} is not among {seen:#?}");
    }
}

fn file(contracts: &mut FileDescriptorSet) -> &mut FileDescriptorProto {
    contracts.file.iter_mut().find(|file| file.package() == "tfplugin6").unwrap()
}

fn message<'a>(file: &'a mut FileDescriptorProto, name: &str) -> &'a mut DescriptorProto {
    file.message_type.iter_mut().find(|message| message.name() == name).unwrap()
}

fn field<'a>(message: &'a mut DescriptorProto, name: &str) -> &'a mut prost_types::FieldDescriptorProto {
    message.field.iter_mut().find(|field| field.name() == name).unwrap()
}
