//! Entrances for the fuzzer (`fuzz/`), which decodes what is private to this crate.
//!
//! Each takes an input, and panics where a decoder breaks a promise.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use isthmus_cty::Type;
use isthmus_cty::json::Json;
use isthmus_proto::property::Struct;
use isthmus_provider::schema::Schema;
use isthmus_state::ObjectAddress;

use crate::cli::inspected;
use crate::migrate::deployment::read_export;
use crate::migrate::program::{Program, ProgramResource};
use crate::migrate::property_json::{bag_from_json, bag_to_json};
use crate::migrate::shown::{is_shown, state_of_shown};
use crate::package::shape::{PackageNaming, compile_resource, compile_type};
use crate::project::document::{FileKind, Named};
use crate::translate::inputs::{Unknowns, config_from_inputs, config_from_stored, value_from_property};
use crate::translate::outputs::{OutputOptions, outputs_from_state, property_from_value};
use crate::translate::property_path::PropertyPath;
use crate::translate::raw_state::{raw_state, raw_state_delta, recover};
use crate::urn::Urn;

/// Values may be unknown, and none is secret.
const OPTIONS: OutputOptions<'_> = OutputOptions { keep_secrets: false, secrets: &[], unknowns: true };

/// A URN: its parts are in it.
pub fn urn(text: &str) {
    let urn = Urn(text);
    assert!(urn.resource_type().is_none_or(|resource_type| text.contains(resource_type)));
    assert!(urn.stack().is_none_or(|stack| text.starts_with(stack)));
    assert!(text.ends_with(urn.name()));
}

/// A property path, and its use in a bag: a value is found where it was set, until it is deleted.
pub fn property_path(text: &str, bag: &Struct) {
    let Ok(path) = text.parse::<PropertyPath>() else { return };
    let shown = path.to_string();
    // Pulumi's syntax has no form for a name that has a backslash before a quotation mark or at its end.
    if !shown.contains('\\') {
        assert_eq!(shown.parse::<PropertyPath>().as_ref(), Ok(&path), "{shown}");
    }
    assert!(path.contains(&path), "{shown}");
    let mut changed = bag.clone();
    if path.set(&mut changed, true.into()) {
        assert_eq!(path.find(&changed), Some(&true.into()), "{shown}");
    }
    path.delete(&mut changed);
}

/// A property bag as a resource's inputs, then back, and the delta of its state.
pub fn translate(schema: Schema, bag: &Struct) {
    let naming = PackageNaming::new("test", "test");
    let shape = compile_resource("test_thing", "test:index/thing:Thing", Arc::new(schema), naming);
    let block = &shape.schema.block;
    let Ok(config) = config_from_inputs(bag, &shape.object, block, Unknowns::Keep) else { return };
    assert_eq!(config.value.conforms(&block.implied_type), Ok(()), "{:?}", config.value);
    let Ok(outputs) = outputs_from_state(&config.value, &shape, OPTIONS) else { return };
    let stored = config_from_stored(&outputs, &shape.object, block, Unknowns::Keep);
    let stored = stored.unwrap_or_else(|failures| panic!("{failures:?} in {outputs:?}"));
    let again = outputs_from_state(&stored.value, &shape, OPTIONS).expect("outputs of the same shape");
    assert_eq!(again, outputs, "of {:?} and {:?}", config.value, stored.value);
    if let Ok(Some(delta)) = raw_state_delta(&outputs, &config.value, &shape, true) {
        let raw = raw_state(&config.value, &shape).expect("it has a delta");
        assert_eq!(recover(&outputs, &delta).as_ref(), Ok(&raw), "{outputs:?} with {delta:?}");
    }
}

/// A property as a value of any type, such as a function's argument, then back.
pub fn translate_value(own: &Type, bag: &Struct) {
    let shape = compile_type(own);
    let Some(property) = bag.get("value") else { return };
    let Ok(config) = value_from_property(property, "value", &shape, Unknowns::Keep) else { return };
    // Elements of a collection of dynamic type may be of several types; encoding refuses them later.
    if let Err(error) = config.value.conforms(own) {
        return assert!(error.reason.contains("of one type"), "{error} in {:?}", config.value);
    }
    let Ok(written) = property_from_value(&config.value, &shape, OPTIONS) else { return };
    let read = value_from_property(&written, "value", &shape, Unknowns::Keep);
    let read = read.unwrap_or_else(|failures| panic!("{failures:?} in {written:?}"));
    let again = property_from_value(&read.value, &shape, OPTIONS).expect("a property of the same shape");
    assert_eq!(again, written, "of {:?} and {:?}", config.value, read.value);
}

/// A file with the records of a stack, as `isthmus state inspect` shows it.
pub fn inspect(bytes: &Bytes) {
    let [Some((_, hidden)), Some((_, open))] = [false, true].map(|secrets| inspected(bytes, secrets)) else {
        return;
    };
    for json in [hidden, open] {
        serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    }
}

/// A stack export, as `isthmus migrate` reads it. Its properties are written and read again, and a
/// program with them has no character that YAML parsers refuse.
pub fn stack_export(bytes: &[u8]) {
    let Ok(export) = read_export(bytes) else { return };
    for resource in export.resources {
        let Ok(properties) = resource.outputs else { continue };
        // A secret within a secret is part of its text.
        let written = bag_to_json(&properties, None);
        let again = bag_from_json(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
        assert_eq!(bag_to_json(&again, None), written);
        let resource = ProgramResource {
            key: "key".to_owned(),
            name: resource.urn,
            token: resource.token,
            inputs: properties,
            depends_on: Vec::new(),
            provider: None,
            retain_on_delete: false,
            ignore_changes: vec![resource.id],
            references: BTreeMap::new(),
        };
        let yaml = Program { resources: vec![resource], ..Program::default() }.write().yaml;
        let is_refused = |character: char| {
            (character.is_control() && character != '\n')
                || "\u{2028}\u{2029}\u{feff}\u{ffff}".contains(character)
        };
        assert!(!yaml.contains(is_refused), "{yaml:?}");
    }
}

/// What `tofu show -json` prints, as `isthmus migrate` reads it.
pub fn shown_state(bytes: &[u8]) {
    let Ok(document) = Json::parse(bytes) else { return };
    if !is_shown(&document) {
        return;
    }
    for instance in state_of_shown(&document).map(|state| state.instances).unwrap_or_default() {
        let address = instance.address.to_string();
        assert_eq!(address.parse::<ObjectAddress>().as_ref(), Ok(&instance.address), "{address}");
    }
}

/// The files of a Pulumi project that may name the plugin.
pub fn project(name: &str, text: &str) {
    if let Some(kind) = FileKind::of(name)
        && let Ok(named) = Named::parse(kind, name, text)
    {
        let _ = named.versions();
    }
}
