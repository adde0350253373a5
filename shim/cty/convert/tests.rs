use super::*;

fn own(json: &str) -> Type {
    Type::from_json(json.as_bytes()).unwrap()
}

fn attempt(value: Value, from: &str, to: &str) -> Result<Value, String> {
    let (from, to) = (own(from), own(to));
    value.conforms(&from).unwrap();
    let result = convert(&value, &from, &to).map_err(|error| error.to_string());
    if let Ok(converted) = &result {
        converted.conforms(&to).unwrap();
    }
    result
}

fn number(text: &str) -> Value {
    Value::Number(Number::from_decimal(text).unwrap())
}

fn unknown(known: Refinements) -> Value {
    Value::Unknown(Some(Box::new(known)))
}

#[test]
fn primitives_convert_to_one_another() {
    for (value, from, to, expected) in [
        ("12.50".into(), "\"string\"", "\"number\"", Ok(number("12.5"))),
        ("x".into(), "\"string\"", "\"number\"", Err("a number is required")),
        (number("1e3"), "\"number\"", "\"string\"", Ok("1000".into())),
        (number("0.10"), "\"number\"", "\"string\"", Ok("0.1".into())),
        (true.into(), "\"bool\"", "\"string\"", Ok("true".into())),
        ("1".into(), "\"string\"", "\"bool\"", Ok(true.into())),
        (
            "False".into(),
            "\"string\"",
            "\"bool\"",
            Err("a bool is required; to convert from string, use lowercase \"false\""),
        ),
        ("yes".into(), "\"string\"", "\"bool\"", Err("a bool is required")),
        (true.into(), "\"bool\"", "\"number\"", Err("number required, but have bool")),
        (Value::Null, "\"bool\"", "\"number\"", Err("number required, but have bool")),
        (Value::Null, "\"string\"", "\"number\"", Ok(Value::Null)),
    ] {
        let expected = expected.map_err(str::to_owned);
        assert_eq!(attempt(value.clone(), from, to), expected, "{value:?}: {from} to {to}");
    }
}

#[test]
fn sequences_convert_to_one_another() {
    let tuple = Value::tuple([number("1"), "1".into(), true.into()]);
    let mixed = r#"["tuple",["number","string","bool"]]"#;
    let strings = [Value::from("1"), "1".into(), "true".into()];
    assert_eq!(attempt(tuple.clone(), mixed, r#"["list","string"]"#), Ok(Value::list(strings.clone())));
    assert_eq!(attempt(tuple.clone(), mixed, r#"["set","string"]"#), Ok(Value::set(strings.clone())));
    assert_eq!(
        attempt(tuple.clone(), mixed, r#"["list","number"]"#),
        Err("list of number required, but have tuple".to_owned())
    );
    let list = Value::list(["2".into(), "x".into()]);
    assert_eq!(
        attempt(list.clone(), r#"["list","string"]"#, r#"["list","number"]"#),
        Err("[1]: a number is required".to_owned())
    );
    assert_eq!(
        attempt(list, r#"["list","string"]"#, r#"["set","string"]"#),
        Ok(Value::set(["x".into(), "2".into()]))
    );
    assert_eq!(
        attempt(Value::set([number("2"), number("1")]), r#"["set","number"]"#, r#"["list","string"]"#),
        Ok(Value::list(["1".into(), "2".into()]))
    );
    let wrapped = strings.map(|text| Value::dynamic(Type::String, text));
    assert_eq!(attempt(tuple, mixed, r#"["list","dynamic"]"#), Ok(Value::list(wrapped)));
    let disparate = Value::tuple([number("1"), Value::list([])]);
    assert_eq!(
        attempt(disparate, r#"["tuple",["number",["list","bool"]]]"#, r#"["list","dynamic"]"#),
        Err("list of any single type required, but have tuple".to_owned())
    );
}

#[test]
fn a_set_whose_length_is_open_becomes_an_unknown_list() {
    let open = Value::set(["a".into(), Value::unknown()]);
    assert_eq!(attempt(open, r#"["set","string"]"#, r#"["list","string"]"#), Ok(Value::unknown()));
    let one = Value::set([Value::unknown()]);
    assert_eq!(
        attempt(one, r#"["set","string"]"#, r#"["list","string"]"#),
        Ok(Value::list([Value::unknown()]))
    );
}

#[test]
fn objects_and_maps_convert_to_one_another() {
    let object = Value::object([("a", number("1")), ("b", "x".into())]);
    let from = r#"["object",{"a":"number","b":"string"}]"#;
    let map = Value::map([("a", "1".into()), ("b", "x".into())]);
    assert_eq!(attempt(object.clone(), from, r#"["map","string"]"#), Ok(map.clone()));
    assert_eq!(attempt(map.clone(), r#"["map","string"]"#, from), Ok(object.clone()));
    assert_eq!(
        attempt(map.clone(), r#"["map","string"]"#, r#"["object",{"a":"string","c":"string"},["c"]]"#),
        Ok(Value::object([("a", "1".into()), ("c", Value::Null)]))
    );
    assert_eq!(
        attempt(map.clone(), r#"["map","string"]"#, r#"["object",{"c":"string"}]"#),
        Err("map has no element for required attribute \"c\"".to_owned())
    );
    assert_eq!(
        attempt(map, r#"["map","string"]"#, r#"["object",{"b":["list","string"]},["b"]]"#),
        Err("[\"b\"]: list of string required, but have string".to_owned())
    );
    // Other attributes are dropped, missing optional ones become null.
    assert_eq!(
        attempt(object.clone(), from, r#"["object",{"a":"string","z":"bool"},["z"]]"#),
        Ok(Value::object([("a", "1".into()), ("z", Value::Null)]))
    );
    assert_eq!(
        attempt(object.clone(), from, r#"["object",{"a":"string","z":"bool"}]"#),
        Err("object required, but have object".to_owned())
    );
    assert_eq!(
        attempt(object, from, r#"["object",{"b":"number"}]"#),
        Err("b: a number is required".to_owned())
    );
}

#[test]
fn dynamic_values_are_wrapped_and_unwrapped() {
    let wrapped = Value::dynamic(Type::String, "7".into());
    assert_eq!(attempt(wrapped.clone(), "\"dynamic\"", "\"number\""), Ok(number("7")));
    assert_eq!(attempt("7".into(), "\"string\"", "\"dynamic\""), Ok(wrapped.clone()));
    assert_eq!(attempt(wrapped.clone(), "\"dynamic\"", "\"dynamic\""), Ok(wrapped.clone()));
    assert_eq!(
        attempt(wrapped, "\"dynamic\"", r#"["list","string"]"#),
        Err("list of string required, but have string".to_owned())
    );
    assert_eq!(attempt(Value::unknown(), "\"dynamic\"", "\"number\""), Ok(Value::unknown()));
    assert_eq!(
        attempt(
            Value::object([("d", true.into())]),
            r#"["object",{"d":"bool"}]"#,
            r#"["object",{"d":"dynamic"}]"#
        ),
        Ok(Value::object([("d", Value::dynamic(Type::Bool, true.into()))]))
    );
    assert_eq!(
        attempt(Value::Null, "\"string\"", "\"dynamic\""),
        Ok(Value::dynamic(Type::String, Value::Null))
    );
}

#[test]
fn unknowns_keep_what_is_known_of_their_length() {
    let not_null = Refinements { null: Some(false), ..Refinements::default() };
    let pair = r#"["tuple",["string","string"]]"#;
    let list = attempt(unknown(not_null.clone()), pair, r#"["list","string"]"#);
    assert_eq!(format!("{:?}", list.unwrap()), "[?, ?]");
    let Ok(Value::Unknown(Some(set))) = attempt(unknown(not_null), pair, r#"["set","string"]"#) else {
        panic!("not a refined unknown")
    };
    assert_eq!((set.null, set.length_minimum, set.length_maximum), (Some(false), Some(1), Some(2)));
    let long = Refinements { length_minimum: Some(3), length_maximum: Some(5), ..Refinements::default() };
    let Ok(Value::Unknown(Some(set))) = attempt(unknown(long), r#"["list","string"]"#, r#"["set","string"]"#)
    else {
        panic!("not a refined unknown")
    };
    assert_eq!((set.null, set.length_minimum, set.length_maximum), (None, Some(1), Some(5)));
    let prefix = Refinements { string_prefix: Some("1".into()), ..Refinements::default() };
    assert!(matches!(attempt(unknown(prefix), "\"string\"", "\"number\""), Ok(Value::Unknown(None))));
}

#[test]
fn a_value_that_is_not_of_its_type_is_reported_as_a_bug() {
    let error = convert(&true.into(), &Type::String, &Type::Number).unwrap_err();
    assert_eq!(error.to_string(), "the value is bool although its type is string; this is a bug");
}
