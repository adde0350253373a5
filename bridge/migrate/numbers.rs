//! Numbers that a YAML program cannot express.
//!
//! A number of a program is a double. Providers' numbers with more digits are strings in inputs,
//! which SDKs and engines accept, but the YAML host checks types. A secret is configuration of the
//! stack, which has no fractions. The program gets the nearest number in their place and ignores its
//! changes, so that the stored input stays.

use isthmus_cty::Number;
use isthmus_proto::property::{Struct, Value as Property};

use crate::package::shape::{ObjectShape, Shape};
use crate::translate::property::{PropertyView, classify};
use crate::translate::property_path::{PropertyPath, PropertyStep};

/// The inputs with numbers that YAML can express, and the paths of those that differ.
pub(crate) fn expressible(inputs: &Struct, shape: &ObjectShape) -> (Struct, Vec<PropertyPath>) {
    let mut inputs = inputs.clone();
    let mut found = Vec::new();
    visit_object(&mut inputs, shape, false, &mut Vec::new(), &mut found);
    (inputs, found)
}

fn visit_object(
    bag: &mut Struct,
    shape: &ObjectShape,
    is_secret: bool,
    path: &mut Vec<PropertyStep>,
    found: &mut Vec<PropertyPath>,
) {
    for (name, value) in bag.iter_mut() {
        let Some(field) = shape.pulumi(name) else { continue };
        path.push(PropertyStep::Name(name.to_owned()));
        visit(value, &field.shape, is_secret, path, found);
        path.pop();
    }
}

fn visit(
    value: &mut Property,
    shape: &Shape,
    is_secret: bool,
    path: &mut Vec<PropertyStep>,
    found: &mut Vec<PropertyPath>,
) {
    if let Ok(PropertyView::Secret(inner)) = classify(value) {
        let mut inner = inner.clone();
        let before = found.len();
        visit(&mut inner, shape, true, path, found);
        if found.len() > before {
            *value = crate::translate::property::secret(inner);
        }
        return;
    }
    match (value, shape) {
        (value, Shape::FlattenedList(element) | Shape::FlattenedSet(element)) => {
            visit(value, element, is_secret, path, found);
        }
        (Property::Struct(bag), Shape::Object(object)) => visit_object(bag, object, is_secret, path, found),
        (Property::Struct(entries), Shape::Map(element)) => {
            for (key, value) in entries.iter_mut() {
                path.push(PropertyStep::Name(key.to_owned()));
                visit(value, element, is_secret, path, found);
                path.pop();
            }
        }
        (Property::List(elements), Shape::List(element) | Shape::Set(element)) => {
            for (index, value) in elements.iter_mut().enumerate() {
                path.push(PropertyStep::Index(index));
                visit(value, element, is_secret, path, found);
                path.pop();
            }
        }
        (value @ Property::String(_), Shape::Number) => {
            let nearest = value.as_str().and_then(|text| Number::from_decimal(text).ok());
            let nearest = nearest.map_or(0.0, |number| number.as_f64());
            *value = Property::Number(if is_secret { 0.0 } else { nearest });
            found.push(PropertyPath(path.clone()));
        }
        (Property::Number(number), Shape::Number) if is_secret && number.fract() != 0.0 => {
            *number = 0.0;
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
    use crate::package::shape::IdRule;
    use crate::translate::property::secret;
    use crate::translate::testing::{attribute, bag, block, list, nested, object, resource};

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
            ("pin", secret(Property::Number(42.0))),
            ("disks", disk(Property::from("0.1000000000000000055511"))),
        ]);
        let (program, found) = expressible(&inputs, &shape.object);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["big", "share", "disks[1].size"]);
        assert_eq!(
            program,
            bag(&[
                ("big", Property::Number(12_345_678_901_234_568.0)),
                ("digits", Property::from("12345678901234567")),
                ("share", secret(Property::Number(0.0))),
                ("pin", secret(Property::Number(42.0))),
                ("disks", disk(Property::Number(0.1))),
            ])
        );
    }
}
