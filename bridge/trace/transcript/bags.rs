//! Property bags of an engine, and what is secret in them besides its marks.
//!
//! What passes a check has the names and kinds of its shape, which says what is secret. Before that, a secret may be under
//! Terraform's name of its property, under a misspelt one, or in a value of another kind, where no shape says so: such values count
//! as secret if the resource has secrets at all.

use isthmus_proto::property::{Struct, Value};

use super::{Masks, Shown};
use isthmus_package::shape::{ObjectShape, Shape};
use isthmus_translate::inputs::is_defaults_mark;
use isthmus_translate::meta::META_KEY;
use isthmus_translate::property::{PropertyView, classify, number_to_json, secret};
use isthmus_translate::raw_state::DELTA_KEY;

/// Marks what is secret by the shape, or may be.
pub fn mark_what_may_be_secret(bag: &mut Struct, shape: &ObjectShape) {
    let has_secrets = has_secrets_in(shape);
    mark_object(bag, shape, has_secrets);
}

/// The same in a provider's configuration, in which lists, maps and objects may be texts of JSON.
pub(crate) fn mark_configuration(bag: &mut Struct, shape: &ObjectShape) {
    let mut open = Vec::new();
    for (name, value) in bag.iter() {
        let field = shape.pulumi(name).filter(|field| !field.is_secret() && !has_secrets_below(&field.shape));
        if let (Some(field), Value::String(text)) = (field, value)
            && is_json_of(text, &field.shape)
        {
            open.push((name.to_owned(), value.clone()));
        }
    }
    mark_what_may_be_secret(bag, shape);
    for (name, value) in open {
        bag.insert(name, value);
    }
}

fn is_json_of(text: &str, shape: &Shape) -> bool {
    match (shape, serde_json::from_str(text)) {
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), Ok(_)) => is_json_of(text, element),
        (Shape::List(_) | Shape::Set(_), Ok(json)) => matches!(json, serde_json::Value::Array(_)),
        (Shape::Map(_) | Shape::Object(_), Ok(json)) => matches!(json, serde_json::Value::Object(_)),
        _ => false,
    }
}

fn mark_object(bag: &mut Struct, shape: &ObjectShape, has_secrets: bool) {
    for (name, value) in bag.iter_mut() {
        match shape.pulumi(name).or_else(|| shape.terraform(name)) {
            Some(field) if field.is_secret() => mark(value),
            Some(field) => mark_value(value, &field.shape, has_secrets),
            // Of both bridges, and the id, which is no property of every resource.
            None if ["id", META_KEY, DELTA_KEY].contains(&name) || is_defaults_mark(name, value) => {}
            None if has_secrets => mark(value),
            None => {}
        }
    }
}

fn mark_value(value: &mut Value, shape: &Shape, has_secrets: bool) {
    if !has_content(value) {
        return;
    }
    let is_plain = matches!(classify(value), Ok(PropertyView::Object(_)));
    match (shape, value) {
        (Shape::Object(object), Value::Struct(bag)) if is_plain => mark_object(bag, object, has_secrets),
        (Shape::Map(element), Value::Struct(bag)) if is_plain => {
            bag.iter_mut().for_each(|(_, value)| mark_value(value, element, has_secrets));
        }
        // The one item may be given in a list.
        (
            Shape::List(element)
            | Shape::Set(element)
            | Shape::FlattenedList(element)
            | Shape::FlattenedSet(element),
            Value::List(values),
        ) => {
            values.iter_mut().for_each(|value| mark_value(value, element, has_secrets));
        }
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), value) => {
            mark_value(value, element, has_secrets);
        }
        (Shape::Bool, Value::Bool(_))
        | (Shape::Number, Value::Number(_))
        | (Shape::String, Value::String(_) | Value::Bool(_) | Value::Number(_))
        | (Shape::Tuple(_), Value::List(_))
        | (Shape::Dynamic, _) => {}
        // As text, which is converted.
        (Shape::Bool, Value::String(text)) if text.parse::<bool>().is_ok() => {}
        (Shape::Number, Value::String(text)) if text.parse::<f64>().is_ok() => {}
        (_, value) if has_secrets => mark(value),
        _ => {}
    }
}

fn mark(value: &mut Value) {
    if has_content(value) {
        *value = secret(std::mem::take(value));
    }
}

/// Whether it would be shown: it is neither marked already, nor unknown or absent.
fn has_content(value: &Value) -> bool {
    !matches!(
        classify(value),
        Ok(PropertyView::Null
            | PropertyView::Unknown
            | PropertyView::Secret(_)
            | PropertyView::Output { value: None, .. })
    )
}

fn has_secrets_in(shape: &ObjectShape) -> bool {
    shape.fields.iter().any(|field| field.is_secret() || has_secrets_below(&field.shape))
}

fn has_secrets_below(shape: &Shape) -> bool {
    match shape {
        Shape::Object(object) => has_secrets_in(object),
        Shape::List(element)
        | Shape::Set(element)
        | Shape::Map(element)
        | Shape::FlattenedList(element)
        | Shape::FlattenedSet(element) => has_secrets_below(element),
        Shape::Bool | Shape::Number | Shape::String | Shape::Dynamic | Shape::Tuple(_) => false,
    }
}

/// A bag of properties. What only serves to rebuild the state is left out.
pub fn shown_bag(bag: &Struct, shape: &ObjectShape, masks: &Masks) -> Shown {
    let mut marked = bag.clone();
    marked.remove(META_KEY);
    marked.remove(DELTA_KEY);
    mark_what_may_be_secret(&mut marked, shape);
    object(&marked, masks)
}

fn object(bag: &Struct, masks: &Masks) -> Shown {
    Shown::Object(bag.iter().map(|(name, value)| (masks.redacted(name), property(value, masks))).collect())
}

fn property(value: &Value, masks: &Masks) -> Shown {
    // What is malformed may be a secret.
    let Ok(view) = classify(value) else { return Shown::Secret };
    match view {
        PropertyView::Null => Shown::Null,
        PropertyView::Bool(value) => Shown::Bool(value),
        PropertyView::Number(number) => masks.number(&number_to_json(number).to_string()),
        PropertyView::String(text) => masks.text(text),
        PropertyView::List(elements) => {
            Shown::List(elements.iter().map(|element| property(element, masks)).collect())
        }
        PropertyView::Object(bag) => object(bag, masks),
        PropertyView::Unknown | PropertyView::Output { value: None, .. } => Shown::Unknown(String::new()),
        PropertyView::Secret(_) | PropertyView::Output { secret: true, .. } => Shown::Secret,
        PropertyView::Output { value: Some(inner), .. } => property(inner, masks),
        PropertyView::Asset { .. } => Shown::text("(asset)"),
        PropertyView::Archive { .. } => Shown::text("(archive)"),
        PropertyView::ResourceReference { urn, .. } => masks.text(urn),
        PropertyView::ByteString(base64) => Shown::Withheld(base64.len() / 4 * 3),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use isthmus_cty::Type;
    use isthmus_known_secrets::KnownSecrets;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use crate::transcript::Side;
    use isthmus_package::shape::{IdRule, ResourceShape};
    use isthmus_translate::property::{output, unknown};
    use isthmus_translate::testing::{attribute, bag, block, list, nested, object, resource, sensitive};

    fn marked(fields: &[(&str, Value)]) -> Struct {
        let mut bag = bag(fields);
        mark_what_may_be_secret(&mut bag, &shape().object);
        bag
    }

    fn shape() -> ResourceShape {
        let rule = nested(
            "rule",
            BlockNesting::List,
            0,
            block(vec![attribute("name", Type::String), sensitive(attribute("key", Type::String))], vec![]),
        );
        let attributes = vec![
            attribute("open_text", Type::String),
            attribute("size", Type::Number),
            attribute("labels", Type::Map(Arc::new(Type::String))),
            sensitive(attribute("token", Type::String)),
        ];
        resource(block(attributes, vec![rule]), IdRule::Missing)
    }

    fn text(text: &str) -> Value {
        Value::from(text)
    }

    #[test]
    fn values_of_their_shapes_are_marked_where_the_schema_says_so() {
        let given = [
            ("openText", text("o")),
            ("size", Value::Number(1.0)),
            ("labels", object(&[("a", text("b"))])),
            ("token", text("hunter2")),
            ("rules", list(&[object(&[("name", text("n")), ("key", text("hunter2"))])])),
        ];
        let mut expected = bag(&given);
        expected.insert("token", secret(text("hunter2")));
        expected.insert("rules", list(&[object(&[("name", text("n")), ("key", secret(text("hunter2")))])]));
        assert_eq!(marked(&given), expected);
    }

    #[test]
    fn values_of_other_kinds_and_names_are_marked_whole() {
        for (name, value) in [
            ("size", text("hunter2")),
            ("labels", text(r#"{"a": "hunter2"}"#)),
            ("openText", object(&[("token", text("hunter2"))])),
            ("labels", object(&[(isthmus_translate::property::SIGNATURE_KEY, text("hunter2"))])),
            ("labels", output(Some(object(&[("a", text("hunter2"))])), false, vec![])),
            ("rules", output(Some(list(&[object(&[("key", text("hunter2"))])])), false, vec![])),
            ("rules", object(&[("key", text("hunter2"))])),
            ("tokn", text("hunter2")),
            ("__token", text("hunter2")),
            ("__defaults", text("hunter2")),
        ] {
            assert_eq!(marked(&[(name, value.clone())]), bag(&[(name, secret(value))]), "{name}");
        }
    }

    #[test]
    fn what_is_converted_to_its_shape_is_of_it() {
        for (name, value) in [
            ("size", text("24")),
            ("openText", Value::Number(24.0)),
            ("labels", object(&[("a", Value::Bool(true))])),
        ] {
            assert_eq!(marked(&[(name, value.clone())]), bag(&[(name, value)]), "{name}");
        }
    }

    #[test]
    fn json_without_secrets_in_a_configuration_is_of_its_shape() {
        let given = [
            ("labels", text(r#"{"a":"b"}"#)),
            ("openText", text("o")),
            ("rules", text(r#"[{"name":"n"}]"#)),
            ("size", text("hunter2")),
        ];
        let mut expected = bag(&given);
        for name in ["rules", "size"] {
            expected.insert(name, secret(expected.get(name).expect("it is there").clone()));
        }
        let mut bag = bag(&given);
        mark_configuration(&mut bag, &shape().object);
        assert_eq!(bag, expected);
    }

    #[test]
    fn what_has_no_content_and_what_a_bridge_writes_stays_as_it_is() {
        for (name, value) in [
            ("token", Value::Null),
            ("token", unknown()),
            ("token", secret(text("hunter2"))),
            ("size", output(None, false, vec![])),
            ("tokn", unknown()),
            ("id", text("i")),
            ("__meta", text("{}")),
            ("__defaults", list(&[])),
        ] {
            assert_eq!(marked(&[(name, value.clone())]), bag(&[(name, value)]), "{name}");
        }
    }

    #[test]
    fn marks_are_obeyed_at_every_depth_and_the_state_is_left_out() {
        let hidden = || Value::from("hunter2");
        let bag = Struct::from([
            ("a", secret(hidden())),
            ("b", Value::List(vec![output(Some(hidden()), true, vec![]), unknown()])),
            ("c", Value::Struct(Struct::from([("d", output(Some(Value::from(1.0)), false, vec![]))]))),
            (META_KEY, hidden()),
            (DELTA_KEY, hidden()),
        ]);
        let mut lines = Vec::new();
        shown_bag(&bag, &ObjectShape::default(), &Masks::new(KnownSecrets::default())).add_lines(
            Side::Pulumi,
            0,
            &mut lines,
        );
        assert_eq!(lines, ["a: [secret]", "b:", "  - [secret]", "  - [unknown]", "c:", "  d: 1"]);
    }
}
