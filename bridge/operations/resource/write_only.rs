//! Write-only values that the engine does not store.
//!
//! A provider never returns them, but engines store every input, and a decrypted state shows its
//! secrets. With [`settings::WRITE_ONLY`](isthmus_context::settings::WRITE_ONLY), Check replaces each by a
//! mark: a random salt, and the value's salted hash, which changes only with the value. The value
//! itself stays in memory until the next Check of the resource: an engine calls Check, Diff, and
//! Create or Update of a resource in one process. A process that is lost in between, such as a replica of a shared daemon, takes
//! the values with it: Create and Update fail then.
//!
//! A mark without a value in memory comes from a state, where `ignoreChanges` excludes the
//! program's value. It counts as null, as in Terraform a write-only value that is not configured,
//! even if the setting is off by now.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use isthmus_common::Secret;
use isthmus_proto::property::{Struct, Value};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use isthmus_package::shape::{ObjectShape, Shape};
use isthmus_translate::property::{self, PropertyView};
use isthmus_translate::property_path::inside_mut;

/// Prefix of a mark. Salt and hash follow, in hexadecimal digits, separated by a colon.
const MARK: &str = "isthmus:write-only:";
const SALT: usize = 16;
const HASH: usize = 32;

/// Without random numbers for a salt, no value can be withheld.
#[derive(Debug, thiserror::Error)]
#[error(
    "failed to generate the salt of write-only values: the operating system's random number generator failed"
)]
pub struct NoSalt(#[source] getrandom::Error);

/// The values in memory for the resources of one provider.
#[derive(Debug, Default)]
pub struct WriteOnlyValues {
    /// By URN, then by mark.
    held: Mutex<HashMap<String, HashMap<String, Secret<Value>>>>,
}

impl WriteOnlyValues {
    /// Replaces the write-only values of `inputs` by marks, and stores the values for the resource
    /// `urn` in place of earlier ones. `olds` are the stored inputs: their marks are reused for
    /// equal values, so that the state changes only with these.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn hold(
        &self,
        urn: &str,
        inputs: &mut Struct,
        olds: &Struct,
        shape: &ObjectShape,
    ) -> Result<(), NoSalt> {
        let mut hiding = Hiding { held: HashMap::new() };
        hiding.object(inputs, Some(olds), shape)?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Also without any: the resource was checked here.
        held.insert(urn.to_owned(), hiding.held);
        Ok(())
    }

    /// Whether `inputs` have a mark, and the resource was not checked here: another process has, which had the values.
    pub fn are_lost(&self, urn: &str, inputs: &Struct, shape: &ObjectShape) -> bool {
        let was_checked = self.held.lock().unwrap_or_else(PoisonError::into_inner).contains_key(urn);
        !was_checked && without_marks(inputs.clone(), shape) != *inputs
    }

    /// Restores values in place of their marks in `inputs`; other marks are removed.
    pub fn reveal(&self, urn: &str, mut inputs: Struct, shape: &ObjectShape) -> Struct {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let none = HashMap::new();
        reveal_object(&mut inputs, shape, held.get(urn).unwrap_or(&none));
        inputs
    }
}

/// Removes all marks from `inputs`.
pub(super) fn without_marks(mut inputs: Struct, shape: &ObjectShape) -> Struct {
    reveal_object(&mut inputs, shape, &HashMap::new());
    inputs
}

struct Hiding {
    held: HashMap<String, Secret<Value>>,
}

impl Hiding {
    fn object(&mut self, bag: &mut Struct, olds: Option<&Struct>, shape: &ObjectShape) -> Result<(), NoSalt> {
        for (name, value) in bag.iter_mut() {
            let Some(field) = shape.pulumi(name) else { continue };
            let old = olds.and_then(|olds| olds.get(name));
            if field.write_only {
                self.hide(value, old)?;
            } else {
                self.within(value, old, &field.shape)?;
            }
        }
        Ok(())
    }

    fn within(&mut self, value: &mut Value, old: Option<&Value>, shape: &Shape) -> Result<(), NoSalt> {
        if let Shape::FlattenedList(element) | Shape::FlattenedSet(element) = shape {
            return self.within(value, old, element);
        }
        let (olds, list) = match old.map(property::unwrap) {
            Some(Ok((PropertyView::Object(olds), _))) => (Some(olds), None),
            Some(Ok((PropertyView::List(list), _))) => (None, Some(list)),
            _ => (None, None),
        };
        match (shape, inside_mut(value)) {
            (Shape::Object(object), Value::Struct(bag)) => self.object(bag, olds, object)?,
            (Shape::Map(element), Value::Struct(bag)) => {
                for (key, value) in bag.iter_mut() {
                    self.within(value, olds.and_then(|olds| olds.get(key)), element)?;
                }
            }
            (Shape::List(element) | Shape::Set(element), Value::List(values)) => {
                for (index, value) in values.iter_mut().enumerate() {
                    self.within(value, list.and_then(|list| list.get(index)), element)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn hide(&mut self, value: &mut Value, old: Option<&Value>) -> Result<(), NoSalt> {
        let Ok((view, _)) = property::unwrap(value) else { return Ok(()) };
        if matches!(view, PropertyView::Null | PropertyView::Unknown) || is_mark(&view) {
            return Ok(());
        }
        let place = inside_mut(value);
        let mark = match old.and_then(mark_in).filter(|mark| *mark == mark_of(place, salt_of(mark))) {
            Some(same) => same,
            None => {
                let mut salt = [0; SALT];
                getrandom::fill(&mut salt).map_err(NoSalt)?;
                mark_of(place, &hex(&salt))
            }
        };
        let value = std::mem::replace(place, Value::String(mark.clone()));
        self.held.insert(mark, Secret::new(value));
        Ok(())
    }
}

fn reveal_object(bag: &mut Struct, shape: &ObjectShape, held: &HashMap<String, Secret<Value>>) {
    let mut gone = Vec::new();
    for (name, value) in bag.iter_mut() {
        let Some(field) = shape.pulumi(name) else { continue };
        match mark_in(value).filter(|_| field.write_only) {
            Some(mark) => match held.get(&mark) {
                Some(own) => *inside_mut(value) = own.expose().clone(),
                None => gone.push(name.to_owned()),
            },
            None => reveal_within(value, &field.shape, held),
        }
    }
    for name in gone {
        bag.remove(&name);
    }
}

fn reveal_within(value: &mut Value, shape: &Shape, held: &HashMap<String, Secret<Value>>) {
    match (shape, inside_mut(value)) {
        (Shape::Object(object), Value::Struct(bag)) => reveal_object(bag, object, held),
        (Shape::Map(element), Value::Struct(bag)) => {
            for (_, value) in bag.iter_mut() {
                reveal_within(value, element, held);
            }
        }
        (Shape::List(element) | Shape::Set(element), Value::List(values)) => {
            for value in values {
                reveal_within(value, element, held);
            }
        }
        (Shape::FlattenedList(element) | Shape::FlattenedSet(element), value) => {
            reveal_within(value, element, held);
        }
        _ => {}
    }
}

fn mark_in(value: &Value) -> Option<String> {
    match property::unwrap(value) {
        Ok((PropertyView::String(text), _)) if is_mark(&PropertyView::String(text)) => Some(text.to_owned()),
        _ => None,
    }
}

fn is_mark(view: &PropertyView<'_>) -> bool {
    let PropertyView::String(text) = view else { return false };
    let is_hex = |text: &str, bytes: usize| {
        text.len() == 2 * bytes && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    text.strip_prefix(MARK)
        .and_then(|rest| rest.split_once(':'))
        .is_some_and(|(salt, hash)| is_hex(salt, SALT) && is_hex(hash, HASH))
}

fn salt_of(mark: &str) -> &str {
    mark.strip_prefix(MARK).and_then(|rest| rest.split_once(':')).map_or("", |(salt, _)| salt)
}

fn mark_of(value: &Value, salt: &str) -> String {
    let bytes = Struct::from([("", value.clone())]).encode_to_vec();
    let hash = Sha256::new().chain_update(salt).chain_update(bytes).finalize();
    format!("{MARK}{salt}:{}", hex(&hash))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::{Attribute, BlockNesting};

    use super::*;
    use isthmus_package::shape::{IdRule, ResourceShape};
    use isthmus_translate::property::{secret, unknown};
    use isthmus_translate::testing::{attribute, bag, block, list, nested, object, resource};

    fn thing() -> ResourceShape {
        let write_only = |name: &str| Attribute { write_only: true, ..attribute(name, Type::String) };
        let login = || block(vec![attribute("user", Type::String), write_only("password")], vec![]);
        let blocks = vec![
            nested("login", BlockNesting::List, 0, login()),
            nested("only", BlockNesting::List, 1, login()),
        ];
        resource(block(vec![attribute("name", Type::String), write_only("key")], blocks), IdRule::Missing)
    }

    fn program(key: &str) -> Struct {
        let login = |password: &str| object(&[("user", "u".into()), ("password", secret(password.into()))]);
        bag(&[
            ("name", "n".into()),
            ("key", secret(key.into())),
            ("logins", list(&[login("one"), login("two")])),
            ("only", login("three")),
        ])
    }

    fn held(values: &WriteOnlyValues, urn: &str, mut inputs: Struct, olds: &Struct) -> Struct {
        values.hold(urn, &mut inputs, olds, &thing().object).unwrap();
        inputs
    }

    #[test]
    fn what_is_held_is_in_no_input_and_comes_back_for_its_own_resource() {
        let values = WriteOnlyValues::default();
        let stored = held(&values, "a", program("zero"), &Struct::default());
        let text = format!("{stored:?}");
        assert!(!["zero", "one", "two", "three"].iter().any(|value| text.contains(value)), "{text}");
        assert!(text.contains("\"n\"") && text.contains("\"u\""), "{text}");
        assert_eq!(values.reveal("a", stored.clone(), &thing().object), program("zero"));

        let user = || object(&[("user", "u".into())]);
        let without = bag(&[("name", "n".into()), ("logins", list(&[user(), user()])), ("only", user())]);
        assert_eq!(values.reveal("b", stored.clone(), &thing().object), without, "of another resource");
        assert_eq!(without_marks(stored, &thing().object), without);
    }

    #[test]
    fn a_mark_changes_with_its_value_and_with_nothing_else() {
        let values = WriteOnlyValues::default();
        let first = held(&values, "a", program("zero"), &Struct::default());
        assert_eq!(held(&values, "a", program("zero"), &first), first);
        let second = held(&values, "a", program("other"), &first);
        assert_ne!(second.get("key"), first.get("key"));
        assert_eq!(second.get("logins"), first.get("logins"));
        assert_eq!(second.get("only"), first.get("only"));
        let salted = held(&values, "a", program("zero"), &Struct::default());
        assert_ne!(salted.get("key"), first.get("key"), "nobody can compare two resources");
        // Values of the previous Check are dropped.
        assert_eq!(values.reveal("a", second, &thing().object).get("key"), None);
    }

    #[test]
    fn what_is_not_known_or_not_there_is_no_value() {
        let values = WriteOnlyValues::default();
        let inputs = bag(&[("key", secret(unknown())), ("logins", list(&[])), ("only", Value::Null)]);
        assert_eq!(held(&values, "a", inputs.clone(), &Struct::default()), inputs);
        assert!(values.held.lock().unwrap().values().all(HashMap::is_empty));
    }

    #[test]
    fn values_are_lost_where_a_mark_comes_from_a_check_by_another_process() {
        let values = WriteOnlyValues::default();
        let inputs = held(&values, "a", program("zero"), &Struct::default());
        let shape = thing();
        assert!(!values.are_lost("a", &inputs, &shape.object));
        let successor = WriteOnlyValues::default();
        assert!(successor.are_lost("a", &inputs, &shape.object));
        assert!(!successor.are_lost("a", &program("zero"), &shape.object), "there is no mark in it");
        held(&successor, "a", Struct::default(), &inputs);
        assert!(
            !successor.are_lost("a", &inputs, &shape.object),
            "a mark of the state, after a Check without a value"
        );
    }
}
