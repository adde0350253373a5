//! Property bags of an engine in a recording: JSON, with placeholders for secrets.
//!
//! Secrets are what the engine or isthmus has marked, what the shape calls sensitive, and known texts. Marks stay, so that an
//! engine's request is the same when it is replayed.

use std::collections::BTreeSet;

use isthmus_cty::json::Json;
use isthmus_proto::property::{MAX_DEPTH, Struct, Value as Property};

use super::format::{UNKNOWN, escaped, object, unescaped};
use super::placeholders::Placeholders;
use crate::transcript::{mark_configuration, mark_what_may_be_secret};
use isthmus_package::shape::{Field, ObjectShape, Shape};
use isthmus_translate::meta::{META_KEY, Meta};
use isthmus_translate::property::number_to_json;
use isthmus_translate::property::{
    PropertyView, SIGNATURE_KEY, VALUE_KEY, classify, is_unknown_sentinel, secret,
};
use isthmus_translate::raw_state::{DELTA_KEY, recover};

/// A value that is marked as secret.
const SECRET: &str = "$secret";

/// The names in the format of a delta.
const DELTA: [&str; 16] = [
    "arr", "asset", "el", "exact", "i", "ignored", "kind", "map", "num", "obj", "plu", "ps", "raw",
    "renamed", "replace", "type",
];

/// The name of what a delta has of the state itself.
const RAW: &str = "raw";

/// What is secret in a bag besides its marks.
#[derive(Clone, Copy, Debug)]
pub(super) enum BagRule<'a> {
    /// What this shape calls sensitive.
    Shape(&'a ObjectShape),
    /// The same, and what it does not have, which may be sensitive by an older schema.
    Stored(&'a ObjectShape),
    /// Nothing.
    Marks,
    /// Everything, because its shape is not known.
    Everything,
    /// In a provider's configuration, whose values are texts of JSON where they are no texts: marks, or everything where there are
    /// none.
    Configuration { shape: &'a ObjectShape, is_marked: bool },
}

/// A bag, with placeholders.
pub(super) fn write_bag(bag: &Struct, rule: BagRule<'_>, placeholders: &mut Placeholders) -> Json {
    let mut marked = bag.clone();
    let shape = match rule {
        BagRule::Shape(shape) | BagRule::Stored(shape) | BagRule::Configuration { shape, .. } => Some(shape),
        BagRule::Marks | BagRule::Everything => None,
    };
    match rule {
        BagRule::Configuration { shape, .. } => mark_configuration(&mut marked, shape),
        BagRule::Shape(shape) | BagRule::Stored(shape) => mark_what_may_be_secret(&mut marked, shape),
        BagRule::Marks | BagRule::Everything => {}
    }
    let is_secret = matches!(rule, BagRule::Everything | BagRule::Configuration { is_marked: false, .. });
    let mut members: Vec<(String, Json)> = bag
        .iter()
        .zip(marked.values())
        .map(|((name, value), marked)| {
            let json = match value {
                // Written last, when all secrets are replaced that it repeats.
                _ if name == DELTA_KEY => Json::Null,
                Property::String(text) if name == META_KEY && Meta::parse(text).is_ok() => {
                    Json::String(placeholders.meta(text))
                }
                value
                    if matches!(rule, BagRule::Configuration { .. })
                        && let Some((json, is_secret)) = secret_json(value, marked, is_secret) =>
                {
                    let field = shape.and_then(|shape| shape.pulumi(name));
                    let is_secret = is_secret || field.is_none_or(Field::is_secret);
                    let shape = field.map(|field| &field.shape);
                    let text = masked(&json, is_secret, shape, placeholders).to_string();
                    let is_marked = matches!(classify(value), Ok(PropertyView::Secret(_)));
                    if is_marked { object([(SECRET, Json::String(text))]) } else { Json::String(text) }
                }
                // Edited by hand, it may be anything.
                value if name == META_KEY => write(value, value, true, None, placeholders),
                value => {
                    let field = shape.and_then(|shape| shape.pulumi(name));
                    let is_older = matches!(rule, BagRule::Stored(_)) && field.is_none();
                    let is_secret = is_secret || is_older && name != "id" && !name.starts_with("__");
                    write(value, marked, is_secret, field.map(|field| &field.shape), placeholders)
                }
            };
            (name.to_owned(), json)
        })
        .collect();
    if let (Some(delta), Some((_, json))) =
        (bag.get(DELTA_KEY), members.iter_mut().find(|(name, _)| name == DELTA_KEY))
    {
        *json = match recover(bag, delta) {
            Ok(_) => {
                let mut names = BTreeSet::new();
                bag.iter().filter(|(name, _)| *name != DELTA_KEY).for_each(|(name, value)| {
                    names.insert(name);
                    add_names(value, &mut names);
                });
                if let Some(shape) = shape {
                    names.extend(shape.fields.iter().map(|field| field.pulumi.as_str()));
                }
                write_delta(delta, Some(&names), placeholders)
            }
            Err(_) => write(delta, delta, true, None, placeholders),
        };
    }
    members.iter_mut().for_each(|(name, _)| *name = escaped(&placeholders.text(name, false)));
    Json::Object(members)
}

/// The JSON in a text that has secrets, of a list, a map or an object of a provider's configuration; and whether it is secret as a
/// whole, or where its shape says so.
fn secret_json(value: &Property, marked: &Property, is_secret: bool) -> Option<(Json, bool)> {
    let (text, is_secret) = match (classify(value).ok()?, classify(marked).ok()?) {
        (PropertyView::Secret(Property::String(text)), _) => (text.as_str(), true),
        (PropertyView::String(text), PropertyView::Secret(_)) => (text, is_secret),
        (PropertyView::String(text), _) if is_secret => (text, true),
        _ => return None,
    };
    let is_compound = text.trim_start().starts_with(['[', '{']);
    Json::parse(text.as_bytes()).ok().filter(|_| is_compound).map(|json| (json, is_secret))
}

/// JSON with placeholders for secrets, or for all values and for the keys of maps.
fn masked(json: &Json, is_secret: bool, shape: Option<&Shape>, placeholders: &mut Placeholders) -> Json {
    let shape = flat(shape);
    match json {
        Json::Null => Json::Null,
        Json::Bool(value) => Json::Bool(placeholders.boolean(*value, is_secret)),
        Json::Number(text) => Json::Number(placeholders.number(text, is_secret)),
        Json::String(text) if is_unknown_sentinel(text) => Json::String(text.clone()),
        Json::String(text) => Json::String(placeholders.text(text, is_secret)),
        Json::Array(elements) => {
            let element = match shape {
                Some(Shape::List(element) | Shape::Set(element)) => Some(&**element),
                // A list of the one item that it may have.
                shape => shape,
            };
            let elements = elements.iter().map(|json| masked(json, is_secret, element, placeholders));
            Json::Array(elements.collect())
        }
        Json::Object(members) => {
            let is_special = members.iter().any(|(name, _)| name == SIGNATURE_KEY);
            let members = members.iter().map(|(name, json)| {
                let (is_named, is_secret, shape) = match shape {
                    // A mark, or what has one.
                    shape if is_special => (true, true, shape),
                    Some(Shape::Object(object)) => {
                        let field = object.pulumi(name).or_else(|| object.terraform(name));
                        let is_secret = is_secret || field.is_none_or(Field::is_secret);
                        (field.is_some(), is_secret, field.map(|field| &field.shape))
                    }
                    Some(Shape::Map(element)) => (!is_secret, is_secret, Some(&**element)),
                    _ => (!is_secret, is_secret, None),
                };
                let json = match json {
                    Json::String(text) if is_special && name == SIGNATURE_KEY => Json::String(text.clone()),
                    json => masked(json, is_secret, shape, placeholders),
                };
                (placeholders.text(name, !is_named), json)
            });
            Json::Object(members.collect())
        }
    }
}

/// A value. `marked` is the same with more marks. Without a shape, names within a secret are secret too.
fn write(
    value: &Property,
    marked: &Property,
    is_secret: bool,
    shape: Option<&Shape>,
    placeholders: &mut Placeholders,
) -> Json {
    let [inner, inner_marked] = [value, marked].map(|value| match classify(value) {
        Ok(PropertyView::Secret(inner)) => Some(inner),
        Ok(_) | Err(_) => None,
    });
    match (inner, inner_marked) {
        (None, Some(marked)) => return write(value, marked, true, shape, placeholders),
        (Some(inner), marked) => {
            return object([(SECRET, write(inner, marked.unwrap_or(inner), true, shape, placeholders))]);
        }
        (None, None) => {}
    }
    match value {
        Property::Null => Json::Null,
        Property::Bool(value) => Json::Bool(placeholders.boolean(*value, is_secret)),
        Property::Number(number) => Json::Number(placeholders.number(&decimal(*number), is_secret)),
        Property::String(text) if is_unknown_sentinel(text) => {
            object([(UNKNOWN, Json::String(text.clone()))])
        }
        Property::String(text) => Json::String(placeholders.text(text, is_secret)),
        Property::List(elements) => {
            let marked = if let Property::List(marked) = marked { marked } else { elements };
            let elements = elements.iter().enumerate().map(|(index, element)| {
                let shape = match shape {
                    Some(Shape::List(element) | Shape::Set(element)) => Some(&**element),
                    Some(Shape::Tuple(elements)) => elements.get(index),
                    // It may be given as a list of one.
                    Some(Shape::FlattenedList(item) | Shape::FlattenedSet(item)) => Some(&**item),
                    _ => None,
                };
                write(element, marked.get(index).unwrap_or(element), is_secret, shape, placeholders)
            });
            Json::Array(elements.collect())
        }
        Property::Struct(bag) => {
            let view = classify(value);
            let is_output = matches!(view, Ok(PropertyView::Output { .. }));
            // What is malformed may be a secret.
            let is_secret =
                is_secret || matches!(view, Err(_) | Ok(PropertyView::Output { secret: true, .. }));
            let is_special = bag.contains_key(SIGNATURE_KEY);
            let members = bag.iter().map(|(name, member)| {
                let marked = marked.as_struct().and_then(|marked| marked.get(name)).unwrap_or(member);
                let (is_named, shape) = match flat(shape) {
                    shape if is_special => (true, shape),
                    Some(Shape::Object(object)) => match object.pulumi(name) {
                        Some(field) => (true, Some(&field.shape)),
                        None => (false, None),
                    },
                    Some(Shape::Map(element)) => (false, Some(&**element)),
                    // Its members are called by their places.
                    Some(Shape::Tuple(_)) => (true, None),
                    _ => (false, None),
                };
                let json = match member {
                    Property::String(signature) if name == SIGNATURE_KEY && view.is_ok() => {
                        Json::String(signature.clone())
                    }
                    // The mark itself, and URNs.
                    member if is_output && name != VALUE_KEY => {
                        write(member, member, false, None, placeholders)
                    }
                    member => write(member, marked, is_secret, shape, placeholders),
                };
                (escaped(&placeholders.text(name, is_secret && !is_named)), json)
            });
            Json::Object(members.collect())
        }
    }
}

/// A shape without the blocks of at most one item, which are that item in Pulumi.
fn flat(shape: Option<&Shape>) -> Option<&Shape> {
    match shape {
        Some(Shape::FlattenedList(item) | Shape::FlattenedSet(item)) => flat(Some(item)),
        shape => shape,
    }
}

/// A delta repeats values of its bag, and has names of types within what is marked: what is known to be secret is replaced, and
/// what nothing in the bag is called. Below [`RAW`], names are those of the schema.
fn write_delta(value: &Property, names: Option<&BTreeSet<&str>>, placeholders: &mut Placeholders) -> Json {
    if let Ok(PropertyView::Secret(inner)) = classify(value) {
        return object([(SECRET, write_delta(inner, names, placeholders))]);
    }
    match value {
        Property::Null => Json::Null,
        Property::Bool(value) => Json::Bool(*value),
        Property::Number(number) => Json::Number(placeholders.known_number(&decimal(*number))),
        Property::String(text) => Json::String(placeholders.known(text)),
        Property::List(elements) => {
            Json::Array(elements.iter().map(|element| write_delta(element, names, placeholders)).collect())
        }
        Property::Struct(bag) => {
            let members = bag.iter().map(|(name, value)| {
                let is_index = name.bytes().all(|byte| byte.is_ascii_digit());
                let is_named =
                    names.is_none_or(|names| is_index || DELTA.contains(&name) || names.contains(name));
                let key = if is_named { placeholders.known(name) } else { placeholders.text(name, true) };
                let names = names.filter(|_| name != RAW);
                (escaped(&key), write_delta(value, names, placeholders))
            });
            Json::Object(members.collect())
        }
    }
}

/// The names in a bag, at every depth.
fn add_names<'a>(value: &'a Property, names: &mut BTreeSet<&'a str>) {
    match value {
        Property::List(elements) => elements.iter().for_each(|element| add_names(element, names)),
        Property::Struct(bag) => bag.iter().for_each(|(name, value)| {
            names.insert(name);
            add_names(value, names);
        }),
        Property::Null | Property::Bool(_) | Property::Number(_) | Property::String(_) => {}
    }
}

fn decimal(number: f64) -> String {
    number_to_json(number).to_string()
}

/// Reads a bag; `None` if it is none.
pub(super) fn read_bag(json: &Json) -> Option<Struct> {
    match read(json, 0)? {
        Property::Struct(bag) => Some(bag),
        _ => None,
    }
}

fn read(json: &Json, depth: usize) -> Option<Property> {
    if depth > MAX_DEPTH / 2 {
        return None;
    }
    Some(match json {
        Json::Null => Property::Null,
        Json::Bool(value) => Property::Bool(*value),
        Json::Number(text) => Property::Number(text.parse().ok()?),
        Json::String(text) => Property::String(text.clone()),
        Json::Array(elements) => {
            Property::List(elements.iter().map(|element| read(element, depth + 1)).collect::<Option<_>>()?)
        }
        Json::Object(members) => match members.as_slice() {
            [(name, inner)] if name == SECRET => secret(read(inner, depth + 1)?),
            [(name, Json::String(sentinel))] if name == UNKNOWN => Property::String(sentinel.clone()),
            members => Property::Struct(
                members
                    .iter()
                    .map(|(name, value)| Some((unescaped(name).to_owned(), read(value, depth + 1)?)))
                    .collect::<Option<_>>()?,
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use isthmus_known_secrets::{KnownSecrets, Retention};

    use super::*;
    use isthmus_translate::property::{output, unknown};

    #[test]
    fn what_is_not_secret_is_read_as_it_was_written() {
        let bag = Struct::from([
            ("a", Property::List(vec![Property::from(1.5), Property::Null, unknown()])),
            ("$secret", Property::from("x")),
            ("o", output(Some(Property::from("open")), false, vec![])),
        ]);
        let mut placeholders = Placeholders::new(KnownSecrets::default(), false);
        let json = write_bag(&bag, BagRule::Marks, &mut placeholders);
        let json = Json::parse(json.to_string().as_bytes()).expect("JSON");
        assert_eq!(read_bag(&json).expect("a bag"), bag, "{json}");
    }

    #[test]
    fn marks_stay_and_what_they_mark_is_replaced() {
        let known = KnownSecrets::default();
        known.learn("hunter2-hunter2", Retention::Usual);
        let hidden = || Property::from("hunter2-hunter2");
        let delta_of = |raw: Property| {
            let replace = Struct::from([("replace", Struct::from([("raw", raw)]).into())]);
            let properties = Struct::from([("a", secret(replace.into()))]);
            Property::from(Struct::from([("obj", Struct::from([("ps", properties.into())]).into())]))
        };
        let bag = Struct::from([
            (DELTA_KEY, delta_of(hidden())),
            (META_KEY, Property::from(r#"{"private_state":"aHVudGVyMg==","schema_version":"1"}"#)),
            ("a", secret(hidden())),
            ("b", Property::from("say hunter2-hunter2")),
            ("c", output(Some(hidden()), true, vec![])),
        ]);
        let mut placeholders = Placeholders::new(known, false);
        let json = write_bag(&bag, BagRule::Marks, &mut placeholders);
        let read = read_bag(&json).expect("a bag");
        assert_eq!(read.get("a"), Some(&secret(Property::from("secret-00001"))));
        assert_eq!(read.get("b"), Some(&Property::from("say secret-00001")));
        assert_eq!(read.get("c"), Some(&output(Some(Property::from("secret-00001")), true, vec![])));
        assert_eq!(read.get(DELTA_KEY), Some(&delta_of(Property::from("secret-00001"))));
        assert_eq!(
            read.get(META_KEY),
            Some(&Property::from(r#"{"private_state":"cHJpdmF0ZS0wMDAwMQ==","schema_version":"1"}"#))
        );
        let everything = write_bag(&bag, BagRule::Everything, &mut placeholders).to_string();
        assert!(!everything.contains("say"), "{everything}");
    }
}
