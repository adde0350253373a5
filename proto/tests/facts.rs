//! Contracts taken apart into single facts, so that two of them can be compared.

use std::collections::BTreeMap;
use std::path::Path;

use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet, ServiceDescriptorProto,
};

/// What a contract says, by what it says it about: `tfplugin6.RawState #1` says `json: bytes`.
pub(super) type Facts = BTreeMap<String, String>;

/// Our contracts, as this crate publishes them.
pub(super) fn ours() -> FileDescriptorSet {
    FileDescriptorSet::decode(crate::DESCRIPTOR_SET).expect("the build script wrote it")
}

/// A contract from `testdata/`.
pub(super) fn testdata(name: &str) -> FileDescriptorSet {
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    protox::compile([format!("testdata/{name}")], [crate_directory]).expect("the contract is sound")
}

/// Everything that the contracts say in one package.
pub(super) fn of_package(contracts: &FileDescriptorSet, package: &str) -> Facts {
    let mut facts = Facts::new();
    for file in contracts.file.iter().filter(|file| file.package() == package) {
        for message in &file.message_type {
            add_message(&mut facts, package, message);
        }
        for enumeration in &file.enum_type {
            add_enum(&mut facts, package, enumeration);
        }
        for service in &file.service {
            add_service(&mut facts, package, service);
        }
    }
    facts
}

/// What is in the first and not just so in the second, for people to read.
pub(super) fn missing(wanted: &Facts, present: &Facts) -> Vec<String> {
    let differing = wanted.iter().filter(|(subject, fact)| present.get(*subject) != Some(*fact));
    differing
        .map(|(subject, fact)| match present.get(subject) {
            Some(other) => format!("{subject}: {fact}, but here {other}"),
            None => format!("{subject}: {fact}"),
        })
        .collect()
}

fn add_message(facts: &mut Facts, scope: &str, message: &DescriptorProto) {
    let name = format!("{scope}.{}", message.name());
    facts.insert(name.clone(), "message".to_owned());
    for field in &message.field {
        facts.insert(format!("{name} #{}", field.number()), field_fact(message, &name, field));
    }
    for nested in message.nested_type.iter().filter(|nested| !is_map_entry(nested)) {
        add_message(facts, &name, nested);
    }
    for enumeration in &message.enum_type {
        add_enum(facts, &name, enumeration);
    }
}

fn field_fact(message: &DescriptorProto, message_name: &str, field: &FieldDescriptorProto) -> String {
    let entry = message.nested_type.iter().find(|nested| {
        is_map_entry(nested) && field.type_name() == format!(".{message_name}.{}", nested.name())
    });
    let kind = match entry {
        Some(entry) => {
            let [key, value] = entry.field.as_slice() else {
                unreachable!("the entry of a map has a key and a value")
            };
            format!("map<{}, {}>", type_name(key), type_name(value))
        }
        None => match field.label() {
            Label::Repeated => format!("repeated {}", type_name(field)),
            Label::Required => format!("required {}", type_name(field)),
            Label::Optional if field.proto3_optional() => format!("optional {}", type_name(field)),
            Label::Optional => type_name(field),
        },
    };
    let choice = match field.oneof_index {
        Some(index) if !field.proto3_optional() => {
            format!(" in {}", message.oneof_decl[index as usize].name())
        }
        _ => String::new(),
    };
    format!("{}: {kind}{choice}", field.name())
}

fn type_name(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Message | Type::Enum | Type::Group => field.type_name().trim_start_matches('.').to_owned(),
        scalar => scalar.as_str_name().trim_start_matches("TYPE_").to_lowercase(),
    }
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

fn add_enum(facts: &mut Facts, scope: &str, enumeration: &EnumDescriptorProto) {
    let name = format!("{scope}.{}", enumeration.name());
    facts.insert(name.clone(), "enum".to_owned());
    for value in &enumeration.value {
        facts.insert(format!("{name} #{}", value.number()), value.name().to_owned());
    }
}

fn add_service(facts: &mut Facts, package: &str, service: &ServiceDescriptorProto) {
    let name = format!("{package}.{}", service.name());
    facts.insert(name.clone(), "service".to_owned());
    for method in &service.method {
        let stream = |streaming| if streaming { "stream " } else { "" };
        let fact = format!(
            "{}{} -> {}{}",
            stream(method.client_streaming()),
            method.input_type().trim_start_matches('.'),
            stream(method.server_streaming()),
            method.output_type().trim_start_matches('.'),
        );
        facts.insert(format!("{name}/{}", method.name()), fact);
    }
}
