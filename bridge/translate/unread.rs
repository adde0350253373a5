//! Sensitive attributes that no read has returned since an import.
//!
//! Few APIs return passwords: in an imported state such an attribute is null, and the plan for a
//! program that sets it shows a change, with many types a replacement, though the object has had
//! that password all along. So an import records what it could not read. As long as that is null,
//! the value in the inputs stands in for it in the prior state: in the stored inputs, or the first
//! time in the new ones. A program that changes it later causes a change.
//!
//! Elements of sets are left out, because nothing tells which one an input is about.

use std::collections::BTreeSet;

use isthmus_cty::Value;
use isthmus_proto::property::{Struct, Value as Property};

use super::property::{PropertyView, unwrap};
use super::property_path::inside_mut;
use isthmus_package::shape::{ObjectShape, Shape};

/// The names from the object to the attribute, without indices and keys: `["login", "password"]`.
pub type UnreadAttribute = Vec<String>;

/// The sensitive attributes that could be configured and are null in `object`.
pub fn unread_in(object: &Value, shape: &ObjectShape) -> BTreeSet<UnreadAttribute> {
    let mut found = BTreeSet::new();
    visit(object, shape, &mut Vec::new(), &mut |path, value| {
        if value.is_null() {
            found.insert(path.to_vec());
        }
    });
    found
}

/// Fills in `prior` what is `unread`, from the configuration of the `stored` inputs or else of the
/// `new` ones; returns what is from the latter. What is not known yet in these is taken out of them,
/// because it will be what is there.
pub fn fill_unread(
    prior: &mut Value,
    shape: &ObjectShape,
    unread: &BTreeSet<UnreadAttribute>,
    stored: &Value,
    new: &mut Value,
) -> BTreeSet<UnreadAttribute> {
    let mut filling = Filling { unread, path: Vec::new(), from_new: BTreeSet::new() };
    filling.object(prior, shape, stored, new);
    filling.from_new
}

/// Adds to `outputs` what is `unread` and the stored `inputs` have.
pub fn add_unread_inputs(
    outputs: &mut Struct,
    shape: &ObjectShape,
    unread: &BTreeSet<UnreadAttribute>,
    inputs: &Struct,
) {
    if !unread.is_empty() {
        add_to_bag(outputs, shape, unread, &mut Vec::new(), inputs);
    }
}

type Visit<'a> = &'a mut dyn FnMut(&[String], &Value);

fn visit(object: &Value, shape: &ObjectShape, path: &mut UnreadAttribute, found: Visit<'_>) {
    for field in &shape.fields {
        let Some(value) = object.attribute(&field.terraform) else { continue };
        path.push(field.terraform.to_string());
        if field.sensitive && !field.write_only && (field.optional || field.required) {
            found(path, value);
        }
        visit_within(value, &field.shape, path, found);
        path.pop();
    }
}

fn visit_within(value: &Value, shape: &Shape, path: &mut UnreadAttribute, found: Visit<'_>) {
    match (shape, value) {
        (Shape::Object(object), Value::Object(_)) => visit(value, object, path, found),
        (Shape::List(element) | Shape::FlattenedList(element), Value::List(elements)) => {
            elements.iter().for_each(|value| visit_within(value, element, path, found));
        }
        (Shape::Map(element), Value::Map(entries) | Value::Object(entries)) => {
            entries.values().for_each(|value| visit_within(value, element, path, found));
        }
        _ => {}
    }
}

struct Filling<'a> {
    unread: &'a BTreeSet<UnreadAttribute>,
    path: UnreadAttribute,
    from_new: BTreeSet<UnreadAttribute>,
}

impl Filling<'_> {
    fn object(&mut self, prior: &mut Value, shape: &ObjectShape, stored: &Value, new: &mut Value) {
        let Value::Object(members) = prior else { return };
        let mut absent = Value::Null;
        for field in &shape.fields {
            let Some(value) = members.get_mut(&field.terraform) else { continue };
            let stored = stored.attribute(&field.terraform).unwrap_or(&Value::Null);
            let new = match new {
                Value::Object(members) => members.get_mut(&field.terraform),
                _ => None,
            };
            let new = new.unwrap_or(&mut absent);
            self.path.push(field.terraform.to_string());
            if value.is_null() && self.unread.contains(&self.path) {
                self.attribute(value, stored, new);
            } else {
                self.within(value, &field.shape, stored, new);
            }
            self.path.pop();
        }
    }

    fn attribute(&mut self, value: &mut Value, stored: &Value, new: &mut Value) {
        if stored.is_wholly_known() && !stored.is_null() {
            *value = stored.clone();
        } else if !new.is_null() {
            if new.is_wholly_known() {
                *value = new.clone();
            } else {
                *new = Value::Null;
            }
            self.from_new.insert(self.path.clone());
        }
    }

    fn within(&mut self, value: &mut Value, shape: &Shape, stored: &Value, new: &mut Value) {
        let mut absent = Value::Null;
        match (shape, value) {
            (Shape::Object(object), value) => self.object(value, object, stored, new),
            (Shape::List(element) | Shape::FlattenedList(element), Value::List(elements)) => {
                for (index, value) in elements.iter_mut().enumerate() {
                    let stored = match stored {
                        Value::List(elements) => elements.get(index).unwrap_or(&Value::Null),
                        _ => &Value::Null,
                    };
                    let new = match &mut *new {
                        Value::List(elements) => elements.get_mut(index).unwrap_or(&mut absent),
                        _ => &mut absent,
                    };
                    self.within(value, element, stored, new);
                }
            }
            (Shape::Map(element), Value::Map(entries) | Value::Object(entries)) => {
                for (key, value) in entries {
                    let stored =
                        stored.entries().and_then(|entries| entries.get(key)).unwrap_or(&Value::Null);
                    let new = match &mut *new {
                        Value::Map(entries) | Value::Object(entries) => {
                            entries.get_mut(key).unwrap_or(&mut absent)
                        }
                        _ => &mut absent,
                    };
                    self.within(value, element, stored, new);
                }
            }
            _ => {}
        }
    }
}

fn add_to_bag(
    outputs: &mut Struct,
    shape: &ObjectShape,
    unread: &BTreeSet<UnreadAttribute>,
    path: &mut UnreadAttribute,
    inputs: &Struct,
) {
    for field in &shape.fields {
        let Some(input) = inputs.get(&field.pulumi) else { continue };
        path.push(field.terraform.to_string());
        let output = outputs.get_mut(&field.pulumi).filter(|output| !output.is_null());
        match output {
            Some(output) => add_to_property(output, &field.shape, unread, path, input),
            None if unread.contains(path) => {
                outputs.insert(field.pulumi.clone(), input.clone());
            }
            None => {}
        }
        path.pop();
    }
}

fn add_to_property(
    output: &mut Property,
    shape: &Shape,
    unread: &BTreeSet<UnreadAttribute>,
    path: &mut UnreadAttribute,
    input: &Property,
) {
    let Ok((input_view, _)) = unwrap(input) else { return };
    match (shape, inside_mut(output), input_view) {
        (Shape::FlattenedList(element), output, _) => add_to_property(output, element, unread, path, input),
        (Shape::Object(object), Property::Struct(output), PropertyView::Object(input)) => {
            add_to_bag(output, object, unread, path, input);
        }
        (Shape::List(element), Property::List(outputs), PropertyView::List(inputs)) => {
            for (output, input) in outputs.iter_mut().zip(inputs) {
                add_to_property(output, element, unread, path, input);
            }
        }
        (Shape::Map(element), Property::Struct(outputs), PropertyView::Object(inputs)) => {
            for (key, output) in outputs.iter_mut() {
                if let Some(input) = inputs.get(key) {
                    add_to_property(output, element, unread, path, input);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use isthmus_cty::Type;
    use isthmus_provider::schema::{Attribute, BlockNesting};

    use super::*;
    use crate::property::secret;
    use crate::testing::{attribute, bag, block, computed, list, nested, object as object_of, resource};
    use isthmus_package::shape::{IdRule, ResourceShape};

    fn shape() -> ResourceShape {
        let sensitive = |name: &str| Attribute { sensitive: true, ..attribute(name, Type::String) };
        let login = || block(vec![attribute("user", Type::String), sensitive("password")], vec![]);
        resource(
            block(
                vec![sensitive("token"), computed(sensitive("key")), attribute("name", Type::String)],
                vec![
                    nested("login", BlockNesting::List, 1, login()),
                    nested("member", BlockNesting::List, 0, login()),
                    nested("guest", BlockNesting::Set, 0, login()),
                ],
            ),
            IdRule::Missing,
        )
    }

    fn object<const COUNT: usize>(members: [(&str, Value); COUNT]) -> Value {
        Value::Object(members.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
    }

    fn login(user: &str, password: Value) -> Value {
        object([("user", Value::string(user)), ("password", password)])
    }

    fn thing(token: Value, [own, first, second, guest]: [Value; 4]) -> Value {
        object([
            ("token", token),
            ("key", Value::Null),
            ("name", Value::Null),
            ("login", Value::List(vec![login("a", own)])),
            ("member", Value::List(vec![login("b", first), login("c", second)])),
            ("guest", Value::set([login("d", guest)])),
        ])
    }

    fn nothing() -> [Value; 4] {
        [Value::Null, Value::Null, Value::Null, Value::Null]
    }

    fn texts(texts: [&str; 4]) -> [Value; 4] {
        texts.map(Value::string)
    }

    #[test]
    fn what_an_import_could_not_read_is_known_by_its_names() {
        let unread = unread_in(&thing(Value::Null, nothing()), &shape().object);
        let names: Vec<String> = unread.iter().map(|path| path.join(".")).collect();
        assert_eq!(names, ["login.password", "member.password", "token"]);
        let read = unread_in(&thing(Value::string("t"), texts(["a", "b", "c", "d"])), &shape().object);
        assert_eq!(read, BTreeSet::new());
    }

    #[test]
    fn inputs_stand_in_for_it_stored_ones_first() {
        let prior = thing(Value::Null, [Value::Null, Value::Null, Value::string("read"), Value::Null]);
        let unread = unread_in(&prior, &shape().object);
        let filled = |stored: &Value, new: &Value| {
            let mut filled = prior.clone();
            let mut config = new.clone();
            let from_new = fill_unread(&mut filled, &shape().object, &unread, stored, &mut config);
            if filled == prior {
                assert!(config.is_wholly_known(), "what is not known yet is taken out");
            }
            (filled, from_new.len())
        };
        let new = thing(Value::string("new"), texts(["1", "2", "3", "4"]));
        let by_new = [Value::string("1"), Value::string("2"), Value::string("read"), Value::Null];
        assert_eq!(filled(&Value::Null, &new), (thing(Value::string("new"), by_new.clone()), 3));
        let stored = thing(Value::string("stored"), nothing());
        assert_eq!(filled(&stored, &new), (thing(Value::string("stored"), by_new), 2));
        let unknown = thing(Value::Unknown(None), nothing());
        assert_eq!(filled(&Value::Null, &unknown), (prior.clone(), 1));
        assert_eq!(filled(&Value::Null, &Value::Null), (prior.clone(), 0));
    }

    #[test]
    fn stored_inputs_are_added_to_outputs_where_those_have_nothing() {
        let prior = thing(Value::Null, nothing());
        let unread = unread_in(&prior, &shape().object);
        let login = |password: Option<&str>| {
            let user = [("user", Property::from("a"))];
            let password = password.map(|password| ("password", secret(password.into())));
            user.into_iter().chain(password).collect::<Vec<_>>()
        };
        let program = |token: Option<&str>, password: Option<&str>| {
            let token = token.map(|token| ("token", secret(token.into())));
            let members = [
                ("login", object_of(&login(password))),
                ("members", secret(list(&[object_of(&login(password))]))),
                ("name", "n".into()),
            ];
            bag(&members.into_iter().chain(token).collect::<Vec<_>>())
        };
        let mut outputs = program(None, None);
        add_unread_inputs(&mut outputs, &shape().object, &unread, &program(Some("t"), Some("p")));
        assert_eq!(outputs, program(Some("t"), Some("p")));
        let mut read = program(Some("read"), None);
        add_unread_inputs(&mut read, &shape().object, &unread, &program(Some("t"), None));
        assert_eq!(read, program(Some("read"), None));
    }
}
