//! What engines, users and projects send.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use bytes::Bytes;
use isthmus::fuzzing;
use isthmus_context::settings::{ALL, Settings};
use isthmus_cty::json::Json;
use isthmus_package::parameters::{Arguments, Parameter};
use isthmus_package::urn::Urn;
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::schema::compile;
use isthmus_translate::meta::Meta;
use isthmus_translate::property::{bag_without_secrets, classify, contains_secret, contains_unknown};
use isthmus_translate::raw_state::recover;
use prost::Message as _;

use crate::input::{self, Choices};

/// `google.protobuf.Struct`, compared with prost's own as far as that one goes.
pub(crate) fn property_bag(bytes: &[u8]) {
    let decoded = Struct::decode(bytes);
    match (&decoded, prost_types::Struct::decode(bytes)) {
        (Ok(bag), Ok(oracle)) => assert!(is_same_bag(bag, &oracle), "{bag:?} is not {oracle:?}"),
        // prost does not look at the wire type of a map's entries.
        (Err(error), Ok(oracle)) if !error.to_string().contains("wire type") => panic!("{error}: {oracle:?}"),
        _ => {}
    }
    let Ok(bag) = decoded else { return };
    let written = bag.encode_to_vec();
    assert_eq!(written.len(), bag.encoded_len());
    let again = Struct::decode(written.as_slice()).expect("what was written");
    assert_eq!(again.encode_to_vec(), written);
    for value in bag.values() {
        let _ = (classify(value), contains_unknown(value), contains_secret(value));
    }
    if let Ok(plain) = bag_without_secrets(&bag) {
        for value in plain.values() {
            assert_ne!(contains_secret(value), Ok(true), "{value:?}");
        }
    }
    let _ = Meta::from_properties(&bag);
}

fn is_same_bag(bag: &Struct, oracle: &prost_types::Struct) -> bool {
    bag.len() == oracle.fields.len()
        && bag.iter().all(|(name, value)| oracle.fields.get(name).is_some_and(|other| is_same(value, other)))
}

fn is_same(value: &Property, oracle: &prost_types::Value) -> bool {
    use prost_types::value::Kind;
    match (value, &oracle.kind) {
        (Property::Null, None | Some(Kind::NullValue(_))) => true,
        (Property::Bool(one), Some(Kind::BoolValue(other))) => one == other,
        (Property::Number(one), Some(Kind::NumberValue(other))) => one.to_bits() == other.to_bits(),
        (Property::String(one), Some(Kind::StringValue(other))) => one == other,
        (Property::Struct(one), Some(Kind::StructValue(other))) => is_same_bag(one, other),
        (Property::List(one), Some(Kind::ListValue(other))) => {
            one.len() == other.values.len()
                && one.iter().zip(&other.values).all(|(one, other)| is_same(one, other))
        }
        _ => false,
    }
}

/// A schema of choices in the first line, and a property bag as JSON.
pub(crate) fn translate(bytes: &[u8]) {
    let (line, json) = input::line(bytes);
    let Some(bag) = input::bag(json) else { return };
    let block = Choices(line).block(2);
    let schema = isthmus_proto::tfplugin6::Schema { version: 0, block: Some(block) };
    if let Ok(schema) = compile(&schema) {
        isthmus_translate::fuzzing::translate(schema, &bag);
    }
}

/// A type in the first line, and a property bag as JSON, whose property `value` is translated.
pub(crate) fn translate_value(bytes: &[u8]) {
    let (own, json) = input::typed(bytes);
    if let Some(bag) = input::bag(json) {
        isthmus_translate::fuzzing::translate_value(&own, &bag);
    }
}

/// A bag with a property `delta` and an object `properties`, as JSON.
pub(crate) fn raw_state_delta(bytes: &[u8]) {
    let Some(bag) = input::bag(bytes) else { return };
    let (Some(Property::Struct(properties)), Some(delta)) = (bag.get("properties"), bag.get("delta")) else {
        return;
    };
    if let Ok(json) = recover(properties, delta) {
        let text = json.to_string();
        assert_eq!(Json::parse(text.as_bytes()).as_ref(), Ok(&json), "{text}");
    }
}

/// The parameter in an SDK. Go compares the bytes, so there is one form.
pub(crate) fn parameter(bytes: &[u8]) {
    let Ok(parameter) = Parameter::decode(bytes) else { return };
    let written = parameter.encode();
    let again = Parameter::decode(&written).unwrap_or_else(|error| panic!("{error}: {parameter:?}"));
    assert_eq!(again, parameter);
    let _ = parameter.arguments().source.name();
    let words = String::from_utf8_lossy(bytes);
    let words: Vec<String> = words.split('\n').map(str::to_owned).collect();
    let _ = Arguments::parse(&words);
}

/// All settings: a line each, `NAME=VALUE`, or only a value, which every variable gets then.
pub(crate) fn settings(bytes: &[u8]) {
    let mut environment = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n' || *byte == 0) {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        match line.iter().position(|byte| *byte == b'=') {
            Some(end) => drop(environment.insert(text(&line[..end]), text(&line[end + 1..]))),
            None => environment.extend(ALL.iter().map(|setting| (setting.name.into(), text(line)))),
        }
    }
    let read = || Settings::parse(environment.clone());
    match (read(), read()) {
        (Ok(one), Ok(other)) => assert_eq!(one.warnings, other.warnings),
        (one, other) => assert_eq!(one.err(), other.err()),
    }
}

/// A property path in the first line, and a property bag as JSON.
pub(crate) fn property_path(bytes: &[u8]) {
    let (line, json) = input::line(bytes);
    if let Ok(text) = std::str::from_utf8(line) {
        isthmus_translate::fuzzing::property_path(text, &input::bag(json).unwrap_or_default());
    }
}

pub(crate) fn urn(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let urn = Urn(text);
        assert!(urn.resource_type().is_none_or(|resource_type| text.contains(resource_type)));
        assert!(urn.stack().is_none_or(|stack| text.starts_with(stack)));
        assert!(text.ends_with(urn.name()));
    }
}

pub(crate) fn inspect(bytes: &[u8]) {
    fuzzing::inspect(&Bytes::copy_from_slice(bytes));
}

/// A file's name in the first line, and the file.
pub(crate) fn project(bytes: &[u8]) {
    let (line, rest) = input::line(bytes);
    if let (Ok(name), Ok(text)) = (std::str::from_utf8(line), std::str::from_utf8(rest)) {
        isthmus_context::fuzzing::project(name, text);
    }
}

/// A stack export.
pub(crate) fn stack_export(bytes: &[u8]) {
    isthmus_migrate::fuzzing::stack_export(bytes);
}

/// The output of `tofu show -json`.
pub(crate) fn shown_state(bytes: &[u8]) {
    isthmus_migrate::fuzzing::shown_state(bytes);
}
