//! The state format, rule by rule and as a whole.

use std::sync::Arc;

use isthmus_cty::{Number, Type};
use isthmus_provider::schema::{Attribute, BlockNesting, Schema};
use proptest::prelude::*;

use super::*;
use crate::outputs::{OutputOptions, outputs_from_state};
use crate::property::secret;
use crate::testing::{
    Choices, attribute, bag, block, list, nested, object, object_type, object_value, properties, resource,
    sensitive,
};
use isthmus_package::shape::{IdRule, PackageNaming, compile_resource};

const OPTIONS: OutputOptions<'_> = OutputOptions { keep_secrets: false, secrets: &[], unknowns: false };

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn one(attribute: Attribute) -> ResourceShape {
    resource(block(vec![attribute], vec![]), IdRule::Missing)
}

/// The stored delta of a state, after checking that it yields the state's JSON.
fn stored(state: &Value, shape: &ResourceShape) -> Property {
    let outputs = outputs_from_state(state, shape, OPTIONS).unwrap();
    let delta = raw_state_delta(&outputs, state, shape, false).unwrap().unwrap();
    assert_eq!(
        recover(&outputs, &delta).unwrap(),
        raw_state(state, shape).unwrap(),
        "{outputs:?} with {delta:?}"
    );
    delta
}

fn stored_for(of: Type, value: Value) -> Property {
    stored(&object_value(&[("some_value", value)]), &one(attribute("some_value", of)))
}

fn number(text: &str) -> Value {
    Value::Number(Number::from_decimal(text).unwrap())
}

#[test]
fn what_is_its_own_json_needs_no_delta() {
    for (of, value) in [
        (Type::String, Value::string("x")),
        (Type::Bool, Value::Bool(false)),
        (Type::Number, number("12.3456")),
        (Type::Number, number("9007199254740992")),
        (Type::Number, number("100000000000000000000000")),
    ] {
        assert_eq!(stored_for(of, value.clone()), properties(r#"{"obj":{}}"#), "{value:?}");
    }
}

#[test]
fn attributes_without_a_value_are_put_back() {
    let expected = r#"{"obj":{"ps":{"someValue":{}}}}"#;
    assert_eq!(stored_for(Type::String, Value::Null), properties(expected));
}

#[test]
fn names_that_the_rule_does_not_give_back_are_listed() {
    let shape = one(attribute("port_2", Type::Number));
    let delta = stored(&object_value(&[("port_2", number("1"))]), &shape);
    assert_eq!(delta, properties(r#"{"obj":{"renamed":{"port2":"port_2"}}}"#));
}

#[test]
fn lists_sets_and_maps_say_what_they_are() {
    let text = || vec![Value::string("a"), Value::Null];
    for (of, value, delta) in [
        (Type::list(Type::String), Value::List(text()), r#"{"arr":{}}"#),
        (Type::set(Type::String), Value::set(text()), r#"{"arr":{}}"#),
        (Type::list(Type::String), Value::List(vec![]), r#"{"arr":{}}"#),
        (Type::map(Type::String), Value::map([("snake_key", Value::string("v"))]), r#"{"map":{}}"#),
        (
            Type::list(Type::list(Type::Bool)),
            Value::List(vec![Value::Null, Value::List(vec![])]),
            r#"{"arr":{"el":{"1":{"arr":{}}}}}"#,
        ),
        (
            Type::map(Type::list(Type::Bool)),
            Value::map([("k", Value::List(vec![])), ("n", Value::Null)]),
            r#"{"map":{"el":{"k":{"arr":{}}}}}"#,
        ),
    ] {
        let name = if matches!(of, Type::Map(_)) { "someValue" } else { "someValues" };
        let renamed = if name == "someValue" { "" } else { r#""renamed":{"someValues":"some_value"},"# };
        let expected = format!(r#"{{"obj":{{{renamed}"ps":{{"{name}":{delta}}}}}}}"#);
        assert_eq!(stored_for(of, value), properties(&expected));
    }
}

#[test]
fn blocks_that_pulumi_sees_alone_get_their_list_back() {
    let inner = block(vec![attribute("a", Type::String)], vec![]);
    let shape = resource(
        block(
            vec![],
            vec![
                nested("one", BlockNesting::List, 1, inner.clone()),
                nested("none", BlockNesting::Set, 1, inner),
            ],
        ),
        IdRule::Missing,
    );
    let state = object_value(&[
        ("one", Value::List(vec![object_value(&[("a", Value::string("x"))])])),
        ("none", Value::Set(vec![])),
    ]);
    let expected = r#"{"obj":{"ps":{"one":{"plu":{"i":{"obj":{}}}},"none":{"plu":{"i":{}}}}}}"#;
    assert_eq!(stored(&state, &shape), properties(expected));

    let of_text = properties(r#"{"obj":{"ps":{"one":{"plu":{"i":{}}},"none":{"plu":{"i":{}}}}}}"#);
    let outputs = bag(&[("one", Property::from("x")), ("none", Property::Null)]);
    assert_eq!(recover(&outputs, &of_text).unwrap(), json(r#"{"none":[],"one":["x"]}"#));
}

#[test]
fn dynamic_values_are_stored_with_their_type() {
    let value = Value::dynamic(Type::String, Value::string("x"));
    let expected = r#"{"obj":{"ps":{"someValue":{"replace":{"raw":{"type":"string","value":"x"}}}}}}"#;
    assert_eq!(stored_for(Type::Dynamic, value), properties(expected));
    let expected = r#"{"obj":{"ps":{"someValue":{}}}}"#;
    assert_eq!(stored_for(Type::Dynamic, Value::Null), properties(expected));
}

#[test]
fn numbers_that_no_property_holds_are_exact_in_the_delta() {
    let expected =
        r#"{"obj":{"ps":{"someValue":{"replace":{"exact":"9007199254740993","raw":9007199254740992}}}}}"#;
    let delta = stored_for(Type::Number, number("9007199254740993"));
    assert_eq!(delta, properties(expected));

    // A user's edit of the readable number takes precedence.
    let edited = properties(r#"{"obj":{"ps":{"n":{"replace":{"exact":"9007199254740993","raw":5}}}}}"#);
    assert_eq!(recover(&Struct::new(), &edited).unwrap(), json(r#"{"n":5}"#));

    let huge = format!("1{}", "0".repeat(400));
    assert_eq!(
        stored_for(Type::Number, number(&huge)),
        properties(r#"{"obj":{"ps":{"someValue":{"num":{}}}}}"#)
    );
}

#[test]
fn whatever_holds_values_is_marked_secret() {
    let shape = resource(
        block(
            vec![
                attribute("a", Type::Dynamic),
                attribute("b", Type::String),
                sensitive(attribute("replace", Type::String)),
            ],
            vec![],
        ),
        IdRule::Missing,
    );
    let state = object_value(&[
        ("a", Value::dynamic(Type::String, Value::string("x"))),
        ("b", Value::Null),
        ("replace", Value::string("y")),
    ]);
    let options = OutputOptions { keep_secrets: true, ..OPTIONS };
    let outputs = outputs_from_state(&state, &shape, options).unwrap();
    let delta = raw_state_delta(&outputs, &state, &shape, true).unwrap().unwrap();
    let a = secret(properties(r#"{"replace":{"raw":{"type":"string","value":"x"}}}"#));
    let b = properties("{}");
    assert_eq!(delta, object(&[("obj", object(&[("ps", object(&[("a", a), ("b", b)]))]))]));
    let raw = r#"{"a":{"value":"x","type":"string"},"b":null,"replace":"y"}"#;
    assert_eq!(recover(&outputs, &delta).unwrap(), json(raw));

    // A property named `replace` is confused with the member, and still read.
    let state = object_value(&[("a", Value::Null), ("b", Value::string("x")), ("replace", Value::Null)]);
    let outputs = outputs_from_state(&state, &shape, options).unwrap();
    let delta = raw_state_delta(&outputs, &state, &shape, true).unwrap().unwrap();
    let expected = properties(r#"{"a":{},"replace":{}}"#);
    assert_eq!(delta, object(&[("obj", object(&[("ps", secret(expected))]))]));
    assert_eq!(recover(&outputs, &delta).unwrap(), json(r#"{"a":null,"b":"x","replace":null}"#));
}

#[test]
fn time_limits_are_stored_only_where_they_were_configured() {
    let limits = object_type([("create".to_owned(), Type::String), ("read_it".to_owned(), Type::String)]);
    let shape = one(attribute("timeouts", limits));
    let state = object_value(&[("timeouts", Value::Null)]);
    let outputs = outputs_from_state(&state, &shape, OPTIONS).unwrap();
    let delta = raw_state_delta(&outputs, &state, &shape, false).unwrap().unwrap();
    assert_eq!(delta, properties(r#"{"obj":{}}"#));
    assert_eq!(recover(&outputs, &delta).unwrap(), json("{}"));

    let limits = object_value(&[("create", Value::string("5m")), ("read_it", Value::Null)]);
    let delta = stored(&object_value(&[("timeouts", limits)]), &shape);
    let expected = r#"{"obj":{"ps":{"timeouts":{"obj":{"ps":{"read_it":{}}}}}}}"#;
    assert_eq!(delta, properties(expected));
}

#[test]
fn properties_that_terraform_does_not_have_are_left_out() {
    let shape = one(attribute("a", Type::String));
    let state = object_value(&[("a", Value::string("x"))]);
    let outputs =
        bag(&[("a", Property::from("x")), ("id", Property::from("i")), ("__meta", Property::from("{}"))]);
    let delta = raw_state_delta(&outputs, &state, &shape, false).unwrap().unwrap();
    assert_eq!(delta, properties(r#"{"obj":{"ignored":["id"]}}"#));
    assert_eq!(recover(&outputs, &delta).unwrap(), json(r#"{"a":"x"}"#));
}

#[test]
fn outputs_that_do_not_match_the_state_get_its_json_whole() {
    let shape = one(attribute("a", Type::map(Type::String)));
    let state = object_value(&[("a", Value::map([("k", Value::string("x"))]))]);
    for outputs in [bag(&[("a", Property::from("y"))]), bag(&[("a", object(&[("other", Property::Null)]))])] {
        let delta = raw_state_delta(&outputs, &state, &shape, false).unwrap().unwrap();
        assert_eq!(delta, properties(r#"{"obj":{"ps":{"a":{"replace":{"raw":{"k":"x"}}}}}}"#));
        assert_eq!(recover(&outputs, &delta).unwrap(), json(r#"{"a":{"k":"x"}}"#));
    }
}

#[test]
fn names_that_collide_lead_back_each_to_its_own() {
    use crate::inputs::{Unknowns, config_from_inputs};
    // Including names that Pulumi or the bridges reserve.
    let names =
        ["a_b", "a__b", "aB", "a b", "pulumi", "pulumi_info", "urn", "id", "__meta", "__defaults", "x_"];
    let attributes = || names.iter().map(|name| attribute(name, Type::String)).collect::<Vec<_>>();
    let naming = PackageNaming::new("x", "x");
    let schema = Schema {
        version: 0,
        block: block(attributes(), vec![nested("inner", BlockNesting::List, 1, block(attributes(), vec![]))]),
    };
    let shape = compile_resource("x_thing", "x:index/thing:Thing", schema.into(), naming);
    let texts: Vec<_> = names.iter().map(|name| (*name, Value::string(format!("of {name}")))).collect();
    let mut attributes = texts.clone();
    attributes.push(("inner", Value::List(vec![object_value(&texts)])));
    let state = object_value(&attributes);

    stored(&state, &shape);
    let outputs = outputs_from_state(&state, &shape, OPTIONS).unwrap();
    assert_eq!(outputs.len(), names.len() + 1, "{outputs:?}");
    let config = config_from_inputs(&outputs, &shape.object, &shape.schema.block, Unknowns::Reject).unwrap();
    assert_eq!(config.value, state);
}

#[test]
fn unknown_values_leave_no_delta() {
    let shape = one(attribute("a", Type::String));
    let state = object_value(&[("a", Value::Unknown(None))]);
    let outputs = outputs_from_state(&state, &shape, OutputOptions { unknowns: true, ..OPTIONS }).unwrap();
    assert_eq!(raw_state_delta(&outputs, &state, &shape, false).unwrap(), None);
}

#[test]
fn deltas_of_every_kind_are_read_through_secrets() {
    let delta = properties(
        r#"{"obj":{"ignored":["id"],"renamed":{"big":"BIG"},"ps":{
            "big":{"num":{}},
            "list":{"arr":{"el":{"1":{"map":{}}}}},
            "gone":{"replace":{"raw":{"a":[1,true,null,"x"]}}},
            "empty":{},
            "missing":{"replace":{}}
        }}}"#,
    );
    let outputs = bag(&[
        ("id", Property::from("x")),
        ("big", secret(Property::from("123456789012345678901"))),
        ("list", list(&[Property::Null, object(&[("K", secret(Property::Number(0.5)))])])),
        ("empty", Property::Bool(true)),
        ("camelCase", Property::from("c")),
    ]);
    let expected = json(
        r#"{"BIG":123456789012345678901,"camel_case":"c","empty":true,"gone":{"a":[1,true,null,"x"]},"list":[null,{"K":0.5}],"missing":null}"#,
    );
    assert_eq!(recover(&outputs, &delta).unwrap(), expected);
    assert_eq!(recover(&outputs, &secret(delta)).unwrap(), expected);
}

#[test]
fn deltas_that_do_not_fit_are_errors_that_say_what_to_do() {
    let outputs = bag(&[("a", Property::from("x")), ("l", list(&[])), ("o", object(&[]))]);
    for (delta, message) in [
        (r#"{"obj":{"ps":{"a":{"map":{}}}}}"#, "expects a map at `a` and finds a string"),
        (r#"{"obj":{"ps":{"l":{"arr":{"el":{"0":{"num":{}}}}}}}}"#, "for a longer list than there is at `l`"),
        (r#"{"obj":{"ps":{"l":{"arr":{"el":{"x":{"num":{}}}}}}}}"#, "cannot be read"),
        (r#"{"obj":{}}"#, "expects a plain value at `o` and finds an object"),
        (r#"{"obj":{"ps":{"a":{"num":{}}}}}"#, "expects text that is a number at `a`"),
        (r#"{"obj":{"ps":[]}}"#, "cannot be read"),
        (r#"{"obj":5}"#, "cannot be read"),
        (r#""text""#, "cannot be read"),
        (r#"{"arr":{}}"#, "expects a resource's properties"),
    ] {
        let concerned = |name: &&str| message.contains(&format!("`{name}`"));
        let mut outputs = outputs.clone();
        for name in ["a", "l", "o"].iter().filter(|name| !concerned(name)) {
            outputs.remove(name);
        }
        let error = recover(&outputs, &properties(delta)).unwrap_err().to_string();
        assert!(error.contains(message), "{delta}: {error}");
        if !error.contains("resource's properties") {
            assert!(error.contains("remove that key"), "{delta}: {error}");
        }
    }
}

#[test]
fn edited_state_is_read_by_the_schema_where_the_delta_does_not_fit() {
    let shape = one(attribute("some_value", Type::list(Type::Number)));
    let delta = properties(
        r#"{"obj":{"renamed":{"someValues":"some_value"},"ps":{"someValues":{"arr":{"el":{"3":{"num":{}}}}}}}}"#,
    );
    let edited = bag(&[("someValues", list(&[Property::Number(1.0)])), (DELTA_KEY, delta)]);
    let (raw, source) = stored_raw_state(&edited, &shape).unwrap();
    assert_eq!(raw, json(r#"{"some_value":[1]}"#));
    assert!(matches!(source, RawStateSource::SchemaForBadDelta(RecoverError::Index { .. })), "{source:?}");

    let without = bag(&[("id", Property::from("i")), ("someValues", Property::Null)]);
    let (raw, source) = stored_raw_state(&without, &shape).unwrap();
    assert_eq!(raw, json(r#"{"some_value":null}"#));
    assert!(matches!(source, RawStateSource::Schema), "{source:?}");

    let invalid = bag(&[("someValues", Property::Bool(true))]);
    let error = stored_raw_state(&invalid, &shape).unwrap_err().to_string();
    assert!(error.contains("`someValues`: expected a list, found a boolean"), "{error}");
}

#[test]
fn what_is_stored_comes_last() {
    let shape = one(attribute("a", Type::String));
    let state = object_value(&[("a", Value::string("x"))]);
    let mut outputs = outputs_from_state(&state, &shape, OPTIONS).unwrap();
    let meta = Meta { schema_version: 2, ..Meta::default() };
    add_stored_properties(&mut outputs, &meta, &state, &shape, true).unwrap();
    assert_eq!(outputs.keys().collect::<Vec<_>>(), ["a", META_KEY, DELTA_KEY]);
}

#[test]
fn whatever_the_decoder_lets_through_fits_the_stack() {
    let max = isthmus_proto::property::MAX_DEPTH;
    let mut deep = Property::Null;
    for _ in 0..max - 1 {
        deep = list(&[deep]);
    }
    let outputs = bag(&[("a", deep)]);
    // Each level of this delta takes three levels of a bag, or five when marked secret.
    let mut delta = Property::Null;
    for _ in 0..max / 3 - 1 {
        delta = object(&[("arr", object(&[("el", object(&[("0", delta)]))]))]);
    }
    let delta = object(&[("obj", object(&[("ps", object(&[("a", delta)]))]))]);
    let mut raw = Property::Null;
    for _ in 0..500 {
        raw = object(&[("k", raw)]);
    }
    let replace = object(&[("replace", object(&[("raw", raw.clone())]))]);
    for _ in 500..max - 2 {
        raw = object(&[("k", raw)]);
    }
    let too_deep = object(&[("replace", object(&[("raw", raw)]))]);
    let recovering = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let natural = properties(r#"{"obj":{}}"#);
        [natural, delta, replace, too_deep].map(|delta| recover(&outputs, &delta).is_ok())
    });
    assert_eq!(recovering.unwrap().join().unwrap(), [true, true, true, false]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn any_state_is_rebuilt_from_its_outputs(bytes in prop::collection::vec(any::<u8>(), 0..120), secrets: bool) {
        let mut choices = Choices(&bytes);
        let shape = resource(choices.block(2), IdRule::Missing);
        let state = choices.state(&shape.schema.block);
        let options = OutputOptions { keep_secrets: secrets, ..OPTIONS };
        let outputs = outputs_from_state(&state, &shape, options).unwrap();
        let delta = raw_state_delta(&outputs, &state, &shape, secrets).unwrap().unwrap();
        prop_assert!(delta.as_struct().unwrap().contains_key("obj"), "the whole state was stored: {:?}", delta);

        let mut raw = raw_state(&state, &shape).unwrap();
        if let (Json::Object(members), false) = (&mut raw, outputs.contains_key("timeouts")) {
            members.retain(|(name, _)| name != "timeouts");
        }
        prop_assert_eq!(recover(&outputs, &delta).unwrap(), raw);
    }

    #[test]
    fn outputs_given_as_inputs_are_the_same_value(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        use crate::inputs::{Unknowns, config_from_inputs};
        let mut choices = Choices(&bytes);
        let shape = resource(choices.block(2), IdRule::Missing);
        let state = choices.state(&shape.schema.block);
        let outputs = outputs_from_state(&state, &shape, OutputOptions { keep_secrets: true, ..OPTIONS }).unwrap();
        let config = config_from_inputs(&outputs, &shape.object, &shape.schema.block, Unknowns::Reject).unwrap();
        prop_assert!(config.value.conforms(&shape.schema.block.implied_type).is_ok());
        let again = outputs_from_state(&config.value, &shape, OutputOptions { secrets: &config.secrets, ..OPTIONS }).unwrap();
        let plain = |bag: &Struct| property::bag_without_secrets(bag).unwrap();
        prop_assert_eq!(plain(&again), plain(&outputs));
    }

    #[test]
    fn any_bag_is_a_delta_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        fn arbitrary(bytes: &mut std::slice::Iter<'_, u8>, depth: u8) -> Property {
            const NAMES: [&str; 12] =
                ["obj", "ps", "a", "arr", "el", "0", "map", "plu", "i", "num", "replace", "raw"];
            let Some(choice) = bytes.next().filter(|_| depth > 0) else { return Property::Null };
            match choice % 6 {
                0 => Property::Number(f64::from(*choice)),
                1 => Property::from("text"),
                2 => Property::List(vec![arbitrary(bytes, depth - 1)]),
                3 => secret(arbitrary(bytes, depth - 1)),
                _ => {
                    let name = NAMES[usize::from(*choice / 6) % NAMES.len()];
                    Property::Struct(Struct::from([(name, arbitrary(bytes, depth - 1))]))
                }
            }
        }
        let mut bytes = bytes.iter();
        let delta = arbitrary(&mut bytes, 8);
        let outputs = bag(&[("a", arbitrary(&mut bytes, 4))]);
        // It neither panics nor hangs, and results are valid JSON.
        if let Ok(raw) = recover(&outputs, &delta) {
            prop_assert_eq!(Json::parse(raw.to_string().as_bytes()), Ok(raw));
        }
    }
}

#[test]
fn sets_that_the_outputs_show_in_another_order_are_stored_in_terraforms() {
    let shape = one(attribute("s", Type::Set(Arc::new(Type::String))));
    let state = object_value(&[("s", Value::set([Value::string("b"), Value::string("a")]))]);
    let delta = |shown: &[&str]| {
        let shown: Vec<_> = shown.iter().map(|text| Property::from(*text)).collect();
        let outputs = bag(&[("s", list(&shown))]);
        let delta = raw_state_delta(&outputs, &state, &shape, false).unwrap().unwrap();
        assert_eq!(recover(&outputs, &delta).unwrap(), json(r#"{"s":["a","b"]}"#));
        delta
    };
    assert_eq!(delta(&["a", "b"]), properties(r#"{"obj":{"ps":{"s":{"arr":{}}}}}"#));
    assert_eq!(delta(&["b", "a"]), properties(r#"{"obj":{"ps":{"s":{"replace":{"raw":["a","b"]}}}}}"#));
}
