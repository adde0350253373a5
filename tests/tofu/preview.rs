//! What either side shows of a resource before it makes it: as JSON with Terraform's names, so that the two can be compared.
//!
//! OpenTofu's is that of `tofu show -json`: `after`, with null in the places of what is unknown, and `after_unknown`, with
//! `true` there. That of isthmus is read by the shape alone, and not by the daemon's own code, which is what is tried.

use isthmus_package::shape::{Field, IdRule, ObjectShape, ResourceShape, Shape};
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_translate::property::{bag_without_secrets, is_unknown_sentinel};
use serde_json::{Map, Value as Json, json};

/// A plan of OpenTofu for one resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preview {
    pub(crate) after: Json,
    pub(crate) after_unknown: Json,
}

/// The outputs of a preview of isthmus.
pub(crate) fn shown_by_isthmus(outputs: &Struct, shape: &ResourceShape) -> Json {
    let outputs = bag_without_secrets(outputs).expect("the outputs are well formed");
    let mut shown = our_members(&outputs, &shape.object);
    if let (IdRule::Computed, Json::Object(members)) = (&shape.id, &mut shown) {
        members.remove("id");
    }
    shown
}

fn our_members(members: &Struct, shape: &ObjectShape) -> Json {
    let shown = shape.fields.iter().filter_map(|field| {
        let shown = ours(members.get(&field.pulumi).unwrap_or(&Property::Null), &field.shape);
        Some((field.terraform.to_string(), shown)).filter(|(_, shown)| !is_nothing(shown, field))
    });
    Json::Object(shown.collect())
}

fn ours(value: &Property, shape: &Shape) -> Json {
    match (value, shape) {
        (Property::String(text), _) if is_unknown_sentinel(text) => unknown(),
        (Property::Null, _) => Json::Null,
        (item, Shape::FlattenedList(element) | Shape::FlattenedSet(element)) => json!([ours(item, element)]),
        (Property::List(items), Shape::List(element)) => {
            items.iter().map(|item| ours(item, element)).collect()
        }
        (Property::List(items), Shape::Set(element)) => {
            unordered(items.iter().map(|item| ours(item, element)).collect())
        }
        (Property::List(items), Shape::Tuple(elements)) => {
            items.iter().zip(elements).map(|(item, element)| ours(item, element)).collect()
        }
        (Property::List(items), _) => items.iter().map(|item| ours(item, &Shape::Dynamic)).collect(),
        (Property::Struct(members), Shape::Object(object)) => our_members(members, object),
        (Property::Struct(entries), shape) => {
            let element = if let Shape::Map(element) = shape { element } else { &Shape::Dynamic };
            let entries = entries.iter().map(|(key, entry)| (key.to_owned(), ours(entry, element)));
            Json::Object(entries.collect())
        }
        (Property::Bool(truth), _) => json!(truth),
        (Property::Number(number), _) => json!(number),
        // Numbers that a double cannot hold.
        (Property::String(text), Shape::Number) => json!(text.parse::<f64>().expect("a number")),
        (Property::String(text), _) => json!(text),
    }
}

/// What OpenTofu has planned.
pub(crate) fn shown_by_opentofu(preview: &Preview, shape: &ResourceShape) -> Json {
    let mut shown = their_members(&preview.after, &preview.after_unknown, &shape.object);
    if let (IdRule::Computed, Json::Object(members)) = (&shape.id, &mut shown) {
        members.remove("id");
    }
    shown
}

fn their_members(after: &Json, after_unknown: &Json, shape: &ObjectShape) -> Json {
    let shown = shape.fields.iter().filter_map(|field| {
        let name = &*field.terraform;
        let shown = theirs(&after[name], &after_unknown[name], &field.shape);
        Some((name.to_owned(), shown)).filter(|(_, shown)| !is_nothing(shown, field))
    });
    Json::Object(shown.collect())
}

fn theirs(after: &Json, after_unknown: &Json, shape: &Shape) -> Json {
    if after_unknown == &json!(true) {
        return unknown();
    }
    let elements = |shapes: &mut dyn Iterator<Item = &Shape>| -> Vec<Json> {
        let items = after.as_array().into_iter().flatten().enumerate();
        items.zip(shapes).map(|((at, item), shape)| theirs(item, &after_unknown[at], shape)).collect()
    };
    match (after, shape) {
        (Json::Array(_), Shape::Set(element) | Shape::FlattenedSet(element)) => {
            unordered(elements(&mut std::iter::repeat(&**element)))
        }
        (Json::Array(_), Shape::List(element) | Shape::FlattenedList(element)) => {
            elements(&mut std::iter::repeat(&**element)).into()
        }
        (Json::Array(_), Shape::Tuple(shapes)) => elements(&mut shapes.iter()).into(),
        (Json::Array(_), _) => elements(&mut std::iter::repeat(&Shape::Dynamic)).into(),
        (Json::Object(_), Shape::Object(object)) => their_members(after, after_unknown, object),
        (Json::Object(entries), shape) => {
            let element = if let Shape::Map(element) = shape { element } else { &Shape::Dynamic };
            // An unknown entry is only in one of them.
            let unknown: Map<String, Json> = after_unknown.as_object().cloned().unwrap_or_default();
            let keys = entries.keys().chain(unknown.keys().filter(|key| !entries.contains_key(*key)));
            let shown = keys.map(|key| (key.clone(), theirs(&after[key], &after_unknown[key], element)));
            Json::Object(shown.collect())
        }
        (Json::Number(number), _) => json!(number.as_f64()),
        (plain, _) => plain.clone(),
    }
}

fn unknown() -> Json {
    json!("(unknown)")
}

/// To Pulumi, a property that is null is none, and so are no blocks.
fn is_nothing(value: &Json, field: &Field) -> bool {
    value.is_null() || (field.is_block && value.as_array().is_some_and(Vec::is_empty))
}

fn unordered(mut elements: Vec<Json>) -> Json {
    elements.sort_by_cached_key(Json::to_string);
    Json::Array(elements)
}
