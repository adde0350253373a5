//! State that the Go bridge stored for real providers, read and written again.
//!
//! `testdata/go_bridge.json` has the properties that version 3.136 of the Go bridge returned from
//! Create for resources of the random provider and of the provider in `tests/provider`. Their
//! schemas are repeated here.

use isthmus_cty::Type;
use isthmus_cty::json::from_tree;
use isthmus_provider::schema::{Attribute, Block, BlockNesting, ObjectNesting, Schema};

use super::*;
use crate::outputs::{OutputOptions, id_from_state, outputs_from_state};
use crate::property::secret;
use crate::testing::{attribute, block, computed, nested, nested_attribute, properties, required, sensitive};
use isthmus_package::shape::{PackageNaming, compile_resource};

fn text(name: &str) -> Attribute {
    attribute(name, Type::String)
}

fn number(name: &str) -> Attribute {
    attribute(name, Type::Number)
}

fn shape(terraform_type: &str, version: i64, block: Block) -> ResourceShape {
    let package = terraform_type.split('_').next().unwrap();
    let naming = PackageNaming::new(package, package);
    compile_resource(terraform_type, "test:index/thing:Thing", Schema { version, block }.into(), naming)
}

fn pet() -> ResourceShape {
    let attributes = vec![
        computed(text("id")),
        attribute("keepers", Type::map(Type::String)),
        number("length"),
        text("prefix"),
        text("separator"),
    ];
    shape("random_pet", 0, block(attributes, vec![]))
}

fn legacy() -> ResourceShape {
    let network = block(vec![required(text("cidr")), computed(text("gateway"))], vec![]);
    let rule = block(vec![required(number("port")), text("protocol")], vec![]);
    let timeouts = block(vec![text("create"), text("delete"), text("update")], vec![]);
    let attributes = vec![
        Attribute { computed: true, ..text("id") },
        required(text("name")),
        text("title"),
        number("size"),
        attribute("enabled", Type::Bool),
        computed(text("etag")),
        attribute("tags", Type::map(Type::String)),
    ];
    let blocks = vec![
        nested("network", BlockNesting::List, 1, network),
        nested("rule", BlockNesting::Set, 0, rule),
        nested("timeouts", BlockNesting::Single, 0, timeouts),
    ];
    shape("conformance_legacy", 1, block(attributes, blocks))
}

fn record() -> ResourceShape {
    let limits = ["create", "delete", "read", "update"].map(text).to_vec();
    let settings = vec![text("mode"), attribute("verbose", Type::Bool), number("quota")];
    let attributes = vec![
        computed(text("id")),
        required(text("name")),
        text("title"),
        number("size"),
        attribute("tags", Type::map(Type::String)),
        attribute("labels", Type::set(Type::String)),
        sensitive(text("secret")),
        Attribute { write_only: true, ..sensitive(text("password_wo")) },
        number("password_wo_version"),
        computed(text("etag")),
        attribute("extra", Type::Dynamic),
        nested_attribute("timeouts", ObjectNesting::Single, limits),
    ];
    let blocks = vec![
        nested("rule", BlockNesting::List, 0, block(vec![number("port"), text("protocol")], vec![])),
        nested("grant", BlockNesting::Set, 0, block(vec![text("who"), text("level")], vec![])),
        nested("settings", BlockNesting::Single, 0, block(settings, vec![])),
    ];
    shape("conformance_record", 0, block(attributes, blocks))
}

fn nested_thing() -> ResourceShape {
    let owner = vec![text("email"), sensitive(text("key")), text("name"), number("number")];
    let partitions = nested_attribute("partitions", ObjectNesting::List, vec![text("path"), text("uuid")]);
    let disks = vec![text("label"), partitions, text("serial"), number("size")];
    let mounts = vec![text("mode"), text("path"), sensitive(text("ticket"))];
    let attributes = vec![
        computed(text("id")),
        required(text("name")),
        nested_attribute("owner", ObjectNesting::Single, owner),
        nested_attribute("disks", ObjectNesting::List, disks),
        nested_attribute("mounts", ObjectNesting::Set, mounts),
        nested_attribute("zones", ObjectNesting::Map, vec![text("address"), number("weight")]),
        nested_attribute("status", ObjectNesting::Single, vec![text("phase"), number("revision")]),
    ];
    shape("conformance_nested", 0, block(attributes, vec![]))
}

/// The Go bridge writes a dynamic null as a wrapper around null, Terraform core (and isthmus) as
/// null; and the delta of an absent value as a secret, where isthmus has an empty one. Both are
/// accepted.
fn as_of_isthmus(property: Property) -> Property {
    let Property::Struct(members) = property else { return property };
    let members: Struct = members.into_iter().map(|(name, member)| (name, as_of_isthmus(member))).collect();
    if members == dynamic_null() {
        return Property::Null;
    }
    let absent = secret(properties(r#"{"replace":{"raw":null}}"#));
    let members = Property::Struct(members);
    if members == absent { properties("{}") } else { members }
}

fn dynamic_null() -> Struct {
    Struct::from([("type", Property::from("dynamic")), ("value", Property::Null)])
}

#[test]
fn what_the_go_bridge_stored_is_read_and_written_again_alike() {
    let Property::Struct(recorded) = properties(include_str!("testdata/go_bridge.json")) else {
        panic!("the recording is an object");
    };
    for (name, shape, id) in [
        ("pet", pet(), "formally-heroic-griffon"),
        ("legacy", legacy(), "leg-1"),
        ("record", record(), "rec-1"),
        ("bare", record(), "bare-1"),
        ("nested", nested_thing(), "n-1"),
    ] {
        let stored = recorded.get(name).and_then(Property::as_struct).unwrap();
        let (raw, source) = stored_raw_state(stored, &shape).unwrap();
        assert!(matches!(source, RawStateSource::Delta), "{name}: {source:?}");

        let state = from_tree(&raw, &shape.schema.block.implied_type).unwrap();
        assert_eq!(id_from_state(&state, &shape).as_deref(), Some(id));
        let meta = Meta::from_properties(stored).unwrap();
        assert_eq!(meta.schema_version, shape.schema.version, "{name}");

        let options = OutputOptions { keep_secrets: true, secrets: &[], unknowns: false };
        let mut outputs = outputs_from_state(&state, &shape, options).unwrap();
        add_stored_properties(&mut outputs, &meta, &state, &shape, true).unwrap();
        for (key, property) in stored.iter() {
            let expected = as_of_isthmus(property.clone());
            assert_eq!(outputs.get(key), Some(&expected), "{name}: {key}");
        }
        assert_eq!(outputs.len(), stored.len(), "{name}: {outputs:?}");
    }
}

#[test]
fn without_the_delta_the_schema_says_the_same() {
    let Property::Struct(recorded) = properties(include_str!("testdata/go_bridge.json")) else {
        panic!("the recording is an object");
    };
    for (name, shape) in
        [("pet", pet()), ("legacy", legacy()), ("record", record()), ("nested", nested_thing())]
    {
        let stored = recorded.get(name).and_then(Property::as_struct).unwrap();
        let value = |raw: &Json| from_tree(raw, &shape.schema.block.implied_type).unwrap();
        let by_delta = value(&stored_raw_state(stored, &shape).unwrap().0);
        let by_schema = value(&raw_state_without_delta(stored, &shape).unwrap());
        assert_eq!(by_schema, by_delta, "{name}");
    }
}
