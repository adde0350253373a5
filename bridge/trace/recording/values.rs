//! Terraform's values in a recording: JSON that is read back by the type, with placeholders for secrets.
//!
//! What JSON has no form for is an object whose only or first member begins with `$`; a name of a program that begins so has
//! one more.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use isthmus_cty::json::Json;
use isthmus_cty::{Number, Type, Value, msgpack};
use isthmus_known_secrets::KnownSecrets;

use super::placeholders::Placeholders;
use crate::transcript::Masks;
use crate::transcript::masks::Step;
use crate::transcript::values::Place;

/// An unknown value, with what is known of it.
pub(super) const UNKNOWN: &str = "$unknown";
/// A value of a dynamic type, with its type in `TYPE`.
const DYNAMIC: &str = "$value";
const TYPE: &str = "$type";

/// A JSON object of these members.
pub(super) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
}

/// A name that is none of this format's.
pub(super) fn escaped(name: &str) -> String {
    if name.starts_with('$') { format!("${name}") } else { name.to_owned() }
}

/// The name that was escaped.
pub(super) fn unescaped(name: &str) -> &str {
    if name.starts_with("$$") { &name[1..] } else { name }
}

/// Writes a value and its schema.
pub(super) struct ValueWriter<'a> {
    pub placeholders: &'a mut Placeholders,
    pub masks: &'a Masks,
    /// Whether keys of secret elements are secret too: in a provider's configuration, whose properties are secret as a whole.
    pub has_secret_keys: bool,
    path: Vec<Step>,
}

impl<'a> ValueWriter<'a> {
    pub(super) fn new(placeholders: &'a mut Placeholders, masks: &'a Masks) -> Self {
        Self { placeholders, masks, has_secret_keys: false, path: Vec::new() }
    }

    /// A value of a type. Without a place it is secret.
    pub(super) fn value(&mut self, value: &Value, own: &Type, place: Option<Place<'_>>) -> Json {
        let place = place.filter(|_| !self.masks.is_secret(&self.path));
        let is_secret = place.is_none();
        match (value, own) {
            (Value::Null, _) => Json::Null,
            (Value::Unknown(_), _) => object([(UNKNOWN, unknown(value, own))]),
            (Value::Bool(value), _) => Json::Bool(self.placeholders.boolean(*value, is_secret)),
            (Value::Number(number), _) => {
                Json::Number(self.placeholders.number(&number.to_decimal_text(), is_secret))
            }
            (Value::String(text), _) => Json::String(self.placeholders.text(text, is_secret)),
            (Value::Dynamic(both), _) => {
                let (own, value) = (&both.0, &both.1);
                let (own, value) = self.renamed_within(own, value, is_secret);
                let json = Json::parse(own.to_json().as_bytes()).unwrap_or(Json::Null);
                object([(TYPE, json), (DYNAMIC, self.value(&value, &own, place))])
            }
            (Value::List(elements) | Value::Set(elements) | Value::Tuple(elements), _) => {
                if !is_secret && matches!(value, Value::Set(_)) && self.masks.is_partly_secret(&self.path) {
                    return self.mixed_set(value, own);
                }
                let elements = elements.iter().enumerate().map(|(index, element)| {
                    let own = match own {
                        Type::List(element) | Type::Set(element) => element,
                        Type::Tuple(types) => types.get(index).unwrap_or(&Type::Dynamic),
                        _ => &Type::Dynamic,
                    };
                    self.below(Step::Index(index), |writer| writer.value(element, own, place))
                });
                let mut elements: Vec<Json> = elements.collect();
                if matches!(value, Value::Set(_)) {
                    // Placeholders are in another order than what they replace.
                    elements.sort_by_cached_key(Json::to_string);
                }
                Json::Array(elements)
            }
            (Value::Map(members), _) => {
                let own = if let Type::Map(element) = own { element } else { &Type::Dynamic };
                let members = members.iter().map(|(name, value)| {
                    let step = Step::Name(name.to_string());
                    let is_secret = is_secret
                        || self.has_secret_keys
                            && self.below(step.clone(), |writer| writer.masks.is_secret(&writer.path));
                    let key = escaped(&self.placeholders.text(name, is_secret));
                    let element = place.map(Place::element);
                    (key, self.below(step, |writer| writer.value(value, own, element)))
                });
                Json::Object(members.collect())
            }
            (Value::Object(members), _) => {
                let members = members.iter().map(|(name, value)| {
                    let own = match own {
                        Type::Object(object) => object.attributes.get(name).unwrap_or(&Type::Dynamic),
                        _ => &Type::Dynamic,
                    };
                    let member = place.and_then(|place| place.member(name, false));
                    let step = Step::Name(name.to_string());
                    (escaped(name), self.below(step, |writer| writer.value(value, own, member)))
                });
                Json::Object(members.collect())
            }
        }
    }

    /// A value of a type of its own and this type, in which attributes below secrets are renamed.
    fn renamed_within(&mut self, own: &Type, value: &Value, is_secret: bool) -> (Type, Value) {
        if is_secret || self.masks.is_secret(&self.path) {
            return (self.renamed_type(own, true), self.renamed(value));
        }
        match (own, value) {
            (Type::Object(object), Value::Object(members)) => {
                let members = members.iter().map(|(name, value)| {
                    let own = object.attributes.get(name).unwrap_or(&Type::Dynamic);
                    let within = self.below(Step::Name(name.to_string()), |writer| {
                        writer.renamed_within(own, value, false)
                    });
                    (Arc::clone(name), within)
                });
                let members: Vec<_> = members.collect();
                let types = members.iter().map(|(name, (own, _))| (name.to_string(), own.clone()));
                let own = Type::object(types.collect::<Vec<_>>());
                (own, Value::Object(members.into_iter().map(|(name, (_, value))| (name, value)).collect()))
            }
            (Type::Tuple(types), Value::Tuple(elements)) => {
                let elements = elements.iter().enumerate().map(|(index, element)| {
                    let own = types.get(index).unwrap_or(&Type::Dynamic);
                    self.below(Step::Index(index), |writer| writer.renamed_within(own, element, false))
                });
                let (types, elements): (Vec<_>, Vec<_>) = elements.unzip();
                (Type::tuple(types), Value::Tuple(elements))
            }
            _ => (own.clone(), value.clone()),
        }
    }

    /// A secret value of a type of its own, whose attributes are called as the program calls them.
    fn renamed(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(members) => Value::object(
                members
                    .iter()
                    .map(|(name, value)| (self.placeholders.text(name, true), self.renamed(value)))
                    .collect::<Vec<_>>(),
            ),
            Value::List(elements) => {
                Value::List(elements.iter().map(|element| self.renamed(element)).collect())
            }
            Value::Tuple(elements) => {
                Value::Tuple(elements.iter().map(|element| self.renamed(element)).collect())
            }
            Value::Set(elements) => {
                Value::Set(elements.iter().map(|element| self.renamed(element)).collect())
            }
            Value::Map(members) => Value::Map(
                members.iter().map(|(name, value)| (Arc::clone(name), self.renamed(value))).collect(),
            ),
            other => other.clone(),
        }
    }

    fn renamed_type(&mut self, own: &Type, is_secret: bool) -> Type {
        match own {
            Type::Object(object) => Type::object(
                object
                    .attributes
                    .iter()
                    .map(|(name, own)| (self.name(name, is_secret), self.renamed_type(own, is_secret)))
                    .collect::<Vec<_>>(),
            ),
            Type::List(element) => Type::list(self.renamed_type(element, is_secret)),
            Type::Set(element) => Type::set(self.renamed_type(element, is_secret)),
            Type::Map(element) => Type::map(self.renamed_type(element, is_secret)),
            Type::Tuple(elements) => Type::tuple(
                elements.iter().map(|element| self.renamed_type(element, is_secret)).collect::<Vec<_>>(),
            ),
            Type::Bool | Type::Number | Type::String | Type::Dynamic => own.clone(),
        }
    }

    fn name(&mut self, name: &str, is_secret: bool) -> String {
        if is_secret { self.placeholders.text(name, true) } else { self.placeholders.known(name) }
    }

    /// A set with secret elements, into which no path leads. What is marked in it has been replaced where the engine has it.
    fn mixed_set(&mut self, value: &Value, own: &Type) -> Json {
        let nothing = Masks::new(KnownSecrets::default());
        let mut json = ValueWriter::new(self.placeholders, &nothing).value(value, own, Some(Place::Plain));
        self.replace_known(&mut json);
        if let Json::Array(elements) = &mut json {
            elements.sort_by_cached_key(Json::to_string);
        }
        json
    }

    fn replace_known(&mut self, json: &mut Json) {
        match json {
            Json::Null => {}
            Json::Bool(value) => *value = self.placeholders.boolean(*value, true),
            Json::Number(text) => *text = self.placeholders.known_number(text),
            Json::String(text) => *text = self.placeholders.known(text),
            Json::Array(elements) => elements.iter_mut().for_each(|element| self.replace_known(element)),
            Json::Object(members) => members.iter_mut().for_each(|(_, value)| self.replace_known(value)),
        }
    }

    /// A stored state, which may be by an older schema than this. What the program has marked is replaced where the engine has
    /// it: the marks of a request are those of what it goes to.
    pub(super) fn state(&mut self, json: &Json, place: Place<'_>, is_secret: bool) -> Json {
        match json {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(self.placeholders.boolean(*value, is_secret)),
            Json::Number(text) if is_secret => Json::Number(self.placeholders.number(text, true)),
            Json::Number(text) => Json::Number(self.placeholders.known_number(text)),
            Json::String(text) if is_secret => Json::String(self.placeholders.text(text, true)),
            Json::String(text) => Json::String(self.placeholders.known(text)),
            Json::Array(elements) => {
                Json::Array(elements.iter().map(|element| self.state(element, place, is_secret)).collect())
            }
            // A value of a dynamic type, with its type.
            Json::Object(members) if let Some((own, value)) = dynamic(members) => {
                let own = self.renamed_type(&own, is_secret);
                let own = Json::parse(own.to_json().as_bytes()).unwrap_or(Json::Null);
                let value = self.state(value, Place::Plain, is_secret);
                let written = |name: &str| if name == "type" { own.clone() } else { value.clone() };
                Json::Object(members.iter().map(|(name, _)| (name.clone(), written(name))).collect())
            }
            Json::Object(members) => {
                let is_named = matches!(place, Place::Object { is_map: false, .. });
                let members = members.iter().map(|(name, value)| {
                    let member = place.member(name, false);
                    let is_secret_member = is_secret || member.is_none();
                    let place = member.unwrap_or(Place::Plain);
                    let written = self.state(value, place, is_secret_member);
                    (self.name(name, is_secret && !is_named), written)
                });
                Json::Object(members.collect())
            }
        }
    }

    fn below<T>(&mut self, step: Step, write: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let written = write(self);
        self.path.pop();
        written
    }
}

/// The type and the value in a stored value of a dynamic type.
fn dynamic(members: &[(String, Json)]) -> Option<(Type, &Json)> {
    let member = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, json)| json);
    let (own, value) = member("type").zip(member("value")).filter(|_| members.len() == 2)?;
    Some((Type::from_json(own.to_string().as_bytes()).ok()?, value))
}

/// What is known of an unknown value, except a prefix, which may be that of a secret.
fn unknown(value: &Value, own: &Type) -> Json {
    let Value::Unknown(Some(refinements)) = value else { return Json::Null };
    let mut refinements = refinements.clone();
    refinements.string_prefix = None;
    if refinements.is_empty() {
        return Json::Null;
    }
    let encoded = msgpack::encode(&Value::Unknown(Some(refinements)), own);
    encoded.map_or(Json::Null, |bytes| Json::String(BASE64.encode(bytes)))
}

/// Reads a value of a type; `None` if it is none.
pub(super) fn read_value(json: &Json, own: &Type) -> Option<Value> {
    if let Some(known) = json.member(UNKNOWN) {
        return match known {
            Json::String(text) => msgpack::decode(&BASE64.decode(text).ok()?, own).ok(),
            _ => Some(Value::Unknown(None)),
        };
    }
    Some(match (json, own) {
        (Json::Null, _) => Value::Null,
        (Json::Object(_), Type::Dynamic) => {
            let own = Type::from_json(json.member(TYPE)?.to_string().as_bytes()).ok()?;
            let value = read_value(json.member(DYNAMIC)?, &own)?;
            Value::dynamic(own, value)
        }
        (Json::Bool(value), Type::Bool) => Value::Bool(*value),
        (Json::Number(text), Type::Number) => Value::Number(Number::from_decimal(text).ok()?),
        (Json::String(text), Type::String) => Value::string(text),
        (Json::Array(elements), Type::List(own)) => Value::List(read_all(elements, own)?),
        (Json::Array(elements), Type::Set(own)) => Value::set(read_all(elements, own)?),
        (Json::Array(elements), Type::Tuple(types)) if elements.len() == types.len() => {
            let elements = elements.iter().zip(types.iter());
            Value::Tuple(elements.map(|(element, own)| read_value(element, own)).collect::<Option<_>>()?)
        }
        (Json::Object(members), Type::Map(own)) => Value::Map(
            members
                .iter()
                .map(|(name, value)| Some((isthmus_cty::normalize(unescaped(name)), read_value(value, own)?)))
                .collect::<Option<_>>()?,
        ),
        (Json::Object(_), Type::Object(object)) => Value::Object(
            object
                .attributes
                .iter()
                .map(|(name, own)| {
                    let value =
                        json.member(&escaped(name)).map_or(Some(Value::Null), |value| read_value(value, own));
                    Some((Arc::clone(name), value?))
                })
                .collect::<Option<_>>()?,
        ),
        _ => return None,
    })
}

fn read_all(elements: &[Json], own: &Type) -> Option<Vec<Value>> {
    elements.iter().map(|element| read_value(element, own)).collect()
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Refinements;

    use super::*;

    fn written(value: &Value, own: &Type) -> Json {
        let mut placeholders = Placeholders::new(KnownSecrets::default(), false);
        let masks = Masks::new(KnownSecrets::default());
        ValueWriter::new(&mut placeholders, &masks).value(value, own, Some(Place::Plain))
    }

    #[test]
    fn a_value_without_secrets_is_read_as_it_was_written() {
        let own = Type::object([
            ("number", Type::Number),
            ("unknown", Type::String),
            ("refined", Type::String),
            ("set", Type::set(Type::Bool)),
            ("map", Type::map(Type::String)),
            ("dynamic", Type::Dynamic),
            ("tuple", Type::tuple([Type::String, Type::Number])),
            ("null", Type::list(Type::String)),
        ]);
        let refined = Refinements { null: Some(false), ..Refinements::default() };
        let value = Value::object([
            ("number", Value::Number(Number::from_decimal("12345678901234567890.5").expect("a number"))),
            ("unknown", Value::Unknown(None)),
            ("refined", Value::Unknown(Some(Box::new(refined.clone())))),
            ("set", Value::set([Value::Bool(true)])),
            ("map", Value::map([("$unknown", Value::string("x")), ("b", Value::string("y"))])),
            ("dynamic", Value::dynamic(Type::list(Type::Bool), Value::list([Value::Bool(false)]))),
            ("tuple", Value::tuple([Value::string("t"), Value::Number(1.into())])),
            ("null", Value::Null),
        ]);
        let json = written(&value, &own);
        let read =
            read_value(&Json::parse(json.to_string().as_bytes()).expect("JSON"), &own).expect("a value");
        assert_eq!(read, value, "{json}");
        let Some(Value::Unknown(Some(read))) = read.attribute("refined") else { panic!("{json}") };
        assert_eq!(**read, refined);
    }

    #[test]
    fn what_is_secret_has_placeholders() {
        let mut placeholders = Placeholders::new(KnownSecrets::default(), false);
        let masks = Masks::new(KnownSecrets::default());
        let value = Value::map([("key", Value::list([Value::string("hunter2"), Value::string("hunter2")]))]);
        let own = Type::map(Type::list(Type::String));
        let json = ValueWriter::new(&mut placeholders, &masks).value(&value, &own, None);
        assert_eq!(json.to_string(), r#"{"secret-00001":["secret-00002","secret-00002"]}"#);
    }
}
