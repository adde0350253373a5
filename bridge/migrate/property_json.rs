//! Properties as in a stack export: JSON, in which a secret is an object with its value as a JSON
//! text, in the clear (`plaintext`) or encrypted (`ciphertext`).
//!
//! Unlike on the wire, numbers are JSON's, and there are no unknown values.

use isthmus_proto::property::{Struct, Value as Property};
use serde_json::{Map, Value as Json};

use super::secrets_provider::PassphraseCrypter;
use isthmus_translate::property::{PropertyView, classify, number_to_json, secret, without_secrets};

/// The key by which special objects are recognized, and its value for secrets.
const SIGNATURE_KEY: &str = "4dabf18193072939515e22adb298388d";
const SECRET_SIGNATURE: &str = "1b47061264138c4ac30d75fd1eb44270";
const PLAINTEXT: &str = "plaintext";
const CIPHERTEXT: &str = "ciphertext";

/// A value of a stack export cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportedValueError {
    #[error("a secret is encrypted")]
    Encrypted,
    #[error("a secret has no valid plaintext")]
    Plaintext,
    #[error("a value is nested too deeply")]
    Depth,
}

/// The JSON of a bag. Without `crypter`, secrets are in the clear.
pub(crate) fn bag_to_json(bag: &Struct, crypter: Option<&PassphraseCrypter>) -> Json {
    Json::Object(bag.iter().map(|(name, value)| (name.to_owned(), to_json(value, crypter))).collect())
}

fn to_json(value: &Property, crypter: Option<&PassphraseCrypter>) -> Json {
    if let Ok(PropertyView::Secret(inner)) = classify(value) {
        // A secret within a secret is part of its text.
        let inner = without_secrets(inner).unwrap_or_default();
        let text = to_json(&inner, None).to_string();
        let (member, text) = match crypter {
            None => (PLAINTEXT, text),
            Some(crypter) => (CIPHERTEXT, crypter.encrypt(&text)),
        };
        let mut members = Map::new();
        members.insert(SIGNATURE_KEY.to_owned(), Json::from(SECRET_SIGNATURE));
        members.insert(member.to_owned(), Json::from(text));
        return Json::Object(members);
    }
    match value {
        Property::Null => Json::Null,
        Property::Bool(value) => Json::Bool(*value),
        Property::Number(number) => number_to_json(*number),
        Property::String(text) => Json::String(text.clone()),
        Property::List(elements) => {
            Json::Array(elements.iter().map(|element| to_json(element, crypter)).collect())
        }
        Property::Struct(bag) => bag_to_json(bag, crypter),
    }
}

/// The bag of a JSON object; anything else is an empty one.
///
/// # Errors
/// If it has an encrypted or invalid secret.
pub fn bag_from_json(json: &Json) -> Result<Struct, ExportedValueError> {
    let Json::Object(members) = json else { return Ok(Struct::new()) };
    members.iter().map(|(name, value)| Ok((name.clone(), from_json(value, 0)?))).collect()
}

fn from_json(json: &Json, depth: usize) -> Result<Property, ExportedValueError> {
    if depth > isthmus_proto::property::MAX_DEPTH / 2 {
        return Err(ExportedValueError::Depth);
    }
    Ok(match json {
        Json::Null => Property::Null,
        Json::Bool(value) => Property::Bool(*value),
        Json::Number(number) => Property::Number(number.as_f64().unwrap_or_default()),
        Json::String(text) => Property::String(text.clone()),
        Json::Array(elements) => {
            let elements = elements.iter().map(|element| from_json(element, depth + 1));
            Property::List(elements.collect::<Result<_, _>>()?)
        }
        Json::Object(members) if is_secret(members) => {
            let plaintext = match members.get(PLAINTEXT) {
                Some(Json::String(text)) => text,
                _ if members.contains_key(CIPHERTEXT) => return Err(ExportedValueError::Encrypted),
                _ => return Err(ExportedValueError::Plaintext),
            };
            let value: Json = serde_json::from_str(plaintext).map_err(|_| ExportedValueError::Plaintext)?;
            secret(from_json(&value, depth + 1)?)
        }
        Json::Object(members) => {
            let members =
                members.iter().map(|(name, value)| Ok((name.clone(), from_json(value, depth + 1)?)));
            Property::Struct(members.collect::<Result<_, _>>()?)
        }
    })
}

fn is_secret(members: &Map<String, Json>) -> bool {
    members.get(SIGNATURE_KEY).and_then(Json::as_str) == Some(SECRET_SIGNATURE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bag() -> Struct {
        Struct::from([
            ("count", Property::Number(3.0)),
            ("half", Property::Number(0.5)),
            ("huge", Property::Number(1e300)),
            ("list", Property::List(vec![Property::Bool(true), Property::Null])),
            ("password", secret(Property::from("p\"w"))),
            ("parts", secret(Property::List(vec![Property::from("a")]))),
            ("tags", Property::Struct(Struct::from([("k", Property::from("v"))]))),
        ])
    }

    #[test]
    fn secrets_are_objects_with_their_value_as_json_text() {
        let sealed = |text: &str| json!({ SIGNATURE_KEY: SECRET_SIGNATURE, "plaintext": text });
        assert_eq!(
            bag_to_json(&bag(), None),
            json!({
                "count": 3, "half": 0.5, "huge": 1e300, "list": [true, null],
                "password": sealed(r#""p\"w""#), "parts": sealed(r#"["a"]"#), "tags": { "k": "v" },
            })
        );
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(bag_from_json(&bag_to_json(&bag(), None)), Ok(bag()));
    }

    #[test]
    fn with_a_passphrase_secrets_are_encrypted() {
        let crypter = PassphraseCrypter::new(&isthmus_common::Secret::new("p".to_owned()));
        let json = bag_to_json(&bag(), Some(&crypter));
        assert!(
            json["password"]["ciphertext"].as_str().is_some_and(|text| text.starts_with("v1:")),
            "{json}"
        );
        assert!(!json.to_string().contains("plaintext") && !json.to_string().contains("p\\\"w"), "{json}");
    }

    #[test]
    fn an_encrypted_or_invalid_secret_is_refused() {
        let read = |member: &str, text: &str| {
            bag_from_json(&json!({ "a": [{ SIGNATURE_KEY: SECRET_SIGNATURE, member: text }] }))
        };
        assert_eq!(read("ciphertext", "v1:a:b"), Err(ExportedValueError::Encrypted));
        assert_eq!(read("plaintext", "{"), Err(ExportedValueError::Plaintext));
        assert_eq!(read("other", ""), Err(ExportedValueError::Plaintext));
    }
}
