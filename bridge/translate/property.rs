//! Meaning of property values: unknowns, secrets, assets and references are encoded in plain
//! values.
//!
//! A bag on the wire is a `google.protobuf.Struct`. By convention, seven particular strings mean
//! unknown values, and an object with a particular key (the signature) is special. Only
//! [`classify`] implements this, so that no other code can confuse a secret with an object.

use isthmus_proto::property::{Struct, Value};
use thiserror::Error;

/// The key that makes an object special.
pub const SIGNATURE_KEY: &str = "4dabf18193072939515e22adb298388d";

/// The key of the value within a secret or an output.
pub const VALUE_KEY: &str = "value";

const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";
const ASSET: &str = "c44067f5952c0a294b673a41bacd8c17";
const ARCHIVE: &str = "0def7320c3a5731c473e5ecbe6d01bc7";
const RESOURCE_REFERENCE: &str = "5cf8f73096256a8f31e491e813e4eb8e";
const OUTPUT: &str = "d0e6a833031e9bbcd3f4e8bde6ca49a4";
const BYTE_STRING: &str = "803fd3297a5875dc03ca845dda5d2a98";

/// The sentinel for an unknown string, which engines and SDKs also accept for an unknown of any
/// other kind.
pub const UNKNOWN: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/// All sentinels. Each was for one kind (bool, number, string, list, asset, archive, object), which
/// senders never observed, so each means an unknown of unspecified kind.
const UNKNOWNS: [&str; 7] = [
    "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
    "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
    UNKNOWN,
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
    "030794c1-ac77-496b-92df-f27374a8bd58",
    "e48ece36-62e2-4504-bad9-02848725956a",
    "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
];

/// The decoded form of a property value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PropertyView<'a> {
    /// Null, which providers treat as absent.
    Null,
    Bool(bool),
    Number(f64),
    /// A string that is no sentinel.
    String(&'a str),
    List(&'a [Value]),
    /// An object without a signature.
    Object(&'a Struct),
    Unknown,
    Secret(&'a Value),
    Asset {
        /// SHA-256 in hexadecimal; absent from legacy engines.
        hash: Option<&'a str>,
        source: AssetSource<'a>,
    },
    Archive {
        /// SHA-256 in hexadecimal; absent from legacy engines.
        hash: Option<&'a str>,
        source: ArchiveSource<'a>,
    },
    ResourceReference {
        urn: &'a str,
        id: ReferenceId<'a>,
    },
    /// An output with its dependencies.
    Output {
        /// Absent if it is unknown.
        value: Option<&'a Value>,
        secret: bool,
        /// URNs.
        dependencies: &'a [Value],
    },
    /// Bytes that are not UTF-8, in base64.
    ByteString(&'a str),
}

/// Location of an asset's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetSource<'a> {
    Text(&'a str),
    Path(&'a str),
    Uri(&'a str),
    /// Left out, as in everything that the engine reads from its state.
    Elided,
}

/// Location of an archive's contents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArchiveSource<'a> {
    /// Assets by name.
    Assets(&'a Struct),
    /// A directory or archive file.
    Path(&'a str),
    Uri(&'a str),
    Elided,
}

/// The id within a resource reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceId<'a> {
    /// Components have none.
    Absent,
    /// The resource is not created yet.
    Unknown,
    Known(&'a str),
}

/// A special object is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PropertyError {
    /// An unknown signature; guessing could expose a secret.
    #[error(
        "the value is an object with an unknown signature {signature:?}; the engine may be newer than this program"
    )]
    UnknownSignature {
        /// The value of the signature key, if it has the form of one.
        signature: String,
    },
    /// A known signature whose object lacks a required member.
    #[error("the value is marked as {kind}, but its {field:?} is {problem}")]
    Malformed {
        /// The intended kind.
        kind: &'static str,
        /// The invalid key.
        field: &'static str,
        problem: &'static str,
    },
}

/// Decodes `value`, one level deep.
pub fn classify(value: &Value) -> Result<PropertyView<'_>, PropertyError> {
    Ok(match value {
        Value::Null => PropertyView::Null,
        Value::Bool(value) => PropertyView::Bool(*value),
        Value::Number(value) => PropertyView::Number(*value),
        Value::String(text) if is_unknown_sentinel(text) => PropertyView::Unknown,
        Value::String(text) => PropertyView::String(text),
        Value::List(elements) => PropertyView::List(elements),
        Value::Struct(object) => match object.get(SIGNATURE_KEY) {
            None => PropertyView::Object(object),
            Some(Value::String(signature)) => classify_signed(signature, object)?,
            Some(_) => {
                return Err(PropertyError::Malformed {
                    kind: "a special value",
                    field: SIGNATURE_KEY,
                    problem: "not a string",
                });
            }
        },
    })
}

/// Whether `text` is a sentinel for an unknown.
pub fn is_unknown_sentinel(text: &str) -> bool {
    text.len() == UNKNOWN.len() && UNKNOWNS.contains(&text)
}

/// Marks `value` as secret.
pub fn secret(value: Value) -> Value {
    Value::Struct(Struct::from([(SIGNATURE_KEY, Value::from(SECRET)), (VALUE_KEY, value)]))
}

/// An output with its dependencies; unknown if `value` is `None`.
pub fn output(value: Option<Value>, secret: bool, dependencies: Vec<Value>) -> Value {
    let mut output = Struct::from([(SIGNATURE_KEY, Value::from(OUTPUT))]);
    if let Some(value) = value {
        output.insert(VALUE_KEY, value);
    }
    if secret {
        output.insert("secret", Value::Bool(true));
    }
    if !dependencies.is_empty() {
        output.insert("dependencies", Value::List(dependencies));
    }
    Value::Struct(output)
}

pub fn unknown() -> Value {
    Value::from(UNKNOWN)
}

/// Unwraps secrets and outputs, and returns whether one was secret.
///
/// Elements may still be secret.
pub fn unwrap(value: &Value) -> Result<(PropertyView<'_>, bool), PropertyError> {
    let mut secret = false;
    let mut value = value;
    loop {
        match classify(value)? {
            PropertyView::Secret(inner) => {
                secret = true;
                value = inner;
            }
            PropertyView::Output { value: inner, secret: marked, .. } => {
                secret |= marked;
                match inner {
                    Some(inner) => value = inner,
                    None => return Ok((PropertyView::Unknown, secret)),
                }
            }
            view => return Ok((view, secret)),
        }
    }
}

/// `value` without secret and output wrappers, at any depth; unknown outputs become the sentinel.
///
/// Other special objects are unchanged.
pub fn without_secrets(value: &Value) -> Result<Value, PropertyError> {
    Ok(match classify(value)? {
        PropertyView::Secret(inner) | PropertyView::Output { value: Some(inner), .. } => {
            without_secrets(inner)?
        }
        PropertyView::Output { value: None, .. } => unknown(),
        PropertyView::List(elements) => {
            // A plain loop: adapters would take several stack frames per level of a bag.
            let mut plain = Vec::with_capacity(elements.len());
            for element in elements {
                plain.push(without_secrets(element)?);
            }
            Value::List(plain)
        }
        PropertyView::Object(object) => Value::Struct(bag_without_secrets(object)?),
        PropertyView::Null
        | PropertyView::Bool(_)
        | PropertyView::Number(_)
        | PropertyView::String(_)
        | PropertyView::Unknown
        | PropertyView::Asset { .. }
        | PropertyView::Archive { .. }
        | PropertyView::ResourceReference { .. }
        | PropertyView::ByteString(_) => value.clone(),
    })
}

/// `bag` without secret and output wrappers, at any depth.
pub fn bag_without_secrets(bag: &Struct) -> Result<Struct, PropertyError> {
    let mut plain = Struct::new();
    for (name, value) in bag.iter() {
        plain.insert(name, without_secrets(value)?);
    }
    Ok(plain)
}

/// Whether `value` contains anything unknown.
pub fn contains_unknown(value: &Value) -> Result<bool, PropertyError> {
    any(value, &|view| matches!(view, PropertyView::Unknown | PropertyView::Output { value: None, .. }))
}

/// Whether `value` contains a secret.
pub fn contains_secret(value: &Value) -> Result<bool, PropertyError> {
    any(value, &|view| matches!(view, PropertyView::Secret(_) | PropertyView::Output { secret: true, .. }))
}

/// The name of a kind in messages to users.
pub fn kind(view: &PropertyView<'_>) -> &'static str {
    match view {
        PropertyView::Null => "nothing",
        PropertyView::Bool(_) => "a boolean",
        PropertyView::Number(_) => "a number",
        PropertyView::String(_) => "a string",
        PropertyView::List(_) => "a list",
        PropertyView::Object(_) => "an object",
        PropertyView::Unknown => "a value that is not known yet",
        PropertyView::Secret(_) => "a secret",
        PropertyView::Asset { .. } => "an asset",
        PropertyView::Archive { .. } => "an archive",
        PropertyView::ResourceReference { .. } => "a resource",
        PropertyView::Output { .. } => "an output",
        PropertyView::ByteString(_) => "text that is not UTF-8",
    }
}

fn any(value: &Value, test: &impl Fn(&PropertyView<'_>) -> bool) -> Result<bool, PropertyError> {
    let view = classify(value)?;
    if test(&view) {
        return Ok(true);
    }
    match view {
        PropertyView::Secret(inner) | PropertyView::Output { value: Some(inner), .. } => any(inner, test),
        PropertyView::List(elements) => any_of(elements.iter(), test),
        PropertyView::Object(object) => any_of(object.values(), test),
        _ => Ok(false),
    }
}

fn any_of<'a>(
    values: impl Iterator<Item = &'a Value>,
    test: &impl Fn(&PropertyView<'_>) -> bool,
) -> Result<bool, PropertyError> {
    for value in values {
        if any(value, test)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A signature, for an error. What is none may be a value in the wrong place, and a secret.
fn shown(signature: &str) -> String {
    let is_one =
        signature.len() == SIGNATURE_KEY.len() && signature.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_one { signature.to_owned() } else { "…".to_owned() }
}

fn classify_signed<'a>(signature: &str, object: &'a Struct) -> Result<PropertyView<'a>, PropertyError> {
    Ok(match signature {
        SECRET => {
            let missing = PropertyError::Malformed { kind: "a secret", field: "value", problem: "missing" };
            PropertyView::Secret(object.get(VALUE_KEY).ok_or(missing)?)
        }
        ASSET => {
            let source = match texts(object, "an asset", ["text", "path", "uri"])? {
                [_, Some(path), _] => AssetSource::Path(path),
                [_, _, Some(uri)] => AssetSource::Uri(uri),
                [Some(text), _, _] => AssetSource::Text(text),
                // A text asset may be empty, which newer engines leave out and legacy ones do not.
                [None, None, None] if object.get("text").is_some() => AssetSource::Text(""),
                [None, None, None] => AssetSource::Elided,
            };
            let [hash] = texts(object, "an asset", ["hash"])?;
            PropertyView::Asset { hash, source }
        }
        ARCHIVE => {
            let [path, uri, hash] = texts(object, "an archive", ["path", "uri", "hash"])?;
            let source = match (object.get("assets"), path, uri) {
                (Some(Value::Struct(assets)), ..) => ArchiveSource::Assets(assets),
                (None | Some(Value::Null), Some(path), _) => ArchiveSource::Path(path),
                (None | Some(Value::Null), None, Some(uri)) => ArchiveSource::Uri(uri),
                (None | Some(Value::Null), None, None) => ArchiveSource::Elided,
                (Some(_), ..) => {
                    return Err(PropertyError::Malformed {
                        kind: "an archive",
                        field: "assets",
                        problem: "not an object",
                    });
                }
            };
            PropertyView::Archive { hash, source }
        }
        RESOURCE_REFERENCE => {
            let [urn] = texts(object, "a resource reference", ["urn"])?;
            let missing =
                PropertyError::Malformed { kind: "a resource reference", field: "urn", problem: "missing" };
            let id = match object.get("id") {
                None | Some(Value::Null) => ReferenceId::Absent,
                Some(Value::String(id)) if id.is_empty() || is_unknown_sentinel(id) => ReferenceId::Unknown,
                Some(Value::String(id)) => ReferenceId::Known(id),
                Some(_) => {
                    return Err(PropertyError::Malformed {
                        kind: "a resource reference",
                        field: "id",
                        problem: "not a string",
                    });
                }
            };
            PropertyView::ResourceReference { urn: urn.ok_or(missing)?, id }
        }
        OUTPUT => {
            let secret = match object.get("secret") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(secret)) => *secret,
                Some(_) => {
                    return Err(PropertyError::Malformed {
                        kind: "an output",
                        field: "secret",
                        problem: "not a boolean",
                    });
                }
            };
            let dependencies = match object.get("dependencies") {
                None | Some(Value::Null) => &[][..],
                Some(Value::List(dependencies)) => dependencies,
                Some(_) => {
                    return Err(PropertyError::Malformed {
                        kind: "an output",
                        field: "dependencies",
                        problem: "not a list",
                    });
                }
            };
            PropertyView::Output { value: object.get("value"), secret, dependencies }
        }
        BYTE_STRING => match object.get("value") {
            Some(Value::String(text)) => PropertyView::ByteString(text),
            _ => {
                return Err(PropertyError::Malformed {
                    kind: "text that is not UTF-8",
                    field: "value",
                    problem: "missing, or not a string",
                });
            }
        },
        other => {
            return Err(PropertyError::UnknownSignature { signature: shown(other) });
        }
    })
}

/// The non-empty texts under `keys`.
fn texts<'a, const N: usize>(
    object: &'a Struct,
    kind: &'static str,
    keys: [&'static str; N],
) -> Result<[Option<&'a str>; N], PropertyError> {
    let mut found = [None; N];
    for (slot, key) in found.iter_mut().zip(keys) {
        match object.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => *slot = Some(text.as_str()).filter(|text| !text.is_empty()),
            Some(_) => return Err(PropertyError::Malformed { kind, field: key, problem: "not a string" }),
        }
    }
    Ok(found)
}

/// The integers that each double up to it holds.
const LARGEST_INTEGER: f64 = 9_007_199_254_740_992.0;

/// A number; one without a fraction has none in the text either.
pub fn number_to_json(number: f64) -> serde_json::Value {
    if number.fract() == 0.0
        && number.abs() <= LARGEST_INTEGER
        && !(number == 0.0 && number.is_sign_negative())
    {
        #[expect(clippy::cast_possible_truncation, reason = "it is an integer within the range of i64")]
        return serde_json::Value::Number(serde_json::Number::from(number as i64));
    }
    serde_json::Number::from_f64(number).map_or(serde_json::Value::Null, serde_json::Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_zero_and_large_numbers_keep_their_value() {
        assert_eq!(number_to_json(-0.0).to_string(), "-0.0");
        assert_eq!(number_to_json(-7.0).to_string(), "-7");
        assert_eq!(number_to_json(1e20).as_f64(), Some(1e20));
    }

    fn signed(signature: &str, fields: &[(&str, Value)]) -> Value {
        let mut all = Struct::from([(SIGNATURE_KEY, text(signature))]);
        all.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        Value::Struct(all)
    }

    fn text(text: &str) -> Value {
        Value::from(text)
    }

    #[test]
    fn each_sentinel_is_an_unknown_and_nothing_else_is() {
        for sentinel in UNKNOWNS {
            assert_eq!(classify(&text(sentinel)), Ok(PropertyView::Unknown), "{sentinel}");
        }
        let near = "04da6b54-80e4-46f7-96ec-b56ff0331ba8";
        assert_eq!(classify(&text(near)), Ok(PropertyView::String(near)));
    }

    #[test]
    fn signatures_say_what_an_object_means() {
        let value = text("v");
        assert_eq!(classify(&secret(value.clone())), Ok(PropertyView::Secret(&value)));

        let asset = signed(ASSET, &[("hash", text("abc")), ("path", text("./file"))]);
        let expected = PropertyView::Asset { hash: Some("abc"), source: AssetSource::Path("./file") };
        assert_eq!(classify(&asset), Ok(expected));

        let from_lumi = signed(ASSET, &[("text", text("")), ("path", text("")), ("uri", text("http://x"))]);
        let expected = PropertyView::Asset { hash: None, source: AssetSource::Uri("http://x") };
        assert_eq!(classify(&from_lumi), Ok(expected));

        let elided = signed(ARCHIVE, &[("hash", text("abc"))]);
        let expected = PropertyView::Archive { hash: Some("abc"), source: ArchiveSource::Elided };
        assert_eq!(classify(&elided), Ok(expected));

        let reference = signed(RESOURCE_REFERENCE, &[("urn", text("urn:x")), ("id", text("i-1"))]);
        let expected = PropertyView::ResourceReference { urn: "urn:x", id: ReferenceId::Known("i-1") };
        assert_eq!(classify(&reference), Ok(expected));

        let pending = signed(RESOURCE_REFERENCE, &[("urn", text("urn:x")), ("id", unknown())]);
        let expected = PropertyView::ResourceReference { urn: "urn:x", id: ReferenceId::Unknown };
        assert_eq!(classify(&pending), Ok(expected));

        let output = signed(OUTPUT, &[("secret", Value::Bool(true))]);
        let expected = PropertyView::Output { value: None, secret: true, dependencies: &[] };
        assert_eq!(classify(&output), Ok(expected));

        let bytes = signed(BYTE_STRING, &[("value", text("/w=="))]);
        assert_eq!(classify(&bytes), Ok(PropertyView::ByteString("/w==")));
    }

    #[test]
    fn malformed_special_objects_are_errors() {
        for bad in [
            signed("no such signature", &[]),
            signed(SECRET, &[]),
            signed(ASSET, &[("path", Value::Bool(true))]),
            signed(ARCHIVE, &[("assets", text("x"))]),
            signed(RESOURCE_REFERENCE, &[("id", text("x"))]),
            signed(RESOURCE_REFERENCE, &[("urn", text("x")), ("id", Value::Number(1.0))]),
            signed(OUTPUT, &[("secret", text("x"))]),
            signed(OUTPUT, &[("dependencies", text("x"))]),
            signed(BYTE_STRING, &[]),
            Value::Struct(Struct::from([(SIGNATURE_KEY, Value::Number(1.0))])),
        ] {
            assert!(classify(&bad).is_err(), "{bad:?}");
            assert!(without_secrets(&Value::List(vec![bad.clone()])).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn secrets_and_outputs_are_unwrapped_at_any_depth() {
        let output = signed(OUTPUT, &[("value", secret(text("deep")))]);
        let pending = signed(OUTPUT, &[]);
        let value = secret(Value::List(vec![output, pending]));
        let plain = without_secrets(&value).unwrap();
        assert_eq!(plain, Value::List(vec![text("deep"), unknown()]));
        assert!(contains_secret(&value).unwrap());
        assert!(contains_unknown(&value).unwrap());
        assert!(!contains_secret(&plain).unwrap());
        assert_eq!(unwrap(&secret(secret(text("x")))), Ok((PropertyView::String("x"), true)));
    }

    #[test]
    fn bags_as_deep_as_the_decoder_lets_them_be_fit_the_stack() {
        let layers = 0..isthmus_proto::property::MAX_DEPTH / 4;
        let deep = layers.fold(Value::Null, |deep, _| {
            let object = Value::Struct(Struct::from([("k", Value::List(vec![deep]))]));
            Value::List(vec![secret(object)])
        });
        // The stack size of a tokio worker.
        let walk = std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || (contains_unknown(&deep), contains_secret(&deep), without_secrets(&deep).is_ok()));
        assert_eq!(walk.unwrap().join().unwrap(), (Ok(false), Ok(true), true));
    }
}
