//! Messages of both sides in a recording: JSON that is read back by their descriptors and schemas, with placeholders for secrets.
//!
//! What cannot be decoded is withheld, and a call with such a message is not replayed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use isthmus_cty::json::Json;
use isthmus_cty::{Refinements, Type, Value, msgpack};
use isthmus_known_secrets::KnownSecrets;

use super::bags::{BagRule, write_bag};
use super::format::{
    DYNAMIC, IDENTITY, PRIVATE, STATE, TYPE, UNKNOWN, escaped, is_of_the_run, object, open_bytes, withheld,
};
use super::placeholders::Placeholders;
use crate::walk::Traced;

/// Writes messages.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    pub(super) placeholders: &'a mut Placeholders,
    /// What is secret in the bags of an engine.
    pub(super) bags: BagRule<'a>,
    /// Whether keys of secret elements are secret too: in a provider's configuration, whose properties are secret as a whole.
    pub(super) has_secret_keys: bool,
}

/// Where a part of a message is.
#[derive(Clone, Copy, Debug)]
struct Part {
    form: Form,
    is_secret: bool,
    /// Within a value of a dynamic type, whose attributes are called as the program calls them.
    is_dynamic: bool,
}

/// How a part is written where it is not secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Message,
    /// A value of a schema.
    Value,
    /// An element of a set with secrets. What is marked in it has been replaced where the engine has it.
    Mixed,
    /// JSON of a stored state. What the program has marked is replaced where the engine has it.
    State,
}

impl<'a> Writer<'a> {
    /// A writer of messages without bags.
    pub(super) fn new(placeholders: &'a mut Placeholders) -> Self {
        Self { placeholders, bags: BagRule::Everything, has_secret_keys: false }
    }

    pub(super) fn write(&mut self, traced: &Traced) -> Json {
        self.part(traced, Part { form: Form::Message, is_secret: false, is_dynamic: false })
    }

    fn part(&mut self, traced: &Traced, part: Part) -> Json {
        let inside = |form| Part { form, ..part };
        match traced {
            Traced::Null => Json::Null,
            Traced::Bool(value) => {
                let is_secret = part.is_secret || part.form == Form::Mixed;
                Json::Bool(self.placeholders.boolean(*value, is_secret))
            }
            Traced::Number(text) => Json::Number(match part.form {
                _ if part.is_secret => self.placeholders.number(text, true),
                Form::Message => text.clone(),
                Form::Value => self.placeholders.number(text, false),
                Form::Mixed | Form::State => self.placeholders.known_number(text),
            }),
            Traced::Text(text) => Json::String(match part.form {
                _ if part.is_secret => self.placeholders.text(text, true),
                Form::Message => self.placeholders.message(text),
                Form::Value => self.placeholders.text(text, false),
                Form::Mixed | Form::State => self.placeholders.known(text),
            }),
            Traced::Enum(Some(name), _) => Json::String(name.clone()),
            Traced::Enum(None, number) => Json::Number(number.to_string()),
            Traced::Unknown(refinements, own) => {
                object([(UNKNOWN, refinements.as_deref().map_or(Json::Null, |known| unknown(known, own)))])
            }
            Traced::List(elements) => Json::Array(self.elements(elements, part)),
            Traced::Set(elements) => self.set(elements, part),
            Traced::MixedSet(elements) if part.is_secret => self.set(elements, part),
            // It may be a list of a stored state.
            Traced::MixedSet(elements) => self.set(elements, inside(Form::Mixed)),
            Traced::Object(members) | Traced::Map(members) | Traced::Entries(members) => {
                let is_message = part.form == Form::Message && matches!(traced, Traced::Object(_));
                let members = members.iter().filter(|(name, _)| !is_message || !is_of_the_run(name));
                let members = members.map(|(name, value)| {
                    let name = match traced {
                        Traced::Object(_) => self.attribute(name, part),
                        Traced::Map(_) => self.key(name, value, part),
                        _ => self.placeholders.message(name),
                    };
                    (name, self.part(value, part))
                });
                Json::Object(members.collect())
            }
            Traced::Dynamic(own, value) => {
                let own = self.renamed(own, value, part.is_secret);
                let value = self.part(value, Part { is_dynamic: true, ..part });
                object([(TYPE, type_json(&own)), (DYNAMIC, value)])
            }
            Traced::StoredDynamic(own, members) => {
                let own = type_json(&self.renamed_all(own, part.is_secret));
                let members = members.iter().map(|(name, value)| {
                    let json = if name == "type" { own.clone() } else { self.part(value, part) };
                    (name.clone(), json)
                });
                Json::Object(members.collect())
            }
            Traced::Secret(inner) => self.part(inner, Part { is_secret: true, ..part }),
            Traced::Value(value) => self.part(value, inside(Form::Value)),
            Traced::State(state) => object([(STATE, self.part(state, inside(Form::State)))]),
            Traced::Identity(value, msgpack) => {
                let written = self.part(value, inside(Form::Value));
                let mut none = Placeholders::new(KnownSecrets::default(), false);
                // One that is marked secret, or repeats a secret, is withheld.
                let is_open = written == Writer::new(&mut none).part(value, inside(Form::Value));
                if is_open && none.are_unused() {
                    object([(IDENTITY, Json::String(BASE64.encode(msgpack)))])
                } else {
                    withheld(msgpack.len())
                }
            }
            Traced::Path(path) => self.part(path, part),
            Traced::Bag(bag) => write_bag(bag, self.bags, self.placeholders),
            Traced::Private(bytes) => object([(PRIVATE, Json::String(self.placeholders.private(bytes)))]),
            Traced::Open(bytes) => open_bytes(bytes),
            Traced::Withheld(length) => withheld(*length),
        }
    }

    fn elements(&mut self, elements: &[Traced], part: Part) -> Vec<Json> {
        elements.iter().map(|element| self.part(element, part)).collect()
    }

    /// Placeholders are in another order than what they replace.
    fn set(&mut self, elements: &[Traced], part: Part) -> Json {
        let mut elements = self.elements(elements, part);
        elements.sort_by_cached_key(Json::to_string);
        Json::Array(elements)
    }

    /// The name of an attribute or of a field.
    fn attribute(&mut self, name: &str, part: Part) -> String {
        match part.form {
            Form::Message | Form::State => name.to_owned(),
            Form::Value | Form::Mixed if part.is_secret && part.is_dynamic => {
                self.placeholders.text(name, true)
            }
            Form::Value | Form::Mixed => escaped(name),
        }
    }

    fn key(&mut self, name: &str, value: &Traced, part: Part) -> String {
        match part.form {
            Form::State if part.is_secret => self.placeholders.text(name, true),
            Form::State => self.placeholders.known(name),
            Form::Message | Form::Value | Form::Mixed => {
                let is_secret = part.is_secret || self.has_secret_keys && matches!(value, Traced::Secret(_));
                escaped(&self.placeholders.text(name, is_secret))
            }
        }
    }

    /// The type of a dynamic value, in which attributes of secrets are renamed.
    fn renamed(&mut self, own: &Type, value: &Traced, is_secret: bool) -> Type {
        match (own, value) {
            (own, Traced::Secret(_)) => self.renamed_all(own, true),
            (own, _) if is_secret => self.renamed_all(own, true),
            (Type::Object(object), Traced::Object(members)) => {
                let members = members.iter().map(|(name, value)| {
                    let own = object.attributes.get(name.as_str()).unwrap_or(&Type::Dynamic);
                    (name.clone(), self.renamed(own, value, false))
                });
                Type::object(members.collect::<Vec<_>>())
            }
            (Type::Tuple(types), Traced::List(elements)) => {
                let types = types.iter().zip(elements).map(|(own, value)| self.renamed(own, value, false));
                Type::tuple(types.collect::<Vec<_>>())
            }
            (own, _) => own.clone(),
        }
    }

    /// A type of a stored state, or of a secret.
    fn renamed_all(&mut self, own: &Type, is_secret: bool) -> Type {
        match own {
            Type::Object(object) => Type::object(
                object
                    .attributes
                    .iter()
                    .map(|(name, own)| {
                        let name = if is_secret {
                            self.placeholders.text(name, true)
                        } else {
                            self.placeholders.known(name)
                        };
                        (name, self.renamed_all(own, is_secret))
                    })
                    .collect::<Vec<_>>(),
            ),
            Type::List(element) => Type::list(self.renamed_all(element, is_secret)),
            Type::Set(element) => Type::set(self.renamed_all(element, is_secret)),
            Type::Map(element) => Type::map(self.renamed_all(element, is_secret)),
            Type::Tuple(elements) => Type::tuple(
                elements.iter().map(|element| self.renamed_all(element, is_secret)).collect::<Vec<_>>(),
            ),
            Type::Bool | Type::Number | Type::String | Type::Dynamic => own.clone(),
        }
    }
}

fn type_json(own: &Type) -> Json {
    Json::parse(own.to_json().as_bytes()).unwrap_or(Json::Null)
}

/// What is known of an unknown value, except a prefix, which may be that of a secret.
fn unknown(refinements: &Refinements, own: &Type) -> Json {
    let refinements = Refinements { string_prefix: None, ..refinements.clone() };
    if refinements.is_empty() {
        return Json::Null;
    }
    let encoded = msgpack::encode(&Value::Unknown(Some(Box::new(refinements))), own);
    encoded.map_or(Json::Null, |bytes| Json::String(BASE64.encode(bytes)))
}
