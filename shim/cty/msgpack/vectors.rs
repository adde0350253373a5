//! Vectors of go-cty, and its results for bytes that it does not write.

use super::{DecodeReason, decode, encode};
use crate::json::{JsonReason, from_json, to_json};
use crate::{Number, Type, Value};

/// A line of `testdata/vectors.txt`.
struct Vector {
    name: &'static str,
    own: Type,
    bytes: Vec<u8>,
    /// The JSON, or the error.
    json: Result<&'static str, &'static str>,
}

fn vectors() -> Vec<Vector> {
    let lines = include_str!("../testdata/vectors.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.splitn(4, " | ").collect();
            let [name, own, bytes, json] = fields[..] else { panic!("malformed line: {line}") };
            Vector {
                name,
                own: Type::from_json(own.as_bytes()).unwrap(),
                bytes: hex::decode(bytes).unwrap(),
                json: json.strip_prefix("ERR ").map_or(Ok(json), Err),
            }
        })
        .collect()
}

#[test]
fn what_go_cty_writes_is_read_and_written_back_to_the_byte() {
    let vectors = vectors();
    assert!(vectors.len() > 115, "only {} vectors", vectors.len());
    for Vector { name, own, bytes, json } in vectors {
        let value = decode(&bytes, &own).unwrap_or_else(|error| panic!("{name}: {error}"));
        value.conforms(&own).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(hex::encode(encode(&value, &own).unwrap()), hex::encode(&bytes), "{name}: {value:?}");
        // The negative zero loses its sign in MessagePack only.
        let json = if name == "num -0" { Ok("0") } else { json };
        match (to_json(&value, &own), json) {
            (Ok(written), Ok(expected)) => assert_eq!(written, expected, "{name}"),
            (Err(error), Err("value is not known")) => {
                assert_eq!(error.reason, JsonReason::Unknown, "{name}")
            }
            (Err(error), Err("cannot serialize infinity as JSON")) => {
                assert_eq!(error.reason, JsonReason::Infinity, "{name}");
            }
            (written, expected) => panic!("{name}: {written:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn json_of_go_cty_is_read_as_the_same_value() {
    for Vector { name, own, bytes, json } in vectors() {
        let Ok(json) = json else { continue };
        let value = from_json(json.as_bytes(), &own).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(value, decode(&bytes, &own).unwrap(), "{name}");
        assert_eq!(to_json(&value, &own).unwrap(), json, "{name}");
        // JSON does not preserve that a number was a double, which MessagePack does.
        if !matches!(name, "num float64(0.1)" | "set objects of doubles") {
            assert_eq!(hex::encode(encode(&value, &own).unwrap()), hex::encode(&bytes), "{name}");
        }
    }
}

#[test]
fn doubles_travel_as_go_cty_sends_them() {
    let lines = include_str!("../testdata/doubles.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(' ').collect();
        let [bits, bytes, json] = fields[..] else { panic!("malformed line: {line}") };
        let double = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        let value = Value::Number(Number::from_f64_exact(double).unwrap());
        // Whole doubles that are encoded as integers are exact; go-cty rounds them to 17 digits in
        // JSON, so that it stores another number than it sent.
        let travels_as_integer = double.fract() == 0.0 && double.abs() < 2_f64.powi(63);
        let json = if travels_as_integer { format!("{double:.0}") } else { json.to_owned() };
        assert_eq!(to_json(&value, &Type::Number).unwrap(), json, "{double:e}");
        assert_eq!(hex::encode(encode(&value, &Type::Number).unwrap()), bytes, "{double:e}");
        count += 1;
    }
    assert!(count > 100, "only {count} doubles");
}

#[test]
fn lenient_forms_are_read_as_go_cty_reads_them() {
    let both = r#"["object",{"a":"string","b":"number"}]"#;
    let number = |text: &str| Value::Number(Number::from_decimal(text).unwrap());
    for (what, own, bytes, expected) in [
        ("an extension of another type", "\"string\"", "d40500", Value::unknown()),
        ("an empty extension", "\"string\"", "c70000", Value::unknown()),
        ("a float32", "\"number\"", "ca3fc00000", number("1.5")),
        ("a number as text", "\"number\"", "a135", number("5")),
        ("a number with an exponent", "\"number\"", "a3316532", number("100")),
        ("a number as bin", "\"number\"", "c40135", number("5")),
        ("infinity as text", "\"number\"", "a3496e66", Value::Number(Number::INFINITY)),
        ("a uint64", "\"number\"", "cfffffffffffffffff", number("18446744073709551615")),
        ("an integer wider than needed", "\"number\"", "d30000000000000001", number("1")),
        ("text as bin", "\"string\"", "c40568656c6c6f", "hello".into()),
        ("text in a wide form", "\"string\"", "db0000000161", "a".into()),
        (
            "a dynamic type as str",
            "\"dynamic\"",
            "92a622626f6f6c22c3",
            Value::dynamic(Type::Bool, true.into()),
        ),
        ("a dynamic type that is dynamic", "\"dynamic\"", "92c4092264796e616d696322c0", Value::Null),
        ("trailing bytes", "\"string\"", "a16100", "a".into()),
        ("a refined unknown that is null", "\"string\"", "c7030c8101c3", Value::Null),
        ("refinements of a dynamic unknown", "\"dynamic\"", "c7030c8101c2", Value::unknown()),
        ("text that is not in NFC", "\"string\"", "a365cc81", "\u{e9}".into()),
        (
            "a repeated key of a map",
            r#"["map","string"]"#,
            "82a161a178a161a179",
            Value::map([("a", "y".into())]),
        ),
        ("a list of 16 bits", r#"["list","bool"]"#, "dc0001c3", Value::list([true.into()])),
        (
            "a repeated element of a set",
            r#"["set","bool"]"#,
            "93c3c2c3",
            Value::set([false.into(), true.into()]),
        ),
        (
            "attributes in another order",
            both,
            "82a16201a161a178",
            Value::object([("a", "x".into()), ("b", number("1"))]),
        ),
        ("an empty map for an object", both, "80", Value::object::<&str>([])),
        ("an empty array for a tuple", r#"["tuple",["bool"]]"#, "90", Value::tuple([])),
    ] {
        let own = Type::from_json(own.as_bytes()).unwrap();
        assert_eq!(decode(&hex::decode(bytes).unwrap(), &own), Ok(expected), "{what}");
    }
}

#[test]
fn what_go_cty_refuses_is_refused_with_its_place() {
    let both = r#"["object",{"a":"string","b":"number"}]"#;
    for (own, bytes, message) in [
        ("\"string\"", "c703058101c2", "unsupported extension type 5 with 3 bytes (byte 0)"),
        ("\"string\"", "d5050000", "unsupported extension type 5 with 2 bytes (byte 0)"),
        ("\"string\"", "c7040c8201c22a01", "the message ends within a value (byte 0)"),
        ("\"string\"", "01", "string is required (byte 0)"),
        ("\"string\"", "a2c328", "a string is not UTF-8 (byte 0)"),
        ("\"number\"", "a430783130", "a number is required (byte 0)"),
        ("\"number\"", "a0", "a number is required (byte 0)"),
        ("\"number\"", "ab31653939393939393939", "the message ends within a value (byte 0)"),
        ("\"number\"", "aa31653939393939393939", "a number is required (byte 0)"),
        ("\"number\"", "cb7ff8000000000000", "a number is required, but this is not a number (NaN) (byte 0)"),
        ("\"bool\"", "01", "bool is required (byte 0)"),
        ("\"bool\"", "c1", "bool is required (byte 0)"),
        ("\"bool\"", "", "the message ends within a value (byte 0)"),
        (both, "81a161a178", "an object with 2 attributes is required (1 given) (byte 0)"),
        (both, "83a161a178a16201a163c0", "an object with 2 attributes is required (3 given) (byte 0)"),
        (both, "82a161a178a163c0", "unsupported attribute \"c\" (byte 5)"),
        (both, "82a161a178a161a178", "an attribute is given twice (byte 0)"),
        (both, "8201a178a16201", "a string as key is required (byte 1)"),
        (both, "82a161a178a162c3", "b: number is required (byte 7)"),
        (r#"["list","string"]"#, "80", "a list is required (byte 0)"),
        (r#"["list","string"]"#, "92a16105", "[1]: string is required (byte 3)"),
        (r#"["map",["set","bool"]]"#, "81a16b9105", "[\"k\"][0]: bool is required (byte 4)"),
        (r#"["tuple",["bool","bool"]]"#, "91c3", "a tuple of length 2 is required (1 given) (byte 0)"),
        ("\"dynamic\"", "93c0c0c0", "a dynamic value must be an array of a type and a value (byte 0)"),
        ("\"dynamic\"", "c3", "a dynamic value must be an array of a type and a value (byte 0)"),
        ("\"dynamic\"", "92c3c3", "a dynamic value must be an array of a type and a value (byte 1)"),
        ("\"dynamic\"", "92a378787801", "the type of a dynamic value cannot be read (byte 1)"),
    ] {
        let own = Type::from_json(own.as_bytes()).unwrap();
        let error = decode(&hex::decode(bytes).unwrap(), &own).unwrap_err();
        assert_eq!(error.to_string(), message, "{own}: {bytes}");
    }
}

#[test]
fn oversize_refinements_are_refused() {
    let mut bytes = vec![0xc8, 0x04, 0x01, 0x0c];
    bytes.resize(bytes.len() + 1025, 0);
    let error = decode(&bytes, &Type::String).unwrap_err();
    assert_eq!(error.reason, DecodeReason::OversizeRefinements(1025));
}

#[test]
fn plans_captured_from_real_providers_are_understood() {
    let text = |text: &str| Value::string(text);
    // A create plan of a provider on the framework.
    let user = Type::from_json(
        br#"["object",{"age":"number","date_joined":"string","email":"string","language":"string","name":"string"}]"#,
    )
    .unwrap();
    let bytes = "85a36167651eab646174655f6a6f696e6564d40000a5656d61696ca66140782e696f\
                 a86c616e6775616765d40000a46e616d65a3416e6e";
    let expected = Value::object([
        ("age", 30.into()),
        ("date_joined", Value::unknown()),
        ("email", text("a@x.io")),
        ("language", Value::unknown()),
        ("name", text("Ann")),
    ]);
    assert_eq!(decode(&hex::decode(bytes).unwrap(), &user), Ok(expected.clone()));
    assert_eq!(hex::encode(encode(&expected, &user).unwrap()), bytes);

    // The same from SDKv2.
    let user =
        Type::from_json(br#"["object",{"age":"number","email":"string","id":"string","name":"string"}]"#)
            .unwrap();
    let bytes = "84a36167651ea5656d61696ca66140782e696fa26964d40000a46e616d65a3416e6e";
    let expected = Value::object([
        ("age", 30.into()),
        ("email", text("a@x.io")),
        ("id", Value::unknown()),
        ("name", text("Ann")),
    ]);
    assert_eq!(decode(&hex::decode(bytes).unwrap(), &user), Ok(expected.clone()));
    assert_eq!(hex::encode(encode(&expected, &user).unwrap()), bytes);
}

#[test]
fn blocks_with_dynamic_attributes_travel_as_a_tuple() {
    let block = Type::object([("d", Type::Dynamic)]);
    let written = Value::tuple([Value::object([("d", Value::dynamic(Type::String, "x".into()))])]);
    let position = Value::dynamic(Type::tuple([block]), written);
    let bytes = encode(&position, &Type::Dynamic).unwrap();
    let own = br#"["tuple",[["object",{"d":"string"}]]]"#;
    let expected = [&[0x92, 0xc4, 0x25], &own[..], &[0x91, 0x81, 0xa1, b'd', 0xa1, b'x']].concat();
    assert_eq!(hex::encode(bytes), hex::encode(expected));

    let empty = encode(&Value::dynamic(Type::tuple([]), Value::tuple([])), &Type::Dynamic).unwrap();
    assert_eq!(hex::encode(empty), format!("92c40c{}90", hex::encode(br#"["tuple",[]]"#)));
}
