//! Entrances for the fuzzer (`fuzz/`), to what is private to this crate.
//!
//! Each takes an input, and panics where a decoder breaks a promise.

use std::collections::BTreeMap;

use isthmus_cty::json::Json;
use isthmus_state::ObjectAddress;

use crate::deployment::read_export;
use crate::program::{Program, ProgramResource};
use crate::property_json::{bag_from_json, bag_to_json};
use crate::shown::{is_shown, state_of_shown};

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
