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

use crate::package::shape::{ObjectShape, Shape};

/// The names from the object to the attribute, without indices and keys: `["login", "password"]`.
pub(crate) type UnreadAttribute = Vec<String>;

/// The sensitive attributes that could be configured and are null in `object`.
pub(crate) fn unread_in(object: &Value, shape: &ObjectShape) -> BTreeSet<UnreadAttribute> {
    let mut found = BTreeSet::new();
    visit(object, shape, &mut Vec::new(), &mut |path, value| {
        if value.is_null() {
            found.insert(path.to_vec());
        }
    });
    found
}

/// Fills in `prior` what is `unread`, from the configuration of the `stored` inputs or else of the
/// `new` ones; returns what is from the latter.
pub(crate) fn fill_unread(
    prior: &mut Value,
    shape: &ObjectShape,
    unread: &BTreeSet<UnreadAttribute>,
    stored: &Value,
    new: &Value,
) -> BTreeSet<UnreadAttribute> {
    let mut filling = Filling { unread, path: Vec::new(), from_new: BTreeSet::new() };
    filling.object(prior, shape, (stored, new));
    filling.from_new
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
    fn object(&mut self, prior: &mut Value, shape: &ObjectShape, (stored, new): (&Value, &Value)) {
        let Value::Object(members) = prior else { return };
        for field in &shape.fields {
            let Some(value) = members.get_mut(&field.terraform) else { continue };
            let member = |of: &'_ Value| of.attribute(&field.terraform).cloned().unwrap_or(Value::Null);
            let (stored, new) = (member(stored), member(new));
            self.path.push(field.terraform.to_string());
            if !(value.is_null() && self.unread.contains(&self.path)) {
                self.within(value, &field.shape, (&stored, &new));
            } else if !stored.is_null() {
                set(value, stored);
            } else if !new.is_null() && set(value, new) {
                self.from_new.insert(self.path.clone());
            }
            self.path.pop();
        }
    }

    fn within(&mut self, value: &mut Value, shape: &Shape, (stored, new): (&Value, &Value)) {
        match (shape, value) {
            (Shape::Object(object), value) => self.object(value, object, (stored, new)),
            (Shape::List(element) | Shape::FlattenedList(element), Value::List(elements)) => {
                for (index, value) in elements.iter_mut().enumerate() {
                    let at = |of: &'_ Value| match of {
                        Value::List(elements) => elements.get(index).cloned().unwrap_or(Value::Null),
                        _ => Value::Null,
                    };
                    self.within(value, element, (&at(stored), &at(new)));
                }
            }
            (Shape::Map(element), Value::Map(entries) | Value::Object(entries)) => {
                for (key, value) in entries {
                    let at = |of: &'_ Value| {
                        of.entries().and_then(|entries| entries.get(key)).cloned().unwrap_or(Value::Null)
                    };
                    self.within(value, element, (&at(stored), &at(new)));
                }
            }
            _ => {}
        }
    }
}

/// A value that is not known yet may be another one.
fn set(value: &mut Value, input: Value) -> bool {
    let is_known = input.is_wholly_known();
    if is_known {
        *value = input;
    }
    is_known
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use isthmus_cty::Type;
    use isthmus_provider::schema::{Attribute, BlockNesting};

    use super::*;
    use crate::package::shape::{IdRule, ResourceShape};
    use crate::translate::testing::{attribute, block, computed, nested, resource};

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
            let from_new = fill_unread(&mut filled, &shape().object, &unread, stored, new);
            (filled, from_new.len())
        };
        let new = thing(Value::string("new"), texts(["1", "2", "3", "4"]));
        let by_new = [Value::string("1"), Value::string("2"), Value::string("read"), Value::Null];
        assert_eq!(filled(&Value::Null, &new), (thing(Value::string("new"), by_new.clone()), 3));
        let stored = thing(Value::string("stored"), nothing());
        assert_eq!(filled(&stored, &new), (thing(Value::string("stored"), by_new), 2));
        let unknown = thing(Value::Unknown(None), nothing());
        assert_eq!(
            filled(&Value::Null, &unknown),
            (prior.clone(), 0),
            "what is not known yet may be another value"
        );
        assert_eq!(filled(&Value::Null, &Value::Null), (prior.clone(), 0));
    }
}
