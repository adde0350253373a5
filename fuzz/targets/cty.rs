//! Terraform's types and values.

use isthmus_cty::json::{Json, from_json, to_json};
use isthmus_cty::msgpack::{decode, decode_untyped, encode};
use isthmus_cty::{Type, Value, convert};

use crate::input;

/// A type's JSON has one form.
pub(crate) fn type_json(bytes: &[u8]) {
    let Ok(own) = Type::from_json(bytes) else { return };
    let written = own.to_json();
    assert_eq!(Type::from_json(written.as_bytes()).as_ref(), Ok(&own), "{written}");
    let stripped = own.without_optional();
    assert_eq!(stripped.without_optional(), stripped);
}

/// MessagePack of any type: what is decoded and conforms is encoded in one form, which is decoded as
/// what has this form.
pub(crate) fn msgpack(bytes: &[u8]) {
    let (own, message) = input::typed(bytes);
    match decode(message, &own) {
        Err(error) => assert!(error.offset <= message.len(), "{error}"),
        // An empty map for an object is decoded, as by go-cty, and does not conform.
        Ok(value) if value.conforms(&own).is_ok() => {
            let written = encode(&value, &own).unwrap_or_else(|error| panic!("{error}: {value:?}"));
            let again = decode(&written, &own).unwrap_or_else(|error| panic!("{error}: {value:?}"));
            // The bytes contain more than equality compares: refinements. Values may differ in one case: a
            // double beyond 64 bits is written as its shortest decimal, as by go-cty, which is another number.
            assert_eq!(encode(&again, &own).as_ref(), Ok(&written), "{value:?}");
            json_form(&value, &own);
            let _ = convert(&value, &own, &Type::String);
        }
        Ok(_) => {}
    }
    let _ = decode_untyped(message);
}

/// JSON of any type, in the same way.
pub(crate) fn json(bytes: &[u8]) {
    let (own, document) = input::typed(bytes);
    if let Ok(tree) = Json::parse(document) {
        for text in [tree.to_string(), tree.to_pretty(), tree.to_readable()] {
            assert_eq!(Json::parse(text.as_bytes()).as_ref(), Ok(&tree), "{text}");
        }
    }
    if let Ok(value) = from_json(document, &own)
        && value.conforms(&own).is_ok()
    {
        json_form(&value, &own);
        let written = encode(&value, &own).unwrap_or_else(|error| panic!("{error}: {value:?}"));
        let again = decode(&written, &own).unwrap_or_else(|error| panic!("{error}: {value:?}"));
        assert_eq!(encode(&again, &own).as_ref(), Ok(&written), "{value:?}");
    }
}

/// The JSON of a value, if it has any, is read as a value with the same JSON.
fn json_form(value: &Value, own: &Type) {
    let Ok(written) = to_json(value, own) else { return };
    let again = from_json(written.as_bytes(), own).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(to_json(&again, own).as_ref(), Ok(&written));
}
