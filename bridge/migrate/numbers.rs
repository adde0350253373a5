//! Numbers that a YAML program cannot express.
//!
//! A number of a program is a double. Providers' numbers with more digits are strings in inputs,
//! which SDKs and engines accept, but the YAML host checks types. The program gets the nearest number
//! in their place and ignores its changes, so that the stored input stays. A secret needs none of
//! this, because it is configuration of the stack, whose type the host takes as it comes.

use isthmus_cty::Number;
use isthmus_proto::property::{Struct, Value as Property};

use isthmus_package::shape::{ObjectShape, Shape};
use isthmus_translate::property::{PropertyView, classify};
use isthmus_translate::property_path::{PropertyPath, PropertyStep};

/// The inputs with numbers that YAML can express, and the paths of those that differ.
pub fn expressible(inputs: &Struct, shape: &ObjectShape) -> (Struct, Vec<PropertyPath>) {
    let mut inputs = inputs.clone();
    let mut found = Vec::new();
    visit_object(&mut inputs, shape, &mut Vec::new(), &mut found);
    (inputs, found)
}

/// The path by which a program ignores a property: up to the first key that the notation of paths, or
/// a text of YAML, cannot be relied upon to carry.
pub fn ignorable(path: &PropertyPath) -> PropertyPath {
    let is_carried = |step: &&PropertyStep| match step {
        PropertyStep::Name(name) => {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./: ".contains(&byte))
        }
        PropertyStep::Index(_) | PropertyStep::All => true,
    };
    PropertyPath(path.0.iter().take_while(is_carried).cloned().collect())
}

fn visit_object(
    bag: &mut Struct,
    shape: &ObjectShape,
    path: &mut Vec<PropertyStep>,
    found: &mut Vec<PropertyPath>,
) {
    for (name, value) in bag.iter_mut() {
        let Some(field) = shape.pulumi(name) else { continue };
        path.push(PropertyStep::Name(name.to_owned()));
        visit(value, &field.shape, path, found);
        path.pop();
    }
}

fn visit(value: &mut Property, shape: &Shape, path: &mut Vec<PropertyStep>, found: &mut Vec<PropertyPath>) {
    if matches!(classify(value), Ok(PropertyView::Secret(_))) {
        return;
    }
    match (value, shape) {
        (value, Shape::FlattenedList(element) | Shape::FlattenedSet(element)) => {
            visit(value, element, path, found);
        }
        (Property::Struct(bag), Shape::Object(object)) => visit_object(bag, object, path, found),
        (Property::Struct(entries), Shape::Map(element)) => {
            for (key, value) in entries.iter_mut() {
                path.push(PropertyStep::Name(key.to_owned()));
                visit(value, element, path, found);
                path.pop();
            }
        }
        (Property::List(elements), Shape::List(element) | Shape::Set(element)) => {
            for (index, value) in elements.iter_mut().enumerate() {
                path.push(PropertyStep::Index(index));
                visit(value, element, path, found);
                path.pop();
            }
        }
        (value @ Property::String(_), Shape::Number) => {
            let nearest = value.as_str().and_then(|text| Number::from_decimal(text).ok());
            let nearest = nearest.map_or(0.0, |number| number.as_f64());
            *value = Property::Number(nearest);
            found.push(PropertyPath(path.clone()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use isthmus_package::shape::IdRule;
    use isthmus_translate::property::secret;
    use isthmus_translate::testing::{attribute, bag, block, list, nested, object, resource};

    #[test]
    fn an_odd_key_is_ignored_with_the_whole_map() {
        for (key, expected) in [("a.b", r#"map["a.b"].n"#), ("${a}", "map"), ("a\\", "map"), ("", "map")] {
            let steps = ["map", key, "n"].map(|name| PropertyStep::Name(name.to_owned()));
            assert_eq!(ignorable(&PropertyPath(steps.to_vec())).to_string(), expected);
        }
    }

    #[test]
    fn only_numbers_that_yaml_lacks_are_replaced() {
        let inner = block(vec![attribute("size", Type::Number)], vec![]);
        let shape = resource(
            block(
                vec![
                    attribute("big", Type::Number),
                    attribute("digits", Type::String),
                    attribute("share", Type::Number),
                    attribute("pin", Type::Number),
                ],
                vec![nested("disk", BlockNesting::List, 0, inner)],
            ),
            IdRule::Missing,
        );
        let disk =
            |size: Property| list(&[object(&[("size", Property::Number(1.0))]), object(&[("size", size)])]);
        let inputs = bag(&[
            ("big", Property::from("12345678901234567")),
            ("digits", Property::from("12345678901234567")),
            ("share", secret(Property::Number(0.5))),
            ("pin", secret(Property::from("12345678901234567"))),
            ("disks", disk(Property::from("0.1000000000000000055511"))),
        ]);
        let (program, found) = expressible(&inputs, &shape.object);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["big", "disks[1].size"]);
        assert_eq!(
            program,
            bag(&[
                ("big", Property::Number(12_345_678_901_234_568.0)),
                ("digits", Property::from("12345678901234567")),
                ("share", secret(Property::Number(0.5))),
                ("pin", secret(Property::from("12345678901234567"))),
                ("disks", disk(Property::Number(0.1))),
            ])
        );
    }
}
