//! The forms in a recording that JSON has none for.
//!
//! Such a form is an object whose only or first member begins with `$`; a name of a program that begins so has one more.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use isthmus_cty::json::Json;

/// Bytes in base64.
pub(super) const BYTES: &str = "$bytes";
/// Private data of a provider, as text.
pub(super) const PRIVATE: &str = "$private";
/// The length of what is left out.
pub(super) const WITHHELD: &str = "$withheld";
/// An identity in MessagePack, in base64.
pub(super) const IDENTITY: &str = "$identity";
/// A stored state in JSON.
pub(super) const STATE: &str = "$state";
/// An unknown value, with what is known of it.
pub(super) const UNKNOWN: &str = "$unknown";
/// A value of a dynamic type, with its type in `TYPE`.
pub(super) const DYNAMIC: &str = "$value";
pub(super) const TYPE: &str = "$type";

/// Whether a field is about the run of the engine, which has ended when it is replayed: addresses, and tokens for them.
pub(super) fn is_of_the_run(field: &str) -> bool {
    ["_address", "_target", "_token", "monitorEndpoint", "stack_trace_handle"]
        .iter()
        .any(|end| field.ends_with(end))
}

/// A JSON object of these members.
pub(super) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
}

/// A member that is a text; without one, an empty text.
pub(super) fn text(json: &Json, name: &str) -> String {
    match json.member(name) {
        Some(Json::String(text)) => text.clone(),
        _ => String::new(),
    }
}

/// A name that is none of this format's.
pub(super) fn escaped(name: &str) -> String {
    if name.starts_with('$') { format!("${name}") } else { name.to_owned() }
}

/// The name that was escaped.
pub(super) fn unescaped(name: &str) -> &str {
    if name.starts_with("$$") { &name[1..] } else { name }
}

/// What is left out of a recording.
pub(super) fn withheld(length: usize) -> Json {
    object([(WITHHELD, Json::Number(length.to_string()))])
}

/// Bytes that hold no secret.
pub(super) fn open_bytes(bytes: &[u8]) -> Json {
    object([(BYTES, Json::String(BASE64.encode(bytes)))])
}
