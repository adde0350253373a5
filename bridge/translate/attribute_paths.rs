//! Translation between Terraform's paths and Pulumi's.
//!
//! They differ in names, in the index of a block that Pulumi flattens, and in sets: Pulumi cannot
//! address an element of a set, so paths into sets end at the set.

use isthmus_cty::{AttributePath, PathStep};

use super::property_path::{PropertyPath, PropertyStep};
use isthmus_package::shape::{Field, ObjectShape, Shape};

/// The property path of the attribute path `path`.
///
/// Providers also send paths that are not in their schema; such a path is truncated where it leaves
/// the schema, which is still helpful in a message.
pub fn property_path(path: &AttributePath, root: &ObjectShape) -> PropertyPath {
    let mut steps = Vec::new();
    let mut place = Place::Object(root);
    for step in &path.0 {
        place = match (place, step) {
            (Place::Object(object), PathStep::Attribute(name) | PathStep::Key(name)) => {
                let Some(field) = object.terraform(name) else { break };
                steps.push(PropertyStep::Name(field.pulumi.clone()));
                Place::of(&field.shape)
            }
            (Place::Shape(Shape::List(element)), PathStep::Index(index)) => {
                steps.push(PropertyStep::Index(*index));
                Place::of(element)
            }
            (Place::Shape(Shape::Map(element)), PathStep::Key(name) | PathStep::Attribute(name)) => {
                steps.push(PropertyStep::Name(name.to_string()));
                Place::of(element)
            }
            (
                Place::Shape(Shape::FlattenedList(element) | Shape::FlattenedSet(element)),
                PathStep::Index(_) | PathStep::Element(_),
            ) => Place::of(element),
            (Place::Shape(Shape::Tuple(elements)), PathStep::Index(index)) => {
                let Some(element) = elements.get(*index) else { break };
                steps.push(PropertyStep::Name(tuple_property(*index)));
                Place::of(element)
            }
            (Place::Open, PathStep::Attribute(name) | PathStep::Key(name)) => {
                steps.push(PropertyStep::Name(name.to_string()));
                Place::Open
            }
            (Place::Open, PathStep::Index(index)) => {
                steps.push(PropertyStep::Index(*index));
                Place::Open
            }
            _ => break,
        };
    }
    PropertyPath(steps)
}

/// The field at Terraform's `path`; `None` if it is no field, such as an element of a list.
pub fn field_at<'a>(path: &AttributePath, root: &'a ObjectShape) -> Option<&'a Field> {
    let (last, above) = path.0.split_last()?;
    let PathStep::Attribute(name) = last else { return None };
    let mut place = Place::Object(root);
    for step in above {
        place = match (place, step) {
            (Place::Object(object), PathStep::Attribute(name)) => Place::of(&object.terraform(name)?.shape),
            (
                Place::Shape(
                    Shape::List(element)
                    | Shape::Set(element)
                    | Shape::Map(element)
                    | Shape::FlattenedList(element)
                    | Shape::FlattenedSet(element),
                ),
                PathStep::Index(_) | PathStep::Key(_) | PathStep::Element(_),
            ) => Place::of(element),
            _ => return None,
        };
    }
    match place {
        Place::Object(object) => object.terraform(name),
        Place::Shape(_) | Place::Open => None,
    }
}

/// The property of a tuple's element: Pulumi has objects in place of tuples.
pub(super) fn tuple_property(index: usize) -> String {
    format!("t{index}")
}

/// The schema at a path.
#[derive(Clone, Copy)]
enum Place<'a> {
    Object(&'a ObjectShape),
    /// Neither an object nor dynamic.
    Shape(&'a Shape),
    /// Within a dynamic value, where both sides have the same names.
    Open,
}

impl<'a> Place<'a> {
    fn of(shape: &'a Shape) -> Self {
        match shape {
            Shape::Object(object) => Self::Object(object),
            Shape::Dynamic => Self::Open,
            other => Self::Shape(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use isthmus_cty::{Type, Value};
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use crate::testing::{attribute, block, nested, resource};
    use isthmus_package::shape::{IdRule, ResourceShape};

    fn thing() -> ResourceShape {
        let inner = block(vec![attribute("some_name", Type::String)], vec![]);
        resource(
            block(
                vec![
                    attribute("item", Type::List(Arc::new(Type::String))),
                    attribute("label", Type::Map(Arc::new(Type::String))),
                    attribute("open_value", Type::Dynamic),
                    attribute("tuple", Type::Tuple([Type::String].into())),
                ],
                vec![
                    nested("one_list", BlockNesting::List, 1, inner.clone()),
                    nested("one_set", BlockNesting::Set, 1, inner.clone()),
                    nested("set_of", BlockNesting::Set, 0, inner.clone()),
                    nested("many", BlockNesting::List, 0, inner),
                ],
            ),
            IdRule::Missing,
        )
    }

    fn at(name: &str) -> PathStep {
        PathStep::Attribute(name.into())
    }

    fn key(name: &str) -> PathStep {
        PathStep::Key(name.into())
    }

    #[test]
    fn a_path_is_that_of_the_property() {
        for (steps, pulumi) in [
            (vec![], ""),
            (vec![at("item"), PathStep::Index(2)], "items[2]"),
            (vec![at("label"), key("a.b")], "label[\"a.b\"]"),
            (vec![at("open_value"), at("snake_key"), PathStep::Index(0)], "openValue.snake_key[0]"),
            (vec![at("tuple"), PathStep::Index(0)], "tuple.t0"),
            (vec![at("one_list"), PathStep::Index(0), at("some_name")], "oneList.someName"),
            (vec![at("many"), PathStep::Index(3), at("some_name")], "manies[3].someName"),
        ] {
            let terraform = AttributePath(steps);
            assert_eq!(property_path(&terraform, &thing().object).to_string(), pulumi);
        }
    }

    #[test]
    fn paths_end_where_the_other_side_has_no_words() {
        let element = || PathStep::Element(Box::new(Value::Null));
        for (steps, pulumi) in [
            (vec![at("set_of"), element(), at("some_name")], "setOfs"),
            (vec![at("one_set"), element(), at("some_name")], "oneSet.someName"),
            (vec![at("item"), at("nonsense")], "items"),
            (vec![at("gone"), at("x")], ""),
            (vec![at("tuple"), PathStep::Index(9)], "tuple"),
        ] {
            assert_eq!(property_path(&AttributePath(steps), &thing().object).to_string(), pulumi);
        }
    }
}
