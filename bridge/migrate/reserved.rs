//! What a state may have but a stack cannot, because Pulumi gives it another meaning.
//!
//! An engine reads an object with the signature key as a secret or the like, and some texts as unknown
//! values: with either in a stack, every preview of the whole project would fail. This plugin, like
//! the Go bridge, reads a list `__defaults` in an object as the names of properties with defaults.

use isthmus_cty::json::Json;
use isthmus_proto::property::{Struct, Value as Property};

use isthmus_translate::inputs::is_defaults_mark;
use isthmus_translate::property::{PropertyView, SIGNATURE_KEY, classify, is_unknown_sentinel};

/// Something with another meaning in Pulumi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reserved {
    #[error("a map in it has the key {SIGNATURE_KEY}, by which Pulumi marks secrets: no stack can have it")]
    Signature,
    #[error("a text in it is the one by which Pulumi marks unknown values: no stack can have it")]
    Unknown,
    #[error("a map in it has a list with the key __defaults, which Pulumi's bridges reserve")]
    Defaults,
}

/// The first reserved thing in a state.
///
/// # Errors
/// If there is one.
pub fn refuse_reserved_in_state(json: &Json) -> Result<(), Reserved> {
    match json {
        Json::String(text) if is_unknown_sentinel(text) => Err(Reserved::Unknown),
        Json::Array(elements) => elements.iter().try_for_each(refuse_reserved_in_state),
        Json::Object(members) => members.iter().try_for_each(|(name, value)| {
            match name.as_str() {
                SIGNATURE_KEY => return Err(Reserved::Signature),
                "__defaults" if matches!(value, Json::Array(_)) => return Err(Reserved::Defaults),
                _ => {}
            }
            refuse_reserved_in_state(value)
        }),
        _ => Ok(()),
    }
}

/// The same for properties, in which secrets are marked.
///
/// # Errors
/// If there is one.
pub fn refuse_reserved(properties: &Struct) -> Result<(), Reserved> {
    properties.iter().try_for_each(|(name, value)| {
        if name == SIGNATURE_KEY {
            return Err(Reserved::Signature);
        }
        if is_defaults_mark(name, value) {
            return Err(Reserved::Defaults);
        }
        refuse_reserved_value(value)
    })
}

fn refuse_reserved_value(value: &Property) -> Result<(), Reserved> {
    match classify(value) {
        Ok(PropertyView::Unknown) => Err(Reserved::Unknown),
        Ok(PropertyView::Secret(inner)) => refuse_reserved_value(inner),
        Ok(PropertyView::List(elements)) => elements.iter().try_for_each(refuse_reserved_value),
        Ok(PropertyView::Object(members)) => refuse_reserved(members),
        Ok(
            PropertyView::Null | PropertyView::Bool(_) | PropertyView::Number(_) | PropertyView::String(_),
        ) => Ok(()),
        // Other objects with a signature: nothing that a provider returns is one.
        Ok(_) | Err(_) => Err(Reserved::Signature),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_translate::property::{UNKNOWN, secret};

    #[test]
    fn what_pulumi_reads_as_something_else_is_refused_at_any_depth() {
        for (text, expected) in [
            (format!(r#"{{"a":[{{"{SIGNATURE_KEY}":"x"}}]}}"#), Err(Reserved::Signature)),
            (format!(r#"{{"a":{{"b":"{UNKNOWN}"}}}}"#), Err(Reserved::Unknown)),
            (r#"{"a":{"__defaults":[]}}"#.to_owned(), Err(Reserved::Defaults)),
            (format!(r#"{{"a":{{"__defaults":"x","k":"{SIGNATURE_KEY}"}},"b":[1,null]}}"#), Ok(())),
        ] {
            let json = Json::parse(text.as_bytes()).expect("JSON");
            assert_eq!(refuse_reserved_in_state(&json), expected, "{text}");
            let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let properties = crate::property_json::bag_from_json(&json).expect("properties");
            assert_eq!(refuse_reserved(&properties), expected, "{text}");
        }
        let hidden = Struct::from([("a", secret(Property::from(UNKNOWN)))]);
        assert_eq!(refuse_reserved(&hidden), Err(Reserved::Unknown));
        assert_eq!(refuse_reserved(&Struct::from([("a", secret(Property::from("x")))])), Ok(()));
    }
}
