//! Translation of inputs, kind by kind.

use isthmus_provider::schema::{Attribute, BlockNesting, ObjectNesting};

use super::*;
use crate::testing::{
    attribute, attribute_path, bag, block, list, nested, nested_attribute, object, object_type, object_value,
    path, required, resource, sensitive,
};
use isthmus_package::shape::{IdRule, ResourceShape};

fn list_type(element: Type) -> Type {
    Type::List(Arc::new(element))
}

fn one(name: &str, attribute_type: Type) -> ResourceShape {
    resource(block(vec![attribute(name, attribute_type)], vec![]), IdRule::Missing)
}

fn read(inputs: &Struct, shape: &ResourceShape, unknowns: Unknowns) -> Result<Config, Vec<InputFailure>> {
    config_from_inputs(inputs, &shape.object, &shape.schema.block, unknowns)
}

/// Translates one property of one type.
fn value_of(attribute_type: Type, property: Property) -> Result<Value, String> {
    let shape = one("value", attribute_type);
    let name = shape.object.fields[0].pulumi.clone();
    match read(&bag(&[(&name, property)]), &shape, Unknowns::Keep) {
        Ok(Config { value: Value::Object(mut attributes), .. }) => Ok(attributes.remove("value").unwrap()),
        Ok(config) => panic!("no object: {config:?}"),
        Err(failures) => {
            Err(failures.into_iter().map(|failure| format!("{}: {}", failure.path, failure.reason)).collect())
        }
    }
}

fn number(text: &str) -> Value {
    Value::Number(Number::from_decimal(text).unwrap())
}

#[test]
fn scalars_are_converted_as_the_type_asks() {
    let huge = "123456789012345678901234567890";
    for (attribute_type, property, expected) in [
        (Type::String, Property::from("x"), Value::string("x")),
        (Type::String, Property::Bool(true), Value::string("true")),
        (Type::String, Property::Number(0.1), Value::string("0.1")),
        (Type::String, Property::Number(1e21), Value::string("1000000000000000000000")),
        (Type::String, Property::Number(4660.0), Value::string("4660")),
        (Type::Number, Property::Number(0.1), number("0.1")),
        (Type::Number, Property::Number(42.0), number("42")),
        (Type::Number, Property::from("9007199254740993"), number("9007199254740993")),
        (Type::Number, Property::from(huge), number(huge)),
        (Type::Number, Property::from("1e3"), number("1000")),
        (Type::Number, Property::from(""), Value::Null),
        (Type::Bool, Property::Bool(false), Value::Bool(false)),
        (Type::Bool, Property::Null, Value::Null),
        (Type::String, property::unknown(), Value::Unknown(None)),
        (Type::String, property::secret(Property::Null), Value::Null),
        (list_type(Type::String), Property::Null, Value::Null),
        (list_type(Type::String), property::unknown(), Value::Unknown(None)),
        (list_type(Type::String), list(&[Property::Null]), Value::List(vec![Value::Null])),
    ] {
        let shown = format!("{property:?} as {attribute_type:?}");
        assert_eq!(value_of(attribute_type, property), Ok(expected), "{shown}");
    }
}

#[test]
fn what_does_not_fit_says_what_was_expected_and_what_was_found() {
    for (attribute_type, property, reason) in [
        (
            Type::Bool,
            Property::from("true"),
            "value: expected a boolean, found a string; write true or false, without quotes",
        ),
        (Type::Bool, Property::Number(1.0), "value: expected a boolean, found a number"),
        (Type::Number, Property::from("ten"), "value: expected a number, found a string that is not one"),
        (Type::Number, Property::from("Inf"), "value: expected a number, found a string that is not one"),
        (
            Type::Number,
            Property::Number(f64::NAN),
            "value: expected a number, found one that is infinite or not a number",
        ),
        (Type::String, list(&[]), "value: expected a string, found a list"),
        (
            list_type(Type::String),
            Property::from("x"),
            "values: expected a list, found a string; put it into a list, even if it is the only one",
        ),
        (
            list_type(Type::Bool),
            list(&[Property::Null, Property::from("x")]),
            "values[1]: expected a boolean, found a string; write true or false, without quotes",
        ),
        (
            Type::Map(Arc::new(Type::Bool)),
            object(&[("a.b", Property::from("x"))]),
            "value[\"a.b\"]: expected a boolean, found a string; write true or false, without quotes",
        ),
        (
            Type::Dynamic,
            Property::Number(f64::INFINITY),
            "value: found a number that is infinite or not a number",
        ),
    ] {
        let shown = format!("{property:?}");
        assert_eq!(value_of(attribute_type, property), Err(reason.to_owned()), "{shown}");
    }
}

#[test]
fn assets_are_refused_with_advice() {
    let asset = object(&[
        (property::SIGNATURE_KEY, Property::from("c44067f5952c0a294b673a41bacd8c17")),
        ("path", Property::from("./file")),
    ]);
    let reason = value_of(Type::String, asset).unwrap_err();
    assert_eq!(
        reason,
        "value: found an asset, which Terraform providers do not take; pass the file's path or its text as a string"
    );
}

#[test]
fn references_become_ids_and_outputs_their_values() {
    let reference = |id: &str| {
        object(&[
            (property::SIGNATURE_KEY, Property::from("5cf8f73096256a8f31e491e813e4eb8e")),
            ("urn", Property::from("urn:pulumi:x")),
            ("id", Property::from(id)),
        ])
    };
    assert_eq!(value_of(Type::String, reference("i-1")), Ok(Value::string("i-1")));
    assert_eq!(value_of(Type::String, reference("")), Ok(Value::Unknown(None)));
    let output = |fields: &[(&str, Property)]| {
        let mut output =
            bag(&[(property::SIGNATURE_KEY, Property::from("d0e6a833031e9bbcd3f4e8bde6ca49a4"))]);
        output.extend(bag(fields));
        Property::Struct(output)
    };
    assert_eq!(value_of(Type::Number, output(&[("value", Property::Number(1.0))])), Ok(number("1")));
    assert_eq!(value_of(Type::Number, output(&[])), Ok(Value::Unknown(None)));
}

#[test]
fn unknown_properties_fail_with_the_nearest_name() {
    let inner = object_type([("inner_name".to_owned(), Type::String)]);
    let shape = resource(
        block(vec![attribute("bucket_name", Type::String), attribute("item", list_type(inner))], vec![]),
        IdRule::Missing,
    );
    let inputs = bag(&[
        ("bucketNam", Property::from("a")),
        ("bucket_name", Property::from("b")),
        ("__defaults", list(&[])),
        ("items", list(&[object(&[("inerName", Property::Null), ("__defaults", list(&[]))])])),
        ("somethingElse", Property::Null),
    ]);
    let failures = read(&inputs, &shape, Unknowns::Keep).unwrap_err();
    let shown: Vec<String> =
        failures.iter().map(|failure| format!("{}: {}", failure.path, failure.reason)).collect();
    assert_eq!(
        shown,
        [
            "bucketNam: unknown property; did you mean `bucketName`?",
            "bucket_name: unknown property; Terraform's `bucket_name` is `bucketName` here",
            "somethingElse: unknown property; remove it, or look the name up in the package's documentation",
            "items[0].inerName: unknown property; did you mean `innerName`?",
        ]
    );
}

#[test]
fn only_a_list_of_defaults_is_no_entry_of_a_map() {
    let shape = resource(
        block(vec![attribute("label", Type::map(Type::String)), attribute("open", Type::Dynamic)], vec![]),
        IdRule::Missing,
    );
    let entries = |defaults: Property| object(&[("k", Property::from("v")), ("__defaults", defaults)]);
    let config = |defaults: Property| {
        let inputs = bag(&[("label", entries(defaults.clone())), ("open", entries(defaults))]);
        read(&inputs, &shape, Unknowns::Keep).expect("inputs").value
    };
    let without = bag(&[
        ("label", object(&[("k", Property::from("v"))])),
        ("open", object(&[("k", Property::from("v"))])),
    ]);
    assert_eq!(config(list(&[])), read(&without, &shape, Unknowns::Keep).expect("inputs").value);
    let with = config(Property::from("x"));
    let label = with.attribute("label").and_then(|label| label.entries()).expect("a map");
    assert_eq!(label.get("__defaults"), Some(&Value::string("x")));
}

#[test]
fn absent_blocks_are_sent_as_core_sends_them() {
    let inner = || {
        block(
            vec![attribute("a", Type::String)],
            vec![nested("deep", BlockNesting::Set, 0, block(vec![], vec![]))],
        )
    };
    let open = || block(vec![attribute("d", Type::Dynamic)], vec![]);
    let shape = resource(
        block(
            vec![attribute("plain", list_type(Type::String))],
            vec![
                nested("single", BlockNesting::Single, 0, inner()),
                nested("group", BlockNesting::Group, 0, inner()),
                nested("list", BlockNesting::List, 0, inner()),
                nested("one", BlockNesting::List, 1, inner()),
                nested("one_of_set", BlockNesting::Set, 1, inner()),
                nested("map", BlockNesting::Map, 0, inner()),
                nested("open", BlockNesting::List, 0, open()),
                nested("computed", BlockNesting::List, 0, Block { computed: true, ..inner() }),
            ],
        ),
        IdRule::Missing,
    );
    let expected = object_value(&[
        ("plain", Value::Null),
        ("single", Value::Null),
        ("group", object_value(&[("a", Value::Null), ("deep", Value::Set(vec![]))])),
        ("list", Value::List(vec![])),
        ("one", Value::List(vec![])),
        ("one_of_set", Value::Set(vec![])),
        ("map", Value::Map(BTreeMap::new())),
        ("open", Value::Dynamic(Box::new((Type::Tuple([].into()), Value::Tuple(vec![]))))),
        ("computed", Value::Null),
    ]);
    assert_eq!(read(&Struct::new(), &shape, Unknowns::Reject).unwrap().value, expected);

    let nulls = bag(&[
        ("one", Property::Null),
        ("lists", Property::Null),
        ("group", property::secret(Property::Null)),
    ]);
    assert_eq!(read(&nulls, &shape, Unknowns::Reject).unwrap().value, expected);
}

#[test]
fn flattened_blocks_get_their_list_back() {
    let inner = block(vec![attribute("a", Type::String)], vec![]);
    let shape = resource(
        block(
            vec![],
            vec![
                nested("one", BlockNesting::List, 1, inner.clone()),
                nested("many", BlockNesting::List, 0, inner),
            ],
        ),
        IdRule::Missing,
    );
    let inputs = bag(&[("one", object(&[("a", Property::from("x"))])), ("manies", list(&[Property::Null]))]);
    let expected = object_value(&[
        ("one", Value::List(vec![object_value(&[("a", Value::string("x"))])])),
        ("many", Value::List(vec![object_value(&[("a", Value::Null)])])),
    ]);
    assert_eq!(read(&inputs, &shape, Unknowns::Keep).unwrap().value, expected);

    // It may be null once it is known.
    let unknown = bag(&[("one", property::unknown())]);
    let Value::Object(attributes) = read(&unknown, &shape, Unknowns::Keep).unwrap().value else {
        panic!("no object")
    };
    assert_eq!(attributes["one"], Value::Unknown(None));

    let failures =
        read(&bag(&[("one", list(&[object(&[]), object(&[])]))]), &shape, Unknowns::Keep).unwrap_err();
    assert_eq!(failures[0].path, path("one"));
    assert!(failures[0].reason.contains("at most 1 is allowed here, found 2"), "{}", failures[0].reason);
}

/// Core decodes a block only from the program's text, so an object of a block type is never unknown.
#[test]
fn unknown_blocks_are_objects_of_unknown_values() {
    let computed = || Attribute { computed: true, optional: false, ..attribute("made", Type::String) };
    let inner = || {
        let blocks = vec![
            nested("deep", BlockNesting::Set, 0, block(vec![attribute("x", Type::Number)], vec![])),
            nested("deeper", BlockNesting::Single, 0, block(vec![attribute("y", Type::Bool)], vec![])),
        ];
        block(vec![attribute("a", Type::String), computed()], blocks)
    };
    let shape = resource(
        block(
            vec![],
            vec![
                nested("single", BlockNesting::Single, 0, inner()),
                nested("group", BlockNesting::Group, 0, inner()),
                nested("list", BlockNesting::List, 0, inner()),
                nested("whole", BlockNesting::List, 0, inner()),
                nested("one_of_set", BlockNesting::Set, 1, inner()),
            ],
        ),
        IdRule::Missing,
    );
    let inputs = bag(&[
        ("single", property::unknown()),
        ("group", property::secret(property::unknown())),
        ("lists", list(&[property::unknown()])),
        ("wholes", property::unknown()),
        ("oneOfSet", property::unknown()),
    ]);
    let element = object_value(&[
        ("a", Value::Unknown(None)),
        ("made", Value::Null),
        ("deep", Value::Unknown(None)),
        ("deeper", object_value(&[("y", Value::Unknown(None))])),
    ]);
    let expected = object_value(&[
        ("single", element.clone()),
        ("group", element.clone()),
        ("list", Value::List(vec![element])),
        ("whole", Value::Unknown(None)),
        ("one_of_set", Value::Unknown(None)),
    ]);
    assert_eq!(read(&inputs, &shape, Unknowns::Keep).unwrap().value, expected);

    let failures = read(&inputs, &shape, Unknowns::Reject).unwrap_err();
    let paths: Vec<_> = failures.iter().map(|failure| failure.path.to_string()).collect();
    assert_eq!(paths, ["group", "lists[0]", "oneOfSet", "single", "wholes"]);
}

#[test]
fn blocks_with_something_dynamic_travel_as_tuples_of_their_own_type() {
    let open = block(vec![attribute("d", Type::Dynamic)], vec![]);
    let shape = resource(block(vec![], vec![nested("b", BlockNesting::List, 0, open)]), IdRule::Missing);
    let name = shape.object.fields[0].pulumi.clone();
    let inputs = bag(&[(&name, list(&[object(&[("d", Property::from("x"))]), object(&[])]))]);
    let Value::Object(attributes) = read(&inputs, &shape, Unknowns::Keep).unwrap().value else {
        panic!("no object")
    };
    let types =
        [object_type([("d".to_owned(), Type::String)]), object_type([("d".to_owned(), Type::Dynamic)])];
    let values = vec![object_value(&[("d", Value::string("x"))]), object_value(&[("d", Value::Null)])];
    assert_eq!(attributes["b"], Value::Dynamic(Box::new((Type::Tuple(types.into()), Value::Tuple(values)))));
}

#[test]
fn dynamic_values_bring_their_types_and_keep_their_keys() {
    let property = object(&[
        ("snake_key", list(&[Property::Number(1.0), Property::Number(2.0)])),
        ("mixed", list(&[Property::Bool(true), Property::from("x")])),
    ]);
    let Ok(Value::Dynamic(typed)) = value_of(Type::Dynamic, property) else { panic!("not dynamic") };
    let expected = object_type([
        ("snake_key".to_owned(), list_type(Type::Number)),
        ("mixed".to_owned(), Type::Tuple([Type::Bool, Type::String].into())),
    ]);
    assert_eq!(typed.0, expected);
    assert_eq!(value_of(Type::Dynamic, Property::Null), Ok(Value::Null));
    assert_eq!(value_of(Type::Dynamic, property::unknown()), Ok(Value::Unknown(None)));
}

#[test]
fn secrets_are_taken_off_and_remembered_where_they_were() {
    let inner = vec![attribute("a", Type::String)];
    let shape = resource(
        block(
            vec![
                attribute("text", Type::String),
                attribute("names", Type::Map(Arc::new(Type::String))),
                attribute("open", Type::Dynamic),
                nested_attribute("some", ObjectNesting::Set, inner.clone()),
            ],
            vec![nested("one", BlockNesting::List, 1, block(inner, vec![]))],
        ),
        IdRule::Missing,
    );
    let hidden = property::secret(Property::from("s"));
    let inputs = bag(&[
        ("text", property::secret(hidden.clone())),
        ("names", object(&[("k", hidden.clone()), ("open", Property::from("x"))])),
        ("open", object(&[("list", list(&[Property::Null, hidden.clone()]))])),
        ("somes", list(&[object(&[("a", hidden.clone())]), object(&[("a", hidden.clone())])])),
        ("one", property::secret(object(&[("a", hidden)]))),
    ]);
    let config = read(&inputs, &shape, Unknowns::Reject).unwrap();
    let mut secrets = config.secrets;
    secrets.sort_by_key(|path| format!("{path:?}"));
    let mut expected = vec![
        attribute_path("text"),
        AttributePath(vec![PathStep::Attribute("names".into()), PathStep::Key("k".into())]),
        attribute_path("open.list.1"),
        attribute_path("some"),
        attribute_path("one"),
    ];
    expected.sort_by_key(|path| format!("{path:?}"));
    assert_eq!(secrets, expected);
    let Value::Object(attributes) = config.value else { panic!("no object") };
    assert_eq!(attributes["text"], Value::string("s"));
}

#[test]
fn what_the_schema_calls_sensitive_makes_no_secret_of_the_set_around_it() {
    let inner = vec![attribute("a", Type::String), sensitive(attribute("key", Type::String))];
    let shape =
        resource(block(vec![nested_attribute("some", ObjectNesting::Set, inner)], vec![]), IdRule::Missing);
    let hidden = || property::secret(Property::from("s"));
    let secrets_of = |element: &[(&str, Property)]| {
        read(&bag(&[("somes", list(&[object(element)]))]), &shape, Unknowns::Reject).unwrap().secrets
    };
    assert_eq!(secrets_of(&[("a", Property::from("x")), ("key", hidden())]), []);
    assert_eq!(secrets_of(&[("a", hidden()), ("key", hidden())]), [attribute_path("some")]);
}

#[test]
fn unknown_values_fail_where_they_are_needed_now() {
    let shape = one("value", list_type(Type::String));
    let inputs = bag(&[("values", list(&[Property::from("a"), property::unknown()]))]);
    assert!(read(&inputs, &shape, Unknowns::Keep).is_ok());
    let failures = read(&inputs, &shape, Unknowns::Reject).unwrap_err();
    assert_eq!(
        failures,
        [InputFailure {
            path: path("values[1]"),
            reason: "the value is not known yet, but it is needed now".to_owned(),
        }]
    );
}

#[test]
fn missing_required_properties_are_listed_at_every_level() {
    let inner =
        block(vec![required(attribute("must", Type::String)), attribute("may", Type::String)], vec![]);
    let shape = resource(
        block(
            vec![required(attribute("top", Type::String)), required(attribute("given", Type::String))],
            vec![
                nested("one", BlockNesting::List, 1, inner.clone()),
                nested("many", BlockNesting::List, 0, inner),
            ],
        ),
        IdRule::Missing,
    );
    let inputs = bag(&[
        ("given", property::unknown()),
        ("top", property::secret(Property::Null)),
        ("one", object(&[("may", Property::from("x"))])),
        ("manies", list(&[object(&[("must", Property::from("x"))]), object(&[])])),
    ]);
    let missing: Vec<String> =
        missing_required(&inputs, &shape.object).iter().map(|missing| missing.path.to_string()).collect();
    assert_eq!(missing, ["manies[1].must", "one.must", "top"]);
}

#[test]
fn blocks_are_counted_as_core_counts_them_but_not_in_stored_state() {
    let inner = block(vec![attribute("may", Type::String)], vec![]);
    let two_or_three =
        |name, nesting| NestedBlock { min_items: 2, ..nested(name, nesting, 3, inner.clone()) };
    let blocks = vec![two_or_three("rule", BlockNesting::List), two_or_three("grant", BlockNesting::Set)];
    let shape = resource(block(vec![], blocks), IdRule::Missing);
    let given = |count| list(&vec![object(&[]); count]);
    let judge = |rules, grants| {
        let failures = read(&bag(&[("rules", rules), ("grants", grants)]), &shape, Unknowns::Keep).err();
        let failures = failures.unwrap_or_default();
        failures.iter().map(|failure| format!("{}: {}", failure.path, failure.reason)).collect::<Vec<_>>()
    };
    assert_eq!(judge(given(2), given(3)), Vec::<String>::new());
    assert_eq!(judge(property::unknown(), Property::Null), Vec::<String>::new());
    assert_eq!(
        judge(given(1), property::secret(given(4))),
        ["grants: at most 3 are allowed here, found 4", "rules: at least 2 are needed here, found 1"]
    );
    let stored = bag(&[("rules", given(5)), ("grants", given(0))]);
    assert!(object_from_state(&stored, &shape.object, &shape.schema.block).is_ok());
}

#[test]
fn what_is_set_and_should_not_be_is_found_once_and_by_both_names() {
    let only_computed = |name| Attribute { computed: true, ..attribute(name, Type::String) };
    let read_only_attribute = |name| Attribute { optional: false, ..only_computed(name) };
    let old = |name| Attribute { deprecated: true, ..attribute(name, Type::String) };
    let inner = || block(vec![read_only_attribute("its_own"), old("old_one")], vec![]);
    let shape = resource(
        block(
            vec![read_only_attribute("etag"), old("old_name"), only_computed("either")],
            vec![
                nested("rule", BlockNesting::Set, 0, inner()),
                nested("one", BlockNesting::List, 1, inner()),
            ],
        ),
        IdRule::Missing,
    );
    let both = object(&[("itsOwn", Property::from("x")), ("oldOne", property::secret(Property::from("x")))]);
    let inputs = bag(&[
        ("either", Property::from("x")),
        ("etag", property::unknown()),
        ("oldName", Property::from("x")),
        ("one", both.clone()),
        ("rules", list(&[object(&[("itsOwn", Property::Null)]), both])),
    ]);
    let show = |found: Vec<SetProperty<'_>>| -> Vec<String> {
        found.iter().map(|set| format!("{} {}", set.property, set.attribute)).collect()
    };
    assert_eq!(
        show(read_only(&inputs, &shape.object)),
        ["etag etag", "one.itsOwn one[0].its_own", "rules[1].itsOwn rule[1].its_own"]
    );
    assert_eq!(
        show(deprecated(&inputs, &shape.object)),
        ["oldName old_name", "one.oldOne one[0].old_one", "rules[1].oldOne rule[1].old_one"]
    );
}

#[test]
fn hostile_bags_end_in_few_clean_failures() {
    let shape = one("value", Type::Dynamic);
    let mut deep = Property::Null;
    for _ in 0..900 {
        deep = list(&[deep]);
    }
    let failures = read(&bag(&[("value", deep)]), &shape, Unknowns::Keep).unwrap_err();
    assert_eq!(failures.len(), 1);
    assert!(failures[0].reason.contains("levels deep"), "{}", failures[0].reason);

    let many: Struct = (0..10_000).map(|index| (format!("nothing{index}"), Property::Null)).collect();
    assert_eq!(read(&many, &shape, Unknowns::Keep).unwrap_err().len(), MAXIMUM_FAILURES);

    let unsigned = object(&[(property::SIGNATURE_KEY, Property::from("bogus"))]);
    let failures = read(&bag(&[("value", unsigned)]), &shape, Unknowns::Keep).unwrap_err();
    assert!(failures[0].reason.contains("unknown signature"), "{}", failures[0].reason);
}

#[test]
fn nested_configuration_may_have_terraforms_names_where_pulumis_are_free() {
    let inner = || block(vec![attribute("api_version", Type::String)], vec![]);
    let shape = resource(
        block(
            vec![
                attribute("open_map", Type::map(Type::String)),
                attribute("as_object", list_type(object_type([("max_size".to_owned(), Type::Number)]))),
            ],
            vec![
                nested("exec", BlockNesting::List, 1, inner()),
                nested("in_list", BlockNesting::List, 0, inner()),
                nested("in_set", BlockNesting::Set, 0, inner()),
                nested("in_map", BlockNesting::Map, 0, inner()),
            ],
        ),
        IdRule::Missing,
    );
    let version = |name: &str| object(&[(name, Property::from("v1"))]);
    let config = |name: &str, size: &str| {
        bag(&[
            ("exec", version(name)),
            ("inLists", list(&[version("apiVersion"), version(name)])),
            ("inSets", list(&[version(name)])),
            ("inMap", object(&[("key_of_map", version(name))])),
            ("asObjects", list(&[object(&[(size, Property::Number(1.0))])])),
            ("openMap", object(&[("api_version", Property::from("x"))])),
            // The names at the top are not its business.
            ("as_object", Property::Null),
        ])
    };
    let mut inputs = config("api_version", "max_size");
    let (dropped, renamed) = canonical_config(&mut inputs, &shape.object);
    assert_eq!((inputs, dropped), (config("apiVersion", "maxSize"), vec![]));
    let renamed: Vec<_> =
        renamed.iter().map(|renamed| format!("{} {}", renamed.path, renamed.terraform)).collect();
    assert_eq!(
        renamed,
        [
            "exec.apiVersion api_version",
            "inLists[1].apiVersion api_version",
            "inSets[0].apiVersion api_version",
            "inMap.key_of_map.apiVersion api_version",
            "asObjects[0].maxSize max_size",
        ]
    );

    let both = object(&[("maxSize", Property::Null), ("max_size", Property::Null)]);
    let mut inputs = bag(&[("asObjects", list(&[both]))]);
    let before = inputs.clone();
    assert_eq!(canonical_config(&mut inputs, &shape.object), (vec![], vec![]));
    assert_eq!(inputs, before);
    let failures = read(&inputs, &shape, Unknowns::Keep).expect_err("it is ambiguous");
    assert_eq!(failures[0].path.to_string(), "asObjects[0].max_size");
}
