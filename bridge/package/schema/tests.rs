//! Package schemas of small catalogues, whole.

use std::collections::BTreeSet;

use isthmus_proto::tfplugin6;
use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Blocks;
use isthmus_proto::tfplugin6::schema::object::NestingMode as Objects;
use isthmus_proto::tfplugin6::schema::{Attribute, NestedBlock};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::parameters::Parameter;
use super::super::testing::{
    attribute, block, body, computed, function, listable, local, nested_attribute, package, package_of,
    package_with, parameter, required, schema,
};
use super::*;
use crate::names::casing::is_name;

fn pretty(json: &str) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<Value>(json).unwrap()).unwrap()
}

fn described(text: &str, attribute: Attribute) -> Attribute {
    Attribute { description: text.to_owned(), ..attribute }
}

fn parsed(package: &Package) -> Value {
    serde_json::from_str(&package_schema(package, "1.4.0").to_json()).unwrap()
}

/// A resource with every schema feature.
fn everything() -> tfplugin6::Schema {
    let rule = body(
        vec![
            required("to_port", "\"number\""),
            Attribute { computed: true, ..attribute("cidr", "\"string\"") },
        ],
        vec![],
    );
    schema(
        vec![
            Attribute { computed: true, ..attribute("id", "\"string\"") },
            required("name", "\"string\""),
            attribute("pulumi", "\"bool\""),
            described("Text with `password_wo` and `snake_case`.", attribute("urn", "\"string\"")),
            attribute("tag", "[\"map\",\"string\"]"),
            attribute("any_thing", "\"dynamic\""),
            attribute("dns_name", "[\"set\",\"string\"]"),
            computed("outcome", "[\"object\",{\"status\":[\"list\",\"string\"]}]"),
            Attribute { sensitive: true, ..attribute("password", "\"string\"") },
            Attribute { write_only: true, ..described("Once.", attribute("password_wo", "\"string\"")) },
            nested_attribute("host", Objects::Map, vec![described("Where.", required("ip", "\"string\""))]),
            nested_attribute("pair", Objects::List, vec![attribute("left", "[\"tuple\",[\"string\"]]")]),
        ],
        vec![
            block("rule", Blocks::Set, (1, 0), rule),
            block("policy", Blocks::List, (0, 1), body(vec![attribute("kind_", "\"string\"")], vec![])),
            block("timeouts", Blocks::Single, (0, 1), body(vec![attribute("create", "\"string\"")], vec![])),
        ],
    )
}

#[test]
fn a_package_holds_all_that_the_provider_offers() {
    let proxy = body(
        vec![
            required("url", "\"string\""),
            Attribute { sensitive: true, ..attribute("password", "\"string\"") },
        ],
        vec![],
    );
    let config =
        schema(vec![required("endpoint", "\"string\"")], vec![block("proxy", Blocks::List, (0, 0), proxy)]);
    let object = "[\"object\",{\"first_part\":\"string\",\"rest\":[\"list\",[\"object\",{\"x\":\"number\"}]]},[\"rest\"]]";
    let mut parse = function(vec![parameter("full_name", "\"string\"")], object);
    parse.summary = "Splits a name.".to_owned();
    parse.description = "It has parts.".to_owned();
    let mut join = function(vec![parameter("separator", "\"string\"")], "\"string\"");
    join.variadic_parameter = Some(parameter("part", "\"string\""));
    let package = package_with(
        config,
        vec![("test_everything", everything())],
        vec![("test_everything", everything())],
        vec![("parse_name", parse), ("join", join)],
    );
    let schema = package_schema(&package, "1.4.0");
    assert!(schema.left_out.is_empty(), "{:?}", schema.left_out);
    insta::assert_snapshot!(pretty(&schema.to_json()));
}

#[test]
fn what_can_be_listed_says_by_what() {
    let filter =
        body(vec![required("name", "\"string\""), attribute("values", "[\"list\",\"string\"]")], vec![]);
    let own = body(vec![attribute("to", "\"string\"")], vec![]);
    let resource =
        schema(vec![computed("id", "\"string\"")], vec![block("filter", Blocks::List, (0, 0), own)]);
    let list = schema(
        vec![
            required("parent_id", "\"string\""),
            attribute("id", "\"string\""),
            computed("found", "\"number\""),
        ],
        vec![block("filter", Blocks::List, (0, 0), filter)],
    );
    let schema = parsed(&listable(&resource, &list));
    let thing = &schema["resources"]["test:index/thing:Thing"];
    let expected = json!({
        "type": "object",
        "properties": {
            "filters": {"type": "array", "items": {"$ref": "#/types/test:index/ThingListFilter:ThingListFilter"}},
            "id": {"type": "string"},
            "parentId": {"type": "string"},
        },
        "required": ["parentId"],
    });
    assert_eq!(thing["listInputs"], expected);
    let own = &thing["properties"]["filters"]["items"]["$ref"];
    assert_eq!(own, "#/types/test:index/ThingFilter:ThingFilter", "a resource's own types keep their names");
    let filter = &schema["types"]["test:index/ThingListFilter:ThingListFilter"];
    assert_eq!(filter["required"], json!(["name"]));
}

#[test]
fn a_faulty_list_costs_the_resource_its_list_and_nothing_else() {
    let resource = schema(vec![computed("id", "\"string\"")], vec![]);
    let package = listable(&resource, &schema(vec![attribute("x", "\"nonsense\"")], vec![]));
    let described = package_schema(&package, "1.4.0");
    let [fault] = &*described.left_out else { panic!("{:?}", described.left_out) };
    assert!(fault.to_string().contains("schema of list resource test_thing cannot be used"), "{fault}");
    let schema: Value = serde_json::from_str(&described.to_json()).unwrap();
    let thing = &schema["resources"]["test:index/thing:Thing"];
    assert!(thing.is_object() && thing.get("listInputs").is_none(), "{thing}");
}

#[test]
fn a_plugin_without_a_provider_describes_itself() {
    insta::assert_snapshot!(pretty(&base_schema("1.4.0")));
}

#[test]
fn a_provider_of_a_registry_is_attributed_to_its_namespace() {
    let source = ParameterSource::Remote {
        url: "registry.opentofu.org/hashicorp/random".to_owned(),
        version: "3.3.0".to_owned(),
    };
    let schema = parsed(&package_of(Parameter { source, ..local("") }));
    assert_eq!(schema["version"], "3.3.0");
    assert_eq!(schema["publisher"], "hashicorp");
    assert_eq!(schema["repository"], "https://github.com/hashicorp/terraform-provider-random");
    assert_eq!(
        schema["language"]["go"]["importBasePath"],
        "github.com/pulumi/pulumi-terraform-provider/sdks/go/random/v3/random"
    );
    assert_eq!(schema["parameterization"]["baseProvider"]["version"], "1.4.0");
}

#[test]
fn a_faulty_resource_is_left_out_and_told() {
    let schema = package_schema(&package(), "1.4.0");
    assert_eq!(schema.left_out.len(), 1);
    assert!(schema.left_out[0].to_string().contains("test_broken"), "{}", schema.left_out[0]);
    assert!(schema.to_json().contains("test:index/pet:Pet") && !schema.to_json().contains("Broken"));
}

#[test]
fn of_objects_of_one_name_the_last_one_has_it_as_in_the_go_bridge() {
    let items = |name: &str, inner: &str, most| -> NestedBlock {
        block(name, Blocks::List, (0, most), body(vec![attribute(inner, "\"string\"")], vec![]))
    };
    let object = |inner: &str| format!("[\"list\",[\"object\",{{\"{inner}\":\"string\"}}]]");
    let x = schema(vec![], vec![items("rule", "first", 1), items("rules", "last", 0)]);
    // As in hosts of Proxmox: a block that can be set, and a list that is computed, in both orders.
    let hosts = schema(vec![computed("entries", &object("first"))], vec![items("entry", "last", 0)]);
    let zones = schema(vec![attribute("zone", &object("first"))], vec![items("zones", "last", 0)]);
    let deep = schema(
        vec![],
        vec![
            block("a", Blocks::List, (0, 1), body(vec![], vec![items("b", "first", 1)])),
            items("a_b", "last", 1),
        ],
    );
    let outer = schema(vec![], vec![items("inner_part", "first", 0)]);
    let outer_inner = schema(vec![], vec![items("part", "last", 0)]);
    let resources = vec![
        ("test_x", x),
        ("test_hosts", hosts.clone()),
        ("test_zones", zones),
        ("test_deep", deep),
        ("test_outer", outer),
        ("test_outer_inner", outer_inner),
        ("test_y", everything()),
    ];
    let package = package_with(schema(vec![], vec![]), resources, vec![("test_hosts", hosts)], vec![]);
    let schema = parsed(&package);
    for name in ["XRule", "HostsEntry", "ZonesZone", "DeepAB", "OuterInnerPart", "getHostsEntry"] {
        for (name, property) in [(name.to_owned(), "last"), (format!("{name}2"), "first")] {
            let properties = &schema["types"][format!("test:index/{name}:{name}")]["properties"];
            assert!(properties[property].is_object(), "{name}: {properties}");
        }
    }
    let properties = &schema["resources"]["test:index/hosts:Hosts"]["properties"];
    assert_eq!(properties["entry"]["items"]["$ref"], "#/types/test:index/HostsEntry:HostsEntry");
    assert_eq!(properties["entries"]["items"]["$ref"], "#/types/test:index/HostsEntry2:HostsEntry2");
}

#[test]
fn the_same_object_at_two_places_of_one_name_is_one_type() {
    let inner = || body(vec![attribute("a", "\"string\"")], vec![]);
    let blocks =
        vec![block("rule", Blocks::List, (0, 1), inner()), block("rules", Blocks::List, (0, 0), inner())];
    let one = schema(vec![], blocks);
    let schema = parsed(&package_with(schema(vec![], vec![]), vec![("test_x", one)], vec![], vec![]));
    assert_eq!(schema["types"].as_object().unwrap().len(), 1);
}

#[test]
fn every_reference_leads_to_a_type() {
    let package =
        package_with(everything(), vec![("test_x", everything())], vec![("test_x", everything())], vec![]);
    let schema = parsed(&package);
    let mut references = BTreeSet::new();
    collect_references(&schema, &mut references);
    assert!(references.len() > 10, "{references:?}");
    for reference in references {
        let token = reference.strip_prefix("#/types/").unwrap();
        assert!(schema["types"][token].is_object(), "{reference} leads nowhere");
    }
}

fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str() {
                    Some(reference) if key == "$ref" && reference.starts_with("#/types/") => {
                        found.insert(reference.to_owned());
                    }
                    _ => collect_references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn what_no_sdk_can_call_so_is_an_overlay_by_its_own_name() {
    let text = |name| attribute(name, "\"string\"");
    let package = package_with(
        schema(vec![], vec![]),
        vec![("test_object", schema(vec![text("yield")], vec![]))],
        vec![("test_bond", schema(vec![text("opts")], vec![]))],
        vec![
            ("import", function(vec![parameter("default", "\"string\"")], "\"string\"")),
            (
                "give",
                function(vec![parameter("v", "[\"list\",[\"object\",{\"x\":\"string\"}]]")], "\"string\""),
            ),
            ("now", function(vec![], "\"string\"")),
        ],
    );
    let schema = package_schema(&package, "1.4.0");
    let document: Value = serde_json::from_str(&schema.to_json()).unwrap();
    let (resources, functions) = (&document["resources"], &document["functions"]);
    let renamed = &resources["test:index/objectResource:ObjectResource"];
    let own = &resources["test:index/object:Object"];
    assert_eq!((&renamed["isOverlay"], &own["isOverlay"]), (&Value::Null, &json!(true)));
    assert_eq!(renamed["aliases"], json!([{ "type": "test:index/object:Object" }]));
    assert_eq!(own["aliases"], json!([{ "type": "test:index/objectResource:ObjectResource" }]));
    assert_eq!(renamed["inputProperties"], own["inputProperties"]);
    let renamed = &functions["test:index/importFunction:importFunction"];
    assert_eq!(functions["test:index/import:import"]["isOverlay"], true);
    assert_eq!(renamed["multiArgumentInputs"], json!(["defaultValue"]));
    assert!(renamed["inputs"]["properties"]["defaultValue"].is_object());
    assert_eq!(functions["test:index/now:now"]["inputs"], json!({ "type": "object" }));
    // TypeScript has objects as arguments only if they are results, too.
    let objects = &functions["test:index/objectsInArguments:objectsInArguments"];
    assert_eq!(objects["isOverlay"], true);
    assert_eq!(objects["outputs"]["properties"]["giveV"]["items"]["$ref"], "#/types/test:index/giveV:giveV");
    let warnings: Vec<_> = schema.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 3, "{warnings:#?}");
    assert!(warnings[0].contains("the property `yield` of resource test_object"), "{warnings:#?}");
    assert!(warnings[1].starts_with("no Python SDK of this package compiles: "), "{warnings:#?}");
    assert!(warnings[2].ends_with("`--exclude give`"), "{warnings:#?}");
}

#[test]
fn properties_that_csharp_cannot_call_so_have_other_names_there() {
    let text = |name| attribute(name, "\"string\"");
    let inner = || nested_attribute("own", Objects::Single, vec![text("policy_own"), text("empty")]);
    let schema = parsed(&package_with(
        schema(vec![], vec![]),
        vec![(
            "test_policy",
            schema(vec![text("policy"), text("policy_state"), text("name"), inner()], vec![]),
        )],
        vec![("test_policy", schema(vec![computed("empty", "\"string\""), text("policy")], vec![]))],
        vec![],
    ));
    let resource = &schema["resources"]["test:index/policy:Policy"];
    for kind in ["properties", "inputProperties"] {
        assert_eq!(resource[kind]["policy"]["language"], json!({ "csharp": { "name": "PolicyValue" } }));
        assert_eq!(resource[kind]["policyState"]["language"]["csharp"]["name"], "PolicyStateValue");
        assert!(resource[kind]["name"]["language"].is_null());
    }
    let own = &schema["types"]["test:index/PolicyOwn:PolicyOwn"]["properties"];
    assert_eq!(own["policyOwn"]["language"]["csharp"]["name"], "PolicyOwnValue");
    assert_eq!(own["empty"]["language"]["csharp"]["name"], "EmptyValue");
    let result = &schema["functions"]["test:index/getPolicy:getPolicy"]["outputs"]["properties"];
    assert!(result["empty"]["language"].is_null() && result["policy"]["language"].is_null(), "{result:#}");
}

#[test]
fn properties_that_the_code_of_csharp_classes_uses_have_other_names_there() {
    let text = |name| attribute(name, "\"string\"");
    let secret = || Attribute { sensitive: true, ..text("password") };
    let used = || vec![text("get"), text("utilities"), text("output")];
    let inner = |secret| nested_attribute("own", Objects::Single, vec![text("output"), secret]);
    let with_secret = || vec![computed("output", "\"string\""), secret()];
    let schema = parsed(&package_with(
        schema(used(), vec![]),
        vec![
            ("test_open", schema([used(), vec![inner(secret())]].concat(), vec![])),
            ("test_closed", schema([with_secret(), vec![inner(text("text"))]].concat(), vec![])),
        ],
        vec![("test_closed", schema(with_secret(), vec![]))],
        vec![],
    ));
    let name = |owner: &Value, property: &str| owner[property]["language"]["csharp"]["name"].clone();
    let names = |owner: &Value| ["get", "utilities", "output"].map(|property| name(owner, property));
    let resource = |token: &str| schema["resources"][token]["inputProperties"].clone();
    let (get, utilities, output) = (json!("GetValue"), json!("UtilitiesValue"), json!("OutputValue"));
    let null = Value::Null;
    assert_eq!(names(&resource("test:index/open:Open")), [get, utilities.clone(), null.clone()]);
    assert_eq!(names(&schema["provider"]["inputProperties"]), [null.clone(), utilities, null.clone()]);
    let closed = &schema["resources"]["test:index/closed:Closed"];
    assert_eq!(name(&closed["properties"], "output"), output);
    assert_eq!(name(&closed["stateInputs"]["properties"], "output"), output);
    let own = |token: &str| name(&schema["types"][token]["properties"], "output");
    assert_eq!(
        [own("test:index/OpenOwn:OpenOwn"), own("test:index/ClosedOwn:ClosedOwn")],
        [output, null.clone()]
    );
    let result = &schema["functions"]["test:index/getClosed:getClosed"]["outputs"]["properties"];
    assert_eq!(name(result, "output"), null);
}

#[test]
fn no_package_has_names_that_the_engine_refuses() {
    let names =
        ["a_b", "a__b", "aB", "a b", "pulumi", "pulumi_info", "urn", "version", "provider", "x-y", "__meta"];
    let text = |name: &&str| attribute(name, "\"string\"");
    let rule = || body(names.iter().map(text).collect(), vec![]);
    let all = || schema(names.iter().map(text).collect(), vec![block("rule", Blocks::List, (0, 1), rule())]);
    let object = r#"["object",{"pulumi":"string","a_b":"string","aB":["object",{"pulumi":"string"}]}]"#;
    let functions = ["get_thing", "pulumi", "provider"].map(|name| {
        let parameters = vec![parameter("pulumi", "\"string\""), parameter("pulumi_info", object)];
        (name, function(parameters, object))
    });
    let resources = ["test_get_thing", "test_provider", "other_x", "test_ab", "test_a_b"];
    let package = package_with(
        all(),
        resources.map(|name| (name, all())).into(),
        vec![("test_thing", all()), ("other_x", all()), ("test_Thing", all())],
        functions.into(),
    );
    let schema = parsed(&package);
    let keys = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let tokens = [keys(&schema["resources"]), keys(&schema["functions"])].concat();
    assert_eq!(
        tokens.len(),
        13,
        "everything is there, the provider's own method and the objects in arguments: {tokens:?}"
    );
    let folded: BTreeSet<_> = tokens.iter().map(|token| token.to_lowercase()).collect();
    assert_eq!(folded.len(), tokens.len(), "they differ in more than case: {tokens:?}");
    for token in tokens.iter().filter(|token| !token.starts_with("pulumi:")) {
        let member = token.strip_prefix("test:index/").and_then(|token| token.split_once(':'));
        let (_, member) = member.unwrap_or_else(|| panic!("{token} has not three parts"));
        assert!(member.chars().all(char::is_alphanumeric), "{token}");
        assert!(!["pulumi", "provider", "Provider"].contains(&member), "{token}");
    }
    assert!(!keys(&schema["provider"]["inputProperties"]).contains(&"version".to_owned()));
    assert!(!keys(&schema["config"]["variables"]).contains(&"version".to_owned()));
    no_property_is_refused(&schema, "");
}

/// Names that would be code where a generator writes names as they are.
const HOSTILE: [&str; 9] = [
    "[require(`fs`).writeFileSync(`owned`,``)]",
    "a\"]=run();//",
    "a'+run()+'",
    "a*/run();/*",
    "a\"\"\"+run()+\"\"\"",
    "${run()}",
    "\\u0022;run()",
    "a:run()",
    "a,b=run()",
];

/// A package with `names` in every position of a schema.
fn package_of_names(names: &[&str]) -> Package {
    let object = format!(
        "[\"object\",{{{}}}]",
        names.iter().map(|name| format!("{}:\"string\"", json!(name))).collect::<Vec<_>>().join(",")
    );
    let texts = || names.iter().map(|name| attribute(name, "\"string\"")).collect::<Vec<_>>();
    let all = || {
        let mut attributes: Vec<_> = names.iter().map(|name| required(name, "\"string\"")).collect();
        attributes.push(required("usual", "\"string\""));
        attributes.push(attribute("plain", &format!("[\"list\",{object}]")));
        attributes.push(nested_attribute("nested", Objects::Map, texts()));
        attributes.extend(names.iter().map(|name| Attribute {
            name: format!("{name}{name}"),
            ..nested_attribute("", Objects::Single, vec![required("usual", "\"string\"")])
        }));
        // Names of blocks are refused with their members.
        schema(attributes, vec![block("usual_block", Blocks::List, (0, 0), body(texts(), vec![]))])
    };
    let members = names.iter().copied().chain(["test_usual"]).map(|name| (name, all())).collect::<Vec<_>>();
    let mut functions: Vec<_> = names
        .iter()
        .map(|name| (*name, function(vec![parameter("usual", "\"string\"")], "\"string\"")))
        .collect();
    functions.push(("works", function(vec![parameter("usual", "\"string\"")], "\"string\"")));
    functions.push(("named", function(texts_of(names), "\"string\"")));
    functions.push(("taking", function(vec![parameter("usual", &object)], "\"string\"")));
    functions.push(("giving", function(vec![], &object)));
    package_with(all(), members.clone(), members, functions)
}

fn texts_of(names: &[&str]) -> Vec<tfplugin6::function::Parameter> {
    names.iter().map(|name| parameter(name, "\"string\"")).collect()
}

/// The names that generated code takes from a schema.
fn names_in_code(schema: &Value) -> BTreeSet<String> {
    fn search(value: &Value, key: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                let are_names =
                    ["properties", "inputProperties", "variables", "resources", "functions", "types"]
                        .contains(&key);
                for (name, member) in members {
                    if are_names {
                        found.extend(name.rsplit([':', '/']).take(2).map(str::to_owned));
                    }
                    search(member, if are_names { "" } else { name }, found);
                }
            }
            Value::Array(items) => {
                let are_names =
                    ["required", "requiredInputs", "requiredOutputs", "multiArgumentInputs", "defaults"]
                        .contains(&key);
                for item in items {
                    match item.as_str() {
                        Some(name) if are_names => _ = found.insert(name.to_owned()),
                        _ => search(item, "", found),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = BTreeSet::new();
    search(schema, "", &mut found);
    found
}

#[test]
fn what_is_no_name_is_in_no_package_and_told_once() {
    let schema = package_schema(&package_of_names(&HOSTILE), "1.4.0");
    let document: Value = serde_json::from_str(&schema.to_json()).unwrap();
    for name in names_in_code(&document) {
        assert!(is_name(&name), "{name}");
    }
    let usual = &document["resources"]["test:index/usual:Usual"];
    assert_eq!(usual["requiredInputs"], json!(["usual"]));
    for property in ["usual", "plains", "nested", "usualBlocks"] {
        assert!(usual["inputProperties"][property].is_object(), "{property}");
    }
    let functions: Vec<_> = document["functions"].as_object().unwrap().keys().collect();
    assert_eq!(
        functions,
        ["pulumi:providers:test/terraformConfig", "test:index/getUsual:getUsual", "test:index/works:works"]
    );
    let warnings: Vec<_> = schema.left_out.iter().map(ToString::to_string).collect();
    // The configuration, a resource and a data source in part, three functions, and each member with such a name.
    assert_eq!(warnings.len(), 3 + 3 + 3 * HOSTILE.len(), "{warnings:#?}");
    let told = |text: &str| warnings.iter().filter(|warning| warning.contains(text)).count();
    assert_eq!(told("of resource test_usual are not in this package: their names hold other characters"), 1);
    assert_eq!(told(", and the provider requires one of them"), 3);
    assert_eq!(
        told(r#"resource "a\"]=run();//" is not in this package: its name holds other characters"#),
        1
    );
    assert_eq!(told("function named is not in this package: \""), 1);
    assert!(warnings.iter().all(|warning| warning.len() < 600), "{warnings:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packages_have_names_only(names in proptest::collection::btree_set("[a-z]{1,2}|.{1,6}", 1..5)) {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let schema = parsed(&package_of_names(&names));
        for name in names_in_code(&schema) {
            prop_assert!(is_name(&name), "{:?}", name);
        }
        let mut references = BTreeSet::new();
        collect_references(&schema, &mut references);
        for reference in references {
            let token = reference.strip_prefix("#/types/").unwrap();
            prop_assert!(schema["types"][token].is_object(), "{} leads nowhere", reference);
        }
    }
}

fn no_property_is_refused(value: &Value, place: &str) {
    const OBJECTS: [&str; 4] = ["properties", "inputProperties", "variables", "stateInputs"];
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if OBJECTS.contains(&place) {
                    assert!(name != "pulumi" && !name.contains(char::is_whitespace), "{place}: {name:?}");
                }
                no_property_is_refused(member, name);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| no_property_is_refused(item, "")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
