//! Entrances for the fuzzer (`fuzz/`), to what is private to this crate.
//!
//! Each takes an input, and panics where a decoder breaks a promise.

use std::sync::Arc;

use isthmus_cty::Type;
use isthmus_package::shape::{PackageNaming, compile_resource, compile_type};
use isthmus_proto::property::Struct;
use isthmus_provider::schema::Schema;

use crate::inputs::{Unknowns, config_from_inputs, config_from_stored, value_from_property};
use crate::outputs::{OutputOptions, outputs_from_state, property_from_value};
use crate::property_path::PropertyPath;
use crate::raw_state::{raw_state, raw_state_delta, recover};

/// Values may be unknown, and none is secret.
const OPTIONS: OutputOptions<'_> = OutputOptions { keep_secrets: false, secrets: &[], unknowns: true };

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
