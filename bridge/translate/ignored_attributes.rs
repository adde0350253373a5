//! Attribute paths of `ignoreChanges`.
//!
//! Ignored changes are reverted in the configuration before planning (`ignore_changes`). Providers
//! of the legacy type system may plan them nevertheless, so they are reverted in their plans too,
//! which have attributes instead of properties.

use std::sync::Arc;

use isthmus_cty::{AttributePath, PathStep, Value};

use super::property_path::{PropertyPath, PropertyStep};
use isthmus_package::shape::{ObjectShape, Shape};

/// The attribute paths of `paths` in an object whose prior state is `prior`. A star matches
/// everything; at the end of a path it means the whole, except in a list, whose length may change.
/// Elements of sets cannot be addressed, except in a set that Pulumi flattens.
pub fn ignored_attributes(paths: &[PropertyPath], root: &ObjectShape, prior: &Value) -> Vec<AttributePath> {
    let mut search = Search { here: AttributePath::root(), found: Vec::new() };
    for path in paths {
        search.object(&path.0, root, prior);
    }
    search.found
}

struct Search {
    here: AttributePath,
    found: Vec<AttributePath>,
}

impl Search {
    fn within(&mut self, step: PathStep, search: impl FnOnce(&mut Self)) {
        self.here.push(step);
        search(self);
        self.here.pop();
    }

    fn found(&mut self) {
        self.found.push(self.here.clone());
    }

    fn object(&mut self, path: &[PropertyStep], object: &ObjectShape, prior: &Value) {
        match path {
            [PropertyStep::Name(name), rest @ ..] => {
                let Some(field) = object.pulumi(name) else { return };
                self.attribute(&field.terraform, rest, &field.shape, prior);
            }
            [] | [PropertyStep::All] => self.found(),
            [PropertyStep::All, rest @ ..] => {
                for field in &object.fields {
                    self.attribute(&field.terraform, rest, &field.shape, prior);
                }
            }
            [PropertyStep::Index(_), ..] => {}
        }
    }

    fn attribute(&mut self, name: &Arc<str>, path: &[PropertyStep], shape: &Shape, prior: &Value) {
        let prior = prior.attribute(name).unwrap_or(&Value::Null);
        self.within(PathStep::Attribute(Arc::clone(name)), |search| search.shape(path, shape, prior));
    }

    fn shape(&mut self, path: &[PropertyStep], shape: &Shape, prior: &Value) {
        if path.is_empty() {
            return self.found();
        }
        match (shape, prior) {
            (Shape::Object(object), prior) => self.object(path, object, prior),
            (Shape::FlattenedList(element), Value::List(elements)) => {
                let Some(prior) = elements.first() else { return };
                self.within(PathStep::Index(0), |search| search.shape(path, element, prior));
            }
            (Shape::FlattenedSet(element), Value::Set(elements)) => {
                let Some(prior) = elements.first() else { return };
                let step = PathStep::Element(Box::new(prior.clone()));
                self.within(step, |search| search.shape(path, element, prior));
            }
            (Shape::List(element), Value::List(elements)) => {
                self.elements(path, elements, |search, rest, prior| search.shape(rest, element, prior));
            }
            (Shape::Map(element), prior) => {
                self.keys(path, prior, |search, rest, prior| search.shape(rest, element, prior));
            }
            (Shape::Tuple(shapes), Value::Tuple(elements)) => {
                for (index, (shape, prior)) in shapes.iter().zip(elements).enumerate() {
                    let is_meant = match &path[0] {
                        PropertyStep::Name(name) => *name == super::attribute_paths::tuple_property(index),
                        PropertyStep::All => true,
                        PropertyStep::Index(_) => false,
                    };
                    if is_meant {
                        self.within(PathStep::Index(index), |search| search.shape(&path[1..], shape, prior));
                    }
                }
            }
            (Shape::Dynamic, Value::Dynamic(prior)) => self.open(path, &prior.1),
            _ => {}
        }
    }

    /// Within a dynamic value, where both sides have the same names.
    fn open(&mut self, path: &[PropertyStep], prior: &Value) {
        match (path, prior) {
            ([], _) => self.found(),
            (_, Value::List(elements) | Value::Tuple(elements)) => {
                self.elements(path, elements, |search, rest, prior| search.open(rest, prior));
            }
            (_, Value::Map(_)) => self.keys(path, prior, |search, rest, prior| search.open(rest, prior)),
            ([PropertyStep::Name(name), rest @ ..], Value::Object(attributes)) => {
                if let Some((name, prior)) = attributes.get_key_value(name.as_str()) {
                    self.within(PathStep::Attribute(Arc::clone(name)), |search| search.open(rest, prior));
                }
            }
            ([PropertyStep::All], Value::Object(_)) => self.found(),
            ([PropertyStep::All, rest @ ..], Value::Object(attributes)) => {
                for (name, prior) in attributes {
                    self.within(PathStep::Attribute(Arc::clone(name)), |search| search.open(rest, prior));
                }
            }
            _ => {}
        }
    }

    fn elements(
        &mut self,
        path: &[PropertyStep],
        elements: &[Value],
        mut search: impl FnMut(&mut Self, &[PropertyStep], &Value),
    ) {
        let Some((first, rest)) = path.split_first() else { return };
        for (index, prior) in elements.iter().enumerate() {
            let is_meant = match first {
                PropertyStep::Index(meant) => *meant == index,
                PropertyStep::All => true,
                PropertyStep::Name(_) => false,
            };
            if is_meant {
                self.within(PathStep::Index(index), |inside| search(inside, rest, prior));
            }
        }
    }

    fn keys(
        &mut self,
        path: &[PropertyStep],
        prior: &Value,
        mut search: impl FnMut(&mut Self, &[PropertyStep], &Value),
    ) {
        let elements = prior.entries();
        match path {
            [PropertyStep::Name(name), rest @ ..] => {
                let was = elements.and_then(|elements| elements.get(name.as_str())).unwrap_or(&Value::Null);
                self.within(PathStep::key(name.as_str()), |inside| search(inside, rest, was));
            }
            [PropertyStep::All] => self.found(),
            [PropertyStep::All, rest @ ..] => {
                for (key, was) in elements.into_iter().flatten() {
                    self.within(PathStep::Key(Arc::clone(key)), |inside| search(inside, rest, was));
                }
            }
            [PropertyStep::Index(_), ..] | [] => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use crate::testing::{attribute, block, nested, path, resource};
    use isthmus_package::shape::{IdRule, ResourceShape};

    fn thing() -> ResourceShape {
        let inner = || {
            block(
                vec![attribute("some_name", Type::String), attribute("tags", Type::map(Type::String))],
                vec![],
            )
        };
        resource(
            block(
                vec![
                    attribute("item", Type::list(Type::String)),
                    attribute("label", Type::map(Type::String)),
                    attribute("open_value", Type::Dynamic),
                    attribute("tuple", Type::tuple([Type::String, Type::Bool])),
                ],
                vec![
                    nested("many", BlockNesting::List, 0, inner()),
                    nested("one_list", BlockNesting::List, 1, inner()),
                    nested("one_set", BlockNesting::Set, 1, inner()),
                    nested("set_of", BlockNesting::Set, 0, inner()),
                ],
            ),
            IdRule::Missing,
        )
    }

    fn prior() -> Value {
        let inner = |name: &str| {
            Value::object([("some_name", name.into()), ("tags", Value::map([("k", Value::from("v"))]))])
        };
        let open = Value::object([("x", Value::tuple([1.into(), 2.into()]))]);
        let own = Type::object([("x", Type::tuple([Type::Number, Type::Number]))]);
        Value::object([
            ("item", Value::list(["a".into(), "b".into()])),
            ("label", Value::map([("a", Value::from("1")), ("b", Value::from("2"))])),
            ("many", Value::list([inner("x"), inner("y")])),
            ("one_list", Value::list([inner("x")])),
            ("one_set", Value::set([inner("x")])),
            ("open_value", Value::dynamic(own, open)),
            ("set_of", Value::set([inner("x")])),
            ("tuple", Value::tuple(["a".into(), true.into()])),
        ])
    }

    #[test]
    fn what_is_ignored_is_found_among_the_attributes() {
        let shape = thing();
        for (ignored, expected) in [
            ("label", "label"),
            ("label.a", "label[\"a\"]"),
            ("label.new", "label[\"new\"]"),
            ("label[*]", "label"),
            ("items[1]", "item[1]"),
            ("items[*]", "item[0] item[1]"),
            ("items[7]", ""),
            ("manies[*].someName", "many[0].some_name many[1].some_name"),
            ("manies[0].tags[*]", "many[0].tags"),
            ("manies[*].tags.k", "many[0].tags[\"k\"] many[1].tags[\"k\"]"),
            ("oneList", "one_list"),
            ("oneList.someName", "one_list[0].some_name"),
            ("oneSet.someName", "one_set[…].some_name"),
            ("setOfs", "set_of"),
            ("setOfs[0].someName", ""),
            ("tuple.t1", "tuple[1]"),
            ("openValue.x[0]", "open_value.x[0]"),
            ("openValue[*][1]", "open_value.x[1]"),
            ("[*].k", "label[\"k\"]"),
            ("[*]", "the whole"),
            ("noSuchThing", ""),
        ] {
            let found = ignored_attributes(&[path(ignored)], &shape.object, &prior());
            let found: Vec<String> = found
                .iter()
                .map(|path| if path.is_root() { "the whole".to_owned() } else { path.to_string() })
                .collect();
            assert_eq!(found.join(" "), expected, "{ignored}");
        }
    }
}
